"""The options that commands have in common."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

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


def refuse(options: Mapping[str, object], reason: str) -> None:
    """Raise for the first option that has a value."""
    for name, value in options.items():
        if value:
            raise typer.BadParameter(reason, param_hint=name)
