"""Command-line options that several commands share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from pagefault_dialects.json.numbers import LARGEST_COUNT
from pagefault_dialects.model.render_options import describe_option

DataDir = Annotated[
    Path | None,
    typer.Option(
        help="The folder of the database, blobs and keys.",
        show_default="PAGEFAULT_DATA_DIR or ./data",
    ),
]
EnvFile = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="A file of settings; environment variables take precedence.",
        show_default=".env in --data-dir",
    ),
]
Project = Annotated[
    str | None,
    typer.Option(help="The name of the project.", show_default="PAGEFAULT_DEFAULT_PROJECT"),
]
Session = Annotated[
    str | None, typer.Option(help="Only this session.", show_default="all sessions of the project")
]
Limit = Annotated[int, typer.Option(min=1, max=200, help="Maximum number of lines.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Page = Annotated[str, typer.Argument(metavar="ID", help="The page's id.")]
Level = Annotated[
    str | None,
    typer.Option(help="0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE), by number or by name."),
]
Output = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="The folder of the file.", show_default="~/.pagefault/downloads"
    ),
]


def reject_options(options: Mapping[str, object], reason: str) -> None:
    """Check that no option has a value.

    Raises:
        typer.BadParameter: An option has a value; the error names the first such option.
    """
    for name, value in options.items():
        if value:
            raise typer.BadParameter(reason, param_hint=name)


def create_render_option(
    name: str, default: str, *, scope: str = "", minimum: int | None = None
) -> Any:  # noqa: ANN401 - as typer declares its own
    """Create a command's option for a limit of `RenderOptions`.

    The help has the range, and the first sentence of the limit's description. A `click.IntRange` is
    not used, because it would leave too little width for the names of options in the help.

    Args:
        name: The name of the render option.
        default: The text in the help about the default.
        scope: A text in the help before the description.
        minimum: The minimum, if it is not that of the render option.
    """
    (low, high), text = describe_option(name)
    low = minimum or low
    bounds = f"{low:,} to {high:,}" if high < LARGEST_COUNT else f"{low:,} or more"

    def check(value: int | None) -> int | None:
        if value is not None and not low <= value <= high:
            raise typer.BadParameter(f"{value} is out of range: {bounds}")
        return value

    sentence = text.partition(". ")[0].rstrip(".")
    if bounds != "0 or more":
        sentence += f" ({bounds})"
    return typer.Option(
        callback=check,
        metavar="N",
        help=f"{scope}{sentence[0].lower() if scope else sentence[0]}{sentence[1:]}.",
        show_default=default,
    )
