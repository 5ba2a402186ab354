"""The caller of the memory, and the sessions it may use: those of its address or its command."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from app.services.access.callers import Caller
from app.services.agents.tools import Scope
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.client_ids import CLIENT_ID, CLIENT_ID_RULE

DEFAULT_SESSION: Final = "mcp"
"""The session of calls where nothing names one."""


async def _hold_nothing(_: int) -> None:
    """Take no memory from a budget: a host over pipes has the process to itself."""


class ForeignSessionError(Exception):
    """A call names a session that it may not use; the words are for the model."""


@dataclass(frozen=True, slots=True)
class McpCaller:
    """A caller, and the sessions that its calls may use."""

    caller: Caller
    session_id: str = DEFAULT_SESSION
    """The session of calls that name none."""
    scope: Scope = "session"
    """How far calls reach: to this session, or to all sessions of the project and their handles."""
    body_bytes: int = 0
    """The size of the message; 0 over pipes."""
    hold: Callable[[int], Awaitable[None]] = _hold_nothing
    """Takes bytes of the memory budget until the answer is sent, or raises OverloadedError."""

    @property
    def project_id(self) -> str:
        """The project that is asked about."""
        return self.caller.project_id

    def take_session(self, arguments: dict[str, Any]) -> str:
        """Take the session that a call names out of its arguments; return the one that it is for.

        Raises:
            ForeignSessionError: It is not the caller's, or cannot be one.
        """
        named = arguments.pop("session", None)
        if named is None or named == self.session_id:
            return self.session_id
        if self.scope == "session":
            raise ForeignSessionError(
                f"this memory is that of the session {self.session_id}, and session names another "
                "one. Leave session out"
            )
        if not isinstance(named, str) or not CLIENT_ID.match(named):
            raise ForeignSessionError(
                f"session has to be a name that {CLIENT_ID_RULE}, such as trip-2"
            )
        return named


def caller_at(caller: Caller, query: bytes) -> McpCaller:
    """Read the query of an address.

    Raises:
        InvalidPayloadError: The session cannot be one, or the scope is none.
    """
    named = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    (session_id,) = named.get("session", [DEFAULT_SESSION])
    if not CLIENT_ID.match(session_id):
        raise InvalidPayloadError(
            "The session in the address cannot be the id of one; `errors` says why.",
            faults=[Fault("/query/session", f"is no id, which {CLIENT_ID_RULE}")],
        )
    (scope,) = named.get("scope", ["session"])
    if scope not in ("session", "project"):
        raise InvalidPayloadError(
            "The scope in the address is none; `errors` says which there are.",
            faults=[Fault("/query/scope", "has to be session or project")],
        )
    return McpCaller(caller, session_id, "project" if scope == "project" else "session")
