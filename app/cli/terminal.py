"""Shared parts of commands: reading settings, printing, and error messages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import SettingsError
from rich.console import Console
from rich.markup import escape

from app.cli.complaints import CANNOT, check_project, complain
from app.config.env_file import EnvFileError, add_env_file
from app.config.settings import Settings
from app.errors import StoreUnavailableError
from app.telemetry.logs import configure_logging, configure_process_logging
from app.wiring.startup_errors import (
    DataDirectoryError,
    MissingSigningKeysError,
    OutdatedDatabaseError,
    SettingError,
)
from pagefault_dialects.errors import Fault, PagefaultError


class _Aside(Console):
    """A console for notices beside the output of a command."""

    def on_broken_pipe(self) -> None:
        """Print nothing more; a reader that has left does not end the command."""
        self.quiet = True


OUT = Console()
ERR = _Aside(stderr=True)


def read_settings(data_dir: Path | None, env_file: Path | None, **others: object) -> Settings:
    """Return the settings: of the command line, else the environment, else the file of settings.

    Settings of the file are added to the environment of this process, which its workers inherit.
    """
    try:
        add_env_file(env_file, data_dir)
        configure_process_logging(with_output=False)
        options: dict[str, Any] = {"data_dir": data_dir, **others}
        return Settings(**{name: value for name, value in options.items() if value is not None})
    except EnvFileError as exc:
        complain(str(exc))
        raise SystemExit(2) from exc
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


def existing_stores(data_dir: Path | None, env_file: Path | None) -> Settings:
    """Return the settings of a command that needs existing stores."""
    settings = read_settings(data_dir, env_file)
    configure_logging(settings.log_format, "warning")
    database = settings.data_dir / "pagefault.db"
    if settings.is_embedded_database and not database.exists():
        complain(f"there is no database in {settings.data_dir}. Name it with --data-dir.")
        raise SystemExit(CANNOT)
    return settings


def project_settings(
    data_dir: Path | None, env_file: Path | None, project: str | None
) -> tuple[Settings, str]:
    """Return the settings of a command that works on a project, and the project."""
    settings = read_settings(data_dir, env_file)
    configure_logging(settings.log_format, "warning")
    return settings, project_of(settings, project)


def project_of(settings: Settings, project: str | None) -> str:
    """Return the name of a project: that of the option, else the default one."""
    name = project or settings.default_project
    check_project(name)
    return name


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `2,000 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def say(sentence: str, *, to: Console = OUT) -> None:
    """Print a sentence as it is."""
    # Soft-wrapped: in a pipe, a sentence is one line, whatever its length.
    to.print(sentence, highlight=False, markup=False, soft_wrap=True)


def one_line(text: str) -> str:
    """Return text that cannot move the cursor or colour the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def shortened(text: str, length: int) -> str:
    """Return the beginning of a text, with an ellipsis where it is cut."""
    return text[:length] + ("…" if len(text) > length else "")


def printable(text: str) -> str:
    """Return text as `one_line`, and that is not read as console markup either."""
    return escape(one_line(text))


class CommandError(Exception):
    """A command failed for the reason in the message."""


_EXPECTED = (
    PagefaultError,
    DataDirectoryError,
    OutdatedDatabaseError,
    MissingSigningKeysError,
    SettingError,
    CommandError,
)


def expected_sentence(error: Exception) -> str | None:
    """Return the message of an error with a known cause; `None` for any other."""
    if not isinstance(error, _EXPECTED):
        return None
    cause = error.cause if isinstance(error, StoreUnavailableError) else None
    sentence = cause.sentence if cause else str(error)
    if isinstance(error, PagefaultError) and error.faults:
        sentence = f"{sentence} ({fault_line(error.faults)})"
    return sentence


def fault_line(faults: Sequence[Fault]) -> str:
    """Return the faults of a request on one line."""
    return "; ".join(f"{fault.pointer} {fault.detail}".strip() for fault in faults)
