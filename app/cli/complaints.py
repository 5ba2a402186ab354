"""Error messages of commands on standard error, and checks of names in options.

This module does not import Rich, which takes 6 MiB: a host starts one proxy for each server, and
most proxies print nothing else.
"""

import os
import sys
from contextlib import suppress

import typer

from app.models.project import PROJECT_NAME
from pagefault_dialects.model.client_ids import CLIENT_ID, CLIENT_ID_RULE

CANNOT = 2
"""The exit status of a command that could not start its work."""

_RED, _PLAIN = "\x1b[31m", "\x1b[0m"
_COLOURLESS = ("dumb", "unknown")


def complain(sentence: str) -> None:
    """Print an error message on standard error; a closed stream is ignored.

    Control characters become spaces, since a part of the sentence may come from a server.
    """
    line = "".join(each if each.isprintable() or each == "\n" else " " for each in sentence)
    message = f"pagefault: {line}"
    with suppress(OSError, ValueError):
        print(  # noqa: T201 - the one place where commands print errors
            f"{_RED}{message}{_PLAIN}" if _takes_colours() else message, file=sys.stderr, flush=True
        )


def _takes_colours() -> bool:
    """Return whether standard error is a terminal with colours and `NO_COLOR` is not set."""
    is_allowed = not os.environ.get("NO_COLOR")
    return is_allowed and sys.stderr.isatty() and os.environ.get("TERM", "") not in _COLOURLESS


def check_session(session_id: str | None, where: str = "--session") -> None:
    """Raise if an option is not a valid session id; `None` is allowed."""
    if session_id is not None and not CLIENT_ID.match(session_id):
        raise typer.BadParameter(
            f"is not the id of a session, which {CLIENT_ID_RULE}", param_hint=where
        )


def check_project(name: str) -> None:
    """Raise if an option is not a valid project name."""
    if not PROJECT_NAME.match(name):
        raise typer.BadParameter(f"a name {CLIENT_ID_RULE}", param_hint="--project")
