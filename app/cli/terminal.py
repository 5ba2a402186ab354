"""What the commands share: settings, sentences on the terminal, and how a command fails."""

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
    """What is said beside a command's output."""

    def on_broken_pipe(self) -> None:
        """Say nothing more: that nobody listens is no reason to end."""
        self.quiet = True


OUT = Console()
ERR = _Aside(stderr=True)


def read_settings(data_dir: Path | None, env_file: Path | None, **others: object) -> Settings:
    """Return the settings: of the command line, else the environment, else the file of settings.

    What the file sets is in the environment from then on, for this process and its workers.
    """
    try:
        add_env_file(env_file, data_dir)
        configure_process_logging(with_output=False)
        given: dict[str, Any] = {"data_dir": data_dir, **others}
        return Settings(**{name: value for name, value in given.items() if value is not None})
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
    """Return the settings of a command that works on stores which are there."""
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


def project_of(settings: Settings, given: str | None) -> str:
    """Return the project that was given, or the default one."""
    name = given or settings.default_project
    check_project(name)
    return name


def counted(number: int, noun: str) -> str:
    """Return a number and what it counts: `1 file`, `2,000 files`."""
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
    """A command cannot do what it was told; the message says why."""


_EXPECTED = (
    PagefaultError,
    DataDirectoryError,
    OutdatedDatabaseError,
    MissingSigningKeysError,
    SettingError,
    CommandError,
)


def expected_sentence(error: Exception) -> str | None:
    """Return the sentence on an error that was to be expected; `None` for any other."""
    if not isinstance(error, _EXPECTED):
        return None
    cause = error.cause if isinstance(error, StoreUnavailableError) else None
    sentence = cause.sentence if cause else str(error)
    if isinstance(error, PagefaultError) and error.faults:
        sentence = f"{sentence} ({told_faults(error.faults)})"
    return sentence


def told_faults(faults: Sequence[Fault]) -> str:
    """Return the single faults of a request in one line."""
    return "; ".join(f"{fault.pointer} {fault.detail}".strip() for fault in faults)
