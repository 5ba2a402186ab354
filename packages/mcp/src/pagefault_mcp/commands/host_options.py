"""Options of the commands that hosts of MCP start."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.cli.options import render_option


def _header(whose: str) -> Any:  # noqa: ANN401 - as typer declares its own
    return typer.Option(
        metavar="NAME: VALUE",
        help=f"A header of every request to {whose}, may be repeated; not stored or logged.",
    )


def _service(use: str, otherwise: str) -> Any:  # noqa: ANN401 - the same
    return typer.Option(
        "--url",
        metavar="URL",
        help=f"A running Pagefault {use}; its key is in PAGEFAULT_API_KEY.",
        show_default=otherwise,
    )


def _check_prefix(value: str) -> str:
    """Raise unless tools with the prefix have valid names: of 64 characters, ours take up to 12."""
    if not re.fullmatch("[A-Za-z0-9_-]{0,52}", value):
        raise typer.BadParameter("is not up to 52 letters of ASCII, digits, `_` and `-`")
    return value


DataDir = Annotated[
    Path | None,
    typer.Option(
        help="The folder of the database, blobs and keys.",
        show_default="PAGEFAULT_DATA_DIR or ~/.pagefault/data",
    ),
]
KeepingSession = Annotated[
    str | None,
    typer.Option(help="The session that keeps calls and results; not needed with --undo."),
]
Upstream = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The URL of the MCP server, instead of a COMMAND."),
]

Header = Annotated[list[str] | None, _header("the server at --upstream")]
ServiceHeader = Annotated[list[str] | None, _header("the service at --url")]
Transport = Annotated[
    Literal["auto", "http", "sse"],
    typer.Option(
        help="The transport to a server at a URL: Streamable HTTP, or HTTP+SSE of 2024.",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Serve hosts over Streamable HTTP, at /mcp there; hosts of 2026-07-28 share a server.",
        show_default="one host, over pipes",
    ),
]
ServiceUrl = Annotated[str | None, _service("with the memory", "the memory in --data-dir")]
KeepingUrl = Annotated[str | None, _service("that stores results", "one that your proxies share")]
HostConfig = Annotated[
    Path | None,
    typer.Option(
        dir_okay=False,
        help="Put the servers in this configuration of a host behind the proxy, and exit.",
        show_default="runs a proxy",
    ),
]
Undo = Annotated[bool, typer.Option("--undo", help="With --config: restore the file as it was.")]
HostDryRun = Annotated[
    bool, typer.Option("--dry-run", help="With --config: only print the changes.")
]
OwnTools = Annotated[
    bool,
    typer.Option(
        "--tools/--no-tools",
        help="Add the memory's own tools to those of the server.",
    ),
]
Prefix = Annotated[
    str,
    typer.Option(
        callback=_check_prefix,
        help="The prefix of the names of the memory's tools.",
        show_default="nothing",
    ),
]
Files = Annotated[
    Path | None,
    typer.Option(
        file_okay=False,
        help="A folder for copies of stored files, for tools that take a path; they are removed.",
        show_default="tools get no files by their paths",
    ),
]

Collect = Annotated[
    Path | None,
    typer.Option(
        file_okay=False,
        metavar="DIR",
        help="A folder where tools leave files; new, changed and named ones are stored.",
        show_default="only files inside results are stored",
    ),
]


def _limit(name: str, default: str, *, least: int | None = None) -> Any:  # noqa: ANN401 - the same
    return render_option(name, default, scope="Per result: ", minimum=least)


MaxBytes = Annotated[int | None, _limit("max_bytes", "256 MiB")]
MaxImages = Annotated[int | None, _limit("max_images", "all")]
# The placeholder of an omitted result has fewer tokens.
MaxTokens = Annotated[int | None, _limit("max_tokens", "no limit", least=100)]
MaxText = Annotated[int | None, _limit("max_text", "8000")]
MaxImagePixels = Annotated[int | None, _limit("max_image_pixels", "any")]


def parse_address(text: str) -> tuple[str, int]:
    """Return the host and port of `HOST:PORT`, or of a port alone."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise typer.BadParameter(
            "has to be HOST:PORT, such as 127.0.0.1:8010", param_hint="--listen"
        )
    return host.strip("[]") or "127.0.0.1", int(port)
