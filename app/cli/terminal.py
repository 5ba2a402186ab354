"""Shared parts of commands: reading settings, printing, and error messages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import SettingsError
from rich.console import Console
from rich.markup import escape

from app.cli.error_output import EXIT_CANNOT_START, check_project, print_error
from app.config.env_file import EnvFileError, add_env_file
from app.config.settings import Settings
from app.errors import StoreUnavailableError
from app.telemetry.logs import configure_logging, configure_process_logging
from app.wiring.startup_errors import (
    DataDirectoryError,
    MissingSigningKeysError,
    NewerDatabaseError,
    OutdatedDatabaseError,
    SettingError,
)
from pagefault_dialects.errors import Fault, PagefaultError


class _NoticeConsole(Console):
    """A console for messages on standard error, which may be closed."""

    def on_broken_pipe(self) -> None:
        """Stop printing. A closed pipe does not end the command."""
        self.quiet = True


OUT = Console()
ERR = _NoticeConsole(stderr=True)


def read_settings(data_dir: Path | None, env_file: Path | None, **others: object) -> Settings:
    """Read the settings from the command line, the environment and the settings file.

    Each setting has the value of the first of these that sets it. The file is added to the
    environment of this process, which its workers inherit.

    Raises:
        SystemExit: A setting is invalid; an error message was printed.
    """
    try:
        add_env_file(env_file, data_dir)
        configure_process_logging(with_output=False)
        options: dict[str, Any] = {"data_dir": data_dir, **others}
        return Settings(**{name: value for name, value in options.items() if value is not None})
    except EnvFileError as exc:
        print_error(str(exc))
        raise SystemExit(EXIT_CANNOT_START) from exc
    except ValidationError as exc:
        for error in exc.errors(include_url=False, include_input=False):
            name = "__".join(str(step) for step in error["loc"]).upper()
            prefix = f"PAGEFAULT_{name}: " if name else ""
            message = str(error["msg"]).removeprefix("Value error, ")
            print_error(prefix + message)
        raise SystemExit(EXIT_CANNOT_START) from exc
    except SettingsError as exc:
        # The value of a whole group has to be JSON.
        print_error(f"{exc}: set its members one by one, as docs/settings.md lists them")
        raise SystemExit(EXIT_CANNOT_START) from exc


def read_existing_store_settings(data_dir: Path | None, env_file: Path | None) -> Settings:
    """Read the settings of a command that needs existing stores, and configure the log.

    Raises:
        SystemExit: A setting is invalid, or there is no database; an error message was printed.
    """
    settings = read_settings(data_dir, env_file)
    configure_logging(settings.log_format, "warning")
    database = settings.data_dir / "pagefault.db"
    if settings.is_embedded_database and not database.exists():
        print_error(f"there is no database in {settings.data_dir}. Name it with --data-dir.")
        raise SystemExit(EXIT_CANNOT_START)
    return settings


def read_project_settings(
    data_dir: Path | None, env_file: Path | None, project: str | None
) -> tuple[Settings, str]:
    """Read the settings of a command that works on a project, and return them with its id."""
    settings = read_settings(data_dir, env_file)
    configure_logging(settings.log_format, "warning")
    return settings, resolve_project(settings, project)


def resolve_project(settings: Settings, project: str | None) -> str:
    """Return the project of the option `--project`, or the default project."""
    name = project or settings.default_project
    check_project(name)
    return name


def format_count(number: int, noun: str) -> str:
    """Format a number with its noun: `1 file`, `2,000 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def print_line(text: str, *, to: Console = OUT) -> None:
    """Print a line of plain text, without markup, colours or line breaks."""
    # With soft wrapping, Rich does not break long lines in a pipe.
    to.print(text, highlight=False, markup=False, soft_wrap=True)


def to_one_line(text: str) -> str:
    """Replace control characters, such as line breaks, by spaces."""
    return "".join(c if c.isprintable() else " " for c in text)


def truncate(text: str, length: int) -> str:
    """Return at most `length` characters of a text, then an ellipsis if it is longer."""
    return text[:length] + ("…" if len(text) > length else "")


def escape_for_console(text: str) -> str:
    """Convert a text with `to_one_line`, and escape the markup of Rich."""
    return escape(to_one_line(text))


class CommandError(Exception):
    """A command failed for the reason in the message."""


_KNOWN_ERRORS = (
    PagefaultError,
    DataDirectoryError,
    NewerDatabaseError,
    OutdatedDatabaseError,
    MissingSigningKeysError,
    SettingError,
    CommandError,
)


def describe_known_error(error: Exception) -> str | None:
    """Return the message of an error with a known cause; `None` for other errors."""
    if not isinstance(error, _KNOWN_ERRORS):
        return None
    cause = error.cause if isinstance(error, StoreUnavailableError) else None
    message = cause.sentence if cause else str(error)
    if isinstance(error, PagefaultError) and error.faults:
        message = f"{message} ({format_faults(error.faults)})"
    return message


def format_faults(faults: Sequence[Fault]) -> str:
    """Format the faults of a request as one line."""
    return "; ".join(f"{fault.pointer} {fault.detail}".strip() for fault in faults)
