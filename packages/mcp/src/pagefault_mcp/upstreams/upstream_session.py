"""The session with a server of Streamable HTTP: its headers, and its renewal.

A server may drop a session after a restart or a timeout, but a host over pipes cannot begin a new
session. So the proxy begins one: it repeats the handshake of the host.

Source: specification of MCP, 2025-11-25, "Session Management". It requires status 404 for an ended
session; some servers send status 400 and a message about an unknown session.
"""

import json
import re
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import httpx

from pagefault_mcp.errors import unreachable_reason
from pagefault_mcp.messages.lines import member
from pagefault_mcp.messages.sessionless_requests import PROTOCOL_VERSION, is_plain
from pagefault_mcp.upstreams.server_sent_events import read_events
from pagefault_mcp.upstreams.upstream_messages import (
    EXCHANGE_ERRORS,
    Refusal,
    SentLine,
    is_stream,
    read_refusal,
)

ACCEPTED: Final = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
"""The headers of every posted message."""

_SESSION = "mcp-session-id"
_BEGIN_SECONDS = 30.0
_END_SECONDS = 10.0
_UNKNOWN_METHOD = -32601
# The id in refusals of the official SDK for Python that belong to no request; others have null.
_NO_REQUEST = "server-error"
_IS_UNKNOWN = re.compile(
    r"session.*\b(not|invalid|unknown|expired|missing|no longer|required)\b"
    r"|\b(no|not|invalid|unknown|expired|missing)\b.*session"
    r"|\bserver not initialized\b",
    re.IGNORECASE,
)

Attempt = tuple[int, int]


def is_unknown_session(refusal: Refusal) -> bool:
    """Return whether a server refuses a request because its session is unknown."""
    # A refusal with the id of the request comes from a server that knows the session.
    is_answer = refusal.request_id is not None and refusal.request_id != _NO_REQUEST
    is_unknown = bool(_IS_UNKNOWN.search(refusal.reason))
    if refusal.status == 404:
        return is_unknown or (not is_answer and refusal.error.get("code") != _UNKNOWN_METHOD)
    return refusal.status == 400 and not is_answer and is_unknown


@dataclass(slots=True, eq=False)
class UpstreamSession:
    """The session with a server, and the handshake of the host, with which it is renewed."""

    client: httpx.AsyncClient
    """The HTTP client."""
    url: str
    """The URL of the server."""
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    headers: dict[str, str] = field(default_factory=dict)
    """The headers of all requests: the id of the session, and the negotiated revision."""
    number: int = 0
    """The number of sessions that were begun so far."""
    initialize: bytes = b""
    """The line of the host's `initialize` request."""
    initialized: bytes = b""
    """The line of the host's `initialized` notification."""
    _tries: int = 0
    _renewing: anyio.Lock = field(default_factory=anyio.Lock)
    _renewed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def has_id(self) -> bool:
        """True if the server has assigned an id to the session."""
        return _SESSION in self.headers

    @property
    def attempt(self) -> Attempt:
        """The numbers of sessions and renewals so far, which `renew` compares."""
        return self.number, self._tries

    def record_handshake(self, pending: SentLine) -> None:
        """Record a line if it is part of the host's handshake."""
        if pending.method == "initialize":
            self.initialize = pending.line
            self.headers = {}
        elif pending.method == "notifications/initialized":
            self.initialized = pending.line

    def begin(self, response: httpx.Response) -> None:
        """Set the id of the session from the response to `initialize`."""
        session_id = response.headers.get(_SESSION)
        if session_id and is_plain(session_id):
            self.headers[_SESSION] = session_id
        elif session_id is not None:
            self.warn("the server names its session by what no header can hold")
        self._increment()

    def _increment(self) -> None:
        self.number += 1
        self._renewed.set()
        self._renewed = anyio.Event()

    def set_revision(self, revision: object) -> None:
        """Set the negotiated revision."""
        if isinstance(revision, str) and is_plain(revision):
            self.headers[PROTOCOL_VERSION] = revision

    async def wait_for_renewal(self, number: int) -> None:
        """Wait until the session with a number is replaced."""
        while self.number == number:
            await self._renewed.wait()

    async def renew(self, attempt: Attempt) -> bool:
        """Begin a new session, unless another request has done so already.

        Args:
            attempt: The value of `attempt` when the refused request was sent.

        Returns:
            Whether there is a new session.
        """
        async with self._renewing:
            if self.attempt == attempt and self.initialize:
                self._tries += 1
                await self._renew()
            return self.number != attempt[0]

    async def _renew(self) -> None:
        reason = "it took too long"
        try:
            with anyio.move_on_after(_BEGIN_SECONDS):
                reason = await self._repeat_handshake()
        except EXCHANGE_ERRORS as exc:
            reason = f"it cannot be reached: {unreachable_reason(exc)}"
        if reason:
            self.warn(f"the server has forgotten the session, and begins no other one: {reason}")
            return
        self.warn("the server has forgotten the session; another one was begun")
        self._increment()

    async def _repeat_handshake(self) -> str:
        """Repeat the handshake of the host; return the reason of a failure, else `""`."""
        renewed = UpstreamSession(self.client, self.url, self.warn)
        async with self.client.stream(
            "POST", self.url, content=self.initialize, headers=ACCEPTED
        ) as response:
            if not response.is_success:
                return (await read_refusal(response)).message
            result = member(await _read_response(response), "result")
            renewed.begin(response)
        if not isinstance(result, dict):
            return "it refuses to"
        renewed.set_revision(result.get("protocolVersion"))
        if self.initialized:
            response = await self.client.post(
                self.url, content=self.initialized, headers={**ACCEPTED, **renewed.headers}
            )
            if not response.is_success:
                return f"it answered {response.status_code}"
        self.headers = renewed.headers
        return ""

    async def end(self) -> None:
        """End the session of the server."""
        if self.has_id:
            with anyio.move_on_after(_END_SECONDS, shield=True), suppress(*EXCHANGE_ERRORS):
                await self.client.delete(self.url, headers=self.headers)


async def _read_response(response: httpx.Response) -> Any:  # noqa: ANN401 - any JSON
    """Return the message that answers `initialize`, the only open request."""
    with suppress(ValueError, RecursionError):
        if not is_stream(response):
            return json.loads(await response.aread())
        async with aclosing(read_events(response.aiter_bytes())) as events:
            async for event in events:
                if event.data and event.find_answered_ids():
                    return json.loads(event.text())
    return None
