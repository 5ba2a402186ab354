"""The caller of a request to the memory's MCP server, and the sessions that its calls may use.

These classes are not in `memory_server`, since that module imports the SDK of MCP, which takes
20 MiB. `mcp_endpoint` uses them, and imports the SDK with the first request only.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from app.services.access.callers import Caller
from app.services.agents.tools import Scope
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.client_ids import CLIENT_ID, CLIENT_ID_RULE

DEFAULT_SESSION: Final = "mcp"
"""The session of calls, unless the URL or the call names another one."""


async def _reserve_nothing(_: int) -> None:
    """Reserve no memory, since a process that serves over pipes has only one host."""


class ForeignSessionError(Exception):
    """A call names a session that it may not use; the message is for the model."""


@dataclass(frozen=True, slots=True)
class McpCaller:
    """The caller of a request, and the sessions that its calls may use."""

    caller: Caller
    session_id: str = DEFAULT_SESSION
    """The session of calls that have no argument `session`."""
    scope: Scope = "session"
    """`session` if calls may use `session_id` only; `project` for all sessions of the project."""
    body_bytes: int = 0
    """The size of the request's body; 0 over pipes."""
    reserve_memory: Callable[[int], Awaitable[None]] = _reserve_nothing
    """Reserves bytes of memory until the response is sent; raises OverloadedError."""

    @property
    def project_id(self) -> str:
        """The project of the caller."""
        return self.caller.project_id

    def take_session(self, arguments: dict[str, Any]) -> str:
        """Remove the argument `session` from the arguments of a call; return the session to use.

        Raises:
            ForeignSessionError: The caller may not use the session, or its id is invalid.
        """
        session_id = arguments.pop("session", None)
        if session_id is None or session_id == self.session_id:
            return self.session_id
        if self.scope == "session":
            raise ForeignSessionError(
                f"this memory is that of the session {self.session_id}, and session names another "
                "one. Leave session out"
            )
        if not isinstance(session_id, str) or not CLIENT_ID.match(session_id):
            raise ForeignSessionError(
                f"session has to be a name that {CLIENT_ID_RULE}, such as trip-2"
            )
        return session_id


def read_mcp_caller(caller: Caller, query: bytes) -> McpCaller:
    """Return a caller with the session and the scope in the query of a URL.

    Args:
        caller: The caller, whose key has been checked.
        query: The query, as in `/mcp?session=demo&scope=project`.

    Raises:
        InvalidPayloadError: The session or the scope is invalid.
    """
    parameters = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    (session_id,) = parameters.get("session", [DEFAULT_SESSION])
    if not CLIENT_ID.match(session_id):
        raise InvalidPayloadError(
            "The session in the address cannot be the id of one; `errors` says why.",
            faults=[Fault("/query/session", f"is no id, which {CLIENT_ID_RULE}")],
        )
    (scope,) = parameters.get("scope", ["session"])
    if scope not in ("session", "project"):
        raise InvalidPayloadError(
            "The scope in the address is none; `errors` says which there are.",
            faults=[Fault("/query/scope", "has to be session or project")],
        )
    return McpCaller(caller, session_id, "project" if scope == "project" else "session")
