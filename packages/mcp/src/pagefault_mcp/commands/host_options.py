"""The options of the commands in `host_commands`, as annotated types of their parameters.

Options of other commands too, such as `--project`, are in `app.cli.options`.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.cli.options import create_render_option


def _header_option(recipient: str) -> Any:  # noqa: ANN401 - `typer.Option` returns Any
    """Return `--header` for requests to a recipient, which its help names."""
    return typer.Option(
        metavar="NAME: VALUE",
        help=f"A header of every request to {recipient}, may be repeated; not stored or logged.",
    )


def _url_option(purpose: str, default: str) -> Any:  # noqa: ANN401 - `typer.Option` returns Any
    """Return `--url`; its help says what the service is for, and what is used without a URL."""
    return typer.Option(
        "--url",
        metavar="URL",
        help=f"A running Pagefault {purpose}; its key is in PAGEFAULT_API_KEY.",
        show_default=default,
    )


def _check_prefix(value: str) -> str:
    """Return the value of `--prefix`; raise `typer.BadParameter` if it is invalid.

    Names of tools may have 64 characters. The memory's tools have names of up to 12, which leaves
    52 for the prefix.
    """
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
ProxySession = Annotated[
    str | None,
    typer.Option(help="The session that keeps calls and results; not needed with --undo."),
]
UpstreamUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The URL of the MCP server, instead of a COMMAND."),
]
UpstreamHeader = Annotated[list[str] | None, _header_option("the server at --upstream")]
MemoryServiceHeader = Annotated[list[str] | None, _header_option("the service at --url")]
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
MemoryServiceUrl = Annotated[str | None, _url_option("with the memory", "the memory in --data-dir")]
ProxyServiceUrl = Annotated[
    str | None, _url_option("that stores results", "one that your proxies share")
]
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
MemoryTools = Annotated[
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


def _limit_option(name: str, default: str, *, minimum: int | None = None) -> Any:  # noqa: ANN401 - `typer.Option` returns Any
    """Return the option for a limit of each result; see `create_render_option`."""
    return create_render_option(name, default, scope="Per result: ", minimum=minimum)


MaxBytes = Annotated[int | None, _limit_option("max_bytes", "256 MiB")]
MaxImages = Annotated[int | None, _limit_option("max_images", "all")]
# A result over the limit is replaced by a placeholder, which has fewer than 100 tokens.
MaxTokens = Annotated[int | None, _limit_option("max_tokens", "no limit", minimum=100)]
MaxText = Annotated[int | None, _limit_option("max_text", "8000")]
MaxImagePixels = Annotated[int | None, _limit_option("max_image_pixels", "any")]


def parse_address(text: str) -> tuple[str, int]:
    """Return the host and port of `HOST:PORT`; a port alone means 127.0.0.1.

    Raises:
        typer.BadParameter: The text is invalid.
    """
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise typer.BadParameter(
            "has to be HOST:PORT, such as 127.0.0.1:8010", param_hint="--listen"
        )
    return host.strip("[]") or "127.0.0.1", int(port)
