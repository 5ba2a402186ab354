"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

DataDirOption = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Where database, blobs and keys are.",
        show_default="PAGEFAULT_DATA_DIR or ./data",
    ),
]
EnvFileOption = Annotated[
    Path | None,
    typer.Option(
        "--env-file",
        metavar="PATH",
        help="A file of settings, for those the environment has not.",
        show_default=".env in --data-dir",
    ),
]
ProjectOption = Annotated[
    str | None,
    typer.Option(help="Whose it is.", show_default="PAGEFAULT_DEFAULT_PROJECT"),
]
