"""What the commands share: settings, sentences on the terminal, common options."""

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError
from rich.console import Console

from app.models.project import PROJECT_NAME
from app.settings import Settings
from app.telemetry import configure_logging

OUT = Console()
ERR = Console(stderr=True)

CANNOT = 2
"""The status of a command that could not do what it is there for."""

DataDirOption = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Where database, blobs and keys are.",
        show_default="PAGEFAULT_DATA_DIR or ./data",
    ),
]
ProjectOption = Annotated[
    str | None,
    typer.Option(help="Whose it is.", show_default="PAGEFAULT_DEFAULT_PROJECT"),
]


def read_settings(**given: object) -> Settings:
    """Settings from the environment, with what the command line gave before it."""
    try:
        chosen: dict[str, Any] = {k: value for k, value in given.items() if value is not None}
        return Settings(**chosen)
    except ValidationError as exc:
        for error in exc.errors(include_url=False, include_input=False):
            name = "__".join(str(step) for step in error["loc"]).upper()
            where = f"PAGEFAULT_{name}: " if name else ""
            message = str(error["msg"]).removeprefix("Value error, ")
            complain(where + message)
        raise SystemExit(2) from exc
    except SettingsError as exc:
        # A whole group may be given as JSON; this is none.
        complain(f"{exc}: set its members one by one, as docs/settings.md lists them")
        raise SystemExit(2) from exc


def existing_stores(**given: object) -> Settings:
    """Settings of a command that works on stores which are there, beside a server or without."""
    settings = read_settings(**given)
    configure_logging(settings.log_format, "warning")
    database = settings.data_dir / "pagefault.db"
    if settings.is_embedded_database and not database.exists():
        complain(f"there is no database in {settings.data_dir}. Name it with --data-dir.")
        raise SystemExit(CANNOT)
    # The server sweeps and scrubs on a schedule; a command does what it is told.
    sweep = settings.sweep.model_copy(update={"interval_seconds": 0.0})
    scrub = settings.scrub.model_copy(update={"period_seconds": 0.0})
    return settings.model_copy(update={"sweep": sweep, "scrub": scrub})


def check_project(name: str) -> None:
    """Refuse a name that no project can have."""
    if not PROJECT_NAME.match(name):
        raise typer.BadParameter(
            "a name starts with a letter or digit and has up to 128 of A-Z a-z 0-9 . _ : -",
            param_hint="--project",
        )


def say(sentence: str, *, to: Console = OUT) -> None:
    """Print a sentence as it is."""
    # Soft-wrapped: in a pipe, a sentence is one line, whatever its length.
    to.print(sentence, highlight=False, markup=False, soft_wrap=True)


def complain(sentence: str) -> None:
    """Print what went wrong, where errors go."""
    ERR.print(f"pagefault: {sentence}", style="red", highlight=False, markup=False, soft_wrap=True)
