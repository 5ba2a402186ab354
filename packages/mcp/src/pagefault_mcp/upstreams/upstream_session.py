"""The session with a server of Streamable HTTP: its headers, and its renewal.

A server may drop a session after a restart or a timeout. A host over pipes cannot begin a new
session, so the proxy does: it repeats the handshake of the host. The handshake is the request
`initialize` and the notification `initialized`.

Source: specification of MCP, 2025-11-25, "Session Management". For an ended session, it requires
status 404. Some servers send status 400 and a message about an unknown session instead.
"""

import json
import re
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import httpx

from pagefault_mcp.errors import describe_transport_error
from pagefault_mcp.messages.lines import get_member
from pagefault_mcp.messages.sessionless_requests import PROTOCOL_VERSION_HEADER, is_plain
from pagefault_mcp.upstreams.server_sent_events import read_events
from pagefault_mcp.upstreams.upstream_messages import (
    EXCHANGE_ERRORS,
    Refusal,
    SentLine,
    is_stream,
    read_refusal,
)

POST_HEADERS: Final = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
"""The headers of every posted message."""

_SESSION_HEADER = "mcp-session-id"
# The timeouts for beginning another session, and for ending a session.
_BEGIN_SECONDS = 30.0
_END_SECONDS = 10.0
_UNKNOWN_METHOD = -32601
# The official SDK for Python uses this id in errors that belong to no request. Other servers use
# null.
_ID_WITHOUT_REQUEST = "server-error"
_UNKNOWN_SESSION_TEXT = re.compile(
    r"session.*\b(not|invalid|unknown|expired|missing|no longer|required)\b"
    r"|\b(no|not|invalid|unknown|expired|missing)\b.*session"
    r"|\bserver not initialized\b",
    re.IGNORECASE,
)

RenewalState = tuple[int, int]
"""The number of the session, and the number of attempts to renew a session."""


def is_unknown_session(refusal: Refusal) -> bool:
    """Return whether a server refuses a request because its session is unknown."""
    # If a refusal has the id of the request, the server knows the session.
    has_request_id = refusal.request_id is not None and refusal.request_id != _ID_WITHOUT_REQUEST
    says_unknown = bool(_UNKNOWN_SESSION_TEXT.search(refusal.reason))
    if refusal.status == 404:
        return says_unknown or (not has_request_id and refusal.error.get("code") != _UNKNOWN_METHOD)
    return refusal.status == 400 and not has_request_id and says_unknown


@dataclass(slots=True, eq=False)
class UpstreamSession:
    """The session with a server, and the host's handshake, which renews the session."""

    client: httpx.AsyncClient
    url: str
    """The URL of the server."""
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    headers: dict[str, str] = field(default_factory=dict)
    """The headers of all requests: the id of the session, and the negotiated revision."""
    number: int = 0
    """The number of sessions so far, with this one."""
    initialize: bytes = b""
    """The line of the host's `initialize` request."""
    initialized: bytes = b""
    """The line of the host's `initialized` notification."""
    _renewal_attempts: int = 0
    _renewal_lock: anyio.Lock = field(default_factory=anyio.Lock)
    _session_began: anyio.Event = field(default_factory=anyio.Event)
    """Set, and replaced by another event, when a session begins."""

    @property
    def has_id(self) -> bool:
        """True if the server has assigned an id to the session."""
        return _SESSION_HEADER in self.headers

    @property
    def renewal_state(self) -> RenewalState:
        """The state by which `renew` recognises that another request has renewed the session."""
        return self.number, self._renewal_attempts

    def record_handshake(self, sent_line: SentLine) -> None:
        """Keep a line for later renewals if it is part of the host's handshake."""
        if sent_line.method == "initialize":
            self.initialize = sent_line.line
            self.headers = {}
        elif sent_line.method == "notifications/initialized":
            self.initialized = sent_line.line

    def begin(self, response: httpx.Response) -> None:
        """Begin a session, whose id is in the headers of the response to `initialize`."""
        session_id = response.headers.get(_SESSION_HEADER)
        if session_id and is_plain(session_id):
            self.headers[_SESSION_HEADER] = session_id
        elif session_id is not None:
            self.warn("the server names its session by what no header can hold")
        self._count_session()

    def _count_session(self) -> None:
        """Count a new session, and wake the tasks that wait for one."""
        self.number += 1
        self._session_began.set()
        self._session_began = anyio.Event()

    def set_revision(self, revision: object) -> None:
        """Set the header with the revision of MCP that host and server have negotiated."""
        if isinstance(revision, str) and is_plain(revision):
            self.headers[PROTOCOL_VERSION_HEADER] = revision

    async def wait_for_renewal(self, number: int) -> None:
        """Wait until there is another session than the one with this number."""
        while self.number == number:
            await self._session_began.wait()

    async def renew(self, state: RenewalState) -> bool:
        """Begin a new session, unless another request has tried to do so since.

        Args:
            state: The value of `renewal_state` when the refused request was sent.

        Returns:
            Whether there is a new session.
        """
        async with self._renewal_lock:
            if self.renewal_state == state and self.initialize:
                self._renewal_attempts += 1
                await self._renew()
            return self.number != state[0]

    async def _renew(self) -> None:
        """Repeat the handshake, with a timeout; log whether there is a new session."""
        reason = "it took too long"
        try:
            with anyio.move_on_after(_BEGIN_SECONDS):
                reason = await self._repeat_handshake()
        except EXCHANGE_ERRORS as exc:
            reason = f"it cannot be reached: {describe_transport_error(exc)}"
        if reason:
            self.warn(f"the server has forgotten the session, and begins no other one: {reason}")
            return
        self.warn("the server has forgotten the session; another one was begun")
        self._count_session()

    async def _repeat_handshake(self) -> str:
        """Repeat the handshake, and replace the headers; return why that failed, else `""`."""
        renewed = UpstreamSession(self.client, self.url, self.warn)
        async with self.client.stream(
            "POST", self.url, content=self.initialize, headers=POST_HEADERS
        ) as response:
            if not response.is_success:
                return (await read_refusal(response)).message
            result = get_member(await _read_response(response), "result")
            renewed.begin(response)
        if not isinstance(result, dict):
            return "it refuses to"
        renewed.set_revision(result.get("protocolVersion"))
        if self.initialized:
            response = await self.client.post(
                self.url, content=self.initialized, headers={**POST_HEADERS, **renewed.headers}
            )
            if not response.is_success:
                return f"it answered {response.status_code}"
        self.headers = renewed.headers
        return ""

    async def end(self) -> None:
        """Tell the server to end the session, if the session has an id. Errors are ignored."""
        if self.has_id:
            with anyio.move_on_after(_END_SECONDS, shield=True), suppress(*EXCHANGE_ERRORS):
                await self.client.delete(self.url, headers=self.headers)


async def _read_response(response: httpx.Response) -> Any:  # noqa: ANN401 - any JSON
    """Return the parsed response to `initialize`; `None` if there is none.

    No other request is open, so it is the first message that is a response.
    """
    with suppress(ValueError, RecursionError):
        if not is_stream(response):
            return json.loads(await response.aread())
        async with aclosing(read_events(response.aiter_bytes())) as events:
            async for event in events:
                if event.data and event.find_answered_ids():
                    return json.loads(event.text())
    return None
