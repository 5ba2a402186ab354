"""The options that commands have in common."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

DataDir = Annotated[
    Path | None,
    typer.Option(
        help="Where database, blobs and keys are.", show_default="PAGEFAULT_DATA_DIR or ./data"
    ),
]
EnvFile = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="A file of settings; variables of the environment come before it.",
        show_default=".env in --data-dir",
    ),
]
Project = Annotated[
    str | None,
    typer.Option(help="The project that it belongs to.", show_default="PAGEFAULT_DEFAULT_PROJECT"),
]
Session = Annotated[
    str | None, typer.Option(help="Only this session.", show_default="all of the project")
]
Limit = Annotated[int, typer.Option(min=1, max=200, help="The most lines.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Page = Annotated[str, typer.Argument(metavar="ID", help="The page's id.")]
Level = Annotated[
    str | None,
    typer.Option(help="0 (FULL), 1 (REDUCED), 2 (ABSTRACT), 3 (REFERENCE), by number or by name."),
]
Output = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Where the file goes.", show_default="~/.pagefault/downloads"),
]


def refuse(given: Mapping[str, object], why: str) -> None:
    """Refuse the first of some options that was given."""
    for name, value in given.items():
        if value:
            raise typer.BadParameter(why, param_hint=name)
