"""What commands say of what went wrong, on standard error, and the names they refuse.

A host starts a proxy for each of its servers, and this is all that most of them ever say: it is
written without Rich, which takes 6 MiB of each.
"""

import os
import sys
from contextlib import suppress

import typer

from app.models.project import PROJECT_NAME
from pagefault_dialects.model.client_ids import CLIENT_ID, CLIENT_ID_RULE

CANNOT = 2
"""The status of a command that could not do what it is there for."""

_RED, _PLAIN = "\x1b[31m", "\x1b[0m"
_COLOURLESS = ("dumb", "unknown")


def complain(sentence: str) -> None:
    """Print what went wrong, where errors go; that it cannot be is no reason to end.

    Control characters become spaces: a part of the sentence may come from a server.
    """
    line = "".join(each if each.isprintable() or each == "\n" else " " for each in sentence)
    said = f"pagefault: {line}"
    with suppress(OSError, ValueError):
        print(  # noqa: T201 - this is where commands say it
            f"{_RED}{said}{_PLAIN}" if _takes_colours() else said, file=sys.stderr, flush=True
        )


def _takes_colours() -> bool:
    """Tell whether standard error is a terminal with colours, whose user wants them."""
    is_wanted = not os.environ.get("NO_COLOR")
    return is_wanted and sys.stderr.isatty() and os.environ.get("TERM", "") not in _COLOURLESS


def check_session(session_id: str | None, where: str = "--session") -> None:
    """Refuse a name that no session can have; `None` stands for no session."""
    if session_id is not None and not CLIENT_ID.match(session_id):
        raise typer.BadParameter(
            f"is not the id of a session, which {CLIENT_ID_RULE}", param_hint=where
        )


def check_project(name: str) -> None:
    """Refuse a name that no project can have."""
    if not PROJECT_NAME.match(name):
        raise typer.BadParameter(f"a name {CLIENT_ID_RULE}", param_hint="--project")
