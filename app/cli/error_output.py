"""Error messages of commands on standard error, and checks of names in options.

This module does not import Rich, which takes 6 MiB. A host starts a proxy for each of its servers,
and most proxies print only error messages.
"""

import os
import sys
from contextlib import suppress

import typer

from app.models.project import PROJECT_NAME
from pagefault_dialects.model.client_ids import CLIENT_ID, CLIENT_ID_RULE

EXIT_CANNOT_START = 2
"""The exit status of a command that could not start its work."""

_RED, _PLAIN = "\x1b[31m", "\x1b[0m"
_TERMINALS_WITHOUT_COLOURS = ("dumb", "unknown")


def print_error(text: str) -> None:
    """Print an error message on standard error, and ignore a closed stream.

    Control characters become spaces, because parts of the message may come from a server.
    """
    line = "".join(char if char.isprintable() or char == "\n" else " " for char in text)
    message = f"pagefault: {line}"
    with suppress(OSError, ValueError):
        print(  # noqa: T201 - the one place where commands print errors
            f"{_RED}{message}{_PLAIN}" if _has_colours() else message, file=sys.stderr, flush=True
        )


def _has_colours() -> bool:
    """Return whether standard error is a terminal with colours and `NO_COLOR` is not set."""
    has_no_color = bool(os.environ.get("NO_COLOR"))
    return (
        not has_no_color
        and sys.stderr.isatty()
        and os.environ.get("TERM", "") not in _TERMINALS_WITHOUT_COLOURS
    )


def check_session(session_id: str | None, option: str = "--session") -> None:
    """Raise `typer.BadParameter` for an invalid session id. `None` is valid."""
    if session_id is not None and not CLIENT_ID.match(session_id):
        raise typer.BadParameter(f"is not a session id, which {CLIENT_ID_RULE}", param_hint=option)


def check_project(name: str) -> None:
    """Raise `typer.BadParameter` for an invalid project name."""
    if not PROJECT_NAME.match(name):
        raise typer.BadParameter(
            f"is not a project name, which {CLIENT_ID_RULE}", param_hint="--project"
        )
