"""The session of a server of Streamable HTTP: what names it, and another one where it has ended.

A host over pipes cannot begin anew when a server has forgotten it, by a restart or after a time.
So the session is begun again with what the host began it with, and the host notices nothing.

Source: specification of MCP, 2025-11-25, "Session Management". It has 404 for a session that has
ended; servers also answer 400, and say that they do not know it.
"""

import json
import re
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import httpx

from pagefault_mcp.errors import unreachable_because
from pagefault_mcp.messages.message_values import member
from pagefault_mcp.messages.sessionless_requests import PROTOCOL_VERSION, is_plain
from pagefault_mcp.upstreams.pending_requests import SentLine
from pagefault_mcp.upstreams.server_sent_events import read_events
from pagefault_mcp.upstreams.upstream_answers import TROUBLE, Refusal, is_stream, refusal_in

ACCEPTED: Final = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
"""What every message is posted with."""

_SESSION = "mcp-session-id"
_BEGIN_SECONDS = 30.0
_END_SECONDS = 10.0
_UNKNOWN_METHOD = -32601
# Where others have null, a server of the official SDK for Python has this.
_NO_REQUEST = "server-error"
_IS_UNKNOWN = re.compile(
    r"session.*\b(not|invalid|unknown|expired|missing|no longer|required)\b"
    r"|\b(no|not|invalid|unknown|expired|missing)\b.*session"
    r"|\bserver not initialized\b",
    re.IGNORECASE,
)

Seen = tuple[int, int]


def is_of_no_session(refusal: Refusal) -> bool:
    """Return whether a server says that it does not know the session of a request."""
    # What has the id of a request answers that request, in its session.
    is_answer = refusal.request_id is not None and refusal.request_id != _NO_REQUEST
    says_so = bool(_IS_UNKNOWN.search(refusal.why))
    if refusal.status == 404:
        return says_so or (not is_answer and refusal.error.get("code") != _UNKNOWN_METHOD)
    return refusal.status == 400 and not is_answer and says_so


@dataclass(slots=True, eq=False)
class UpstreamSession:
    """What every request of a session carries, and what the session was begun with."""

    client: httpx.AsyncClient
    """Sends requests."""
    url: str
    """The server's."""
    warn: Callable[[str], None]
    """Says a sentence to the person who runs it."""
    headers: dict[str, str] = field(default_factory=dict)
    """Those that name the session, and the revision that was agreed on."""
    number: int = 0
    """How many sessions there have been, with it."""
    initialize: bytes = b""
    """With what the host began it: its request."""
    initialized: bytes = b""
    """Its notification behind that."""
    _tries: int = 0
    _renewing: anyio.Lock = field(default_factory=anyio.Lock)
    _renewed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_named(self) -> bool:
        """Whether the server has given it a name, and may forget that."""
        return _SESSION in self.headers

    @property
    def seen(self) -> Seen:
        """Which session it is, and how often another one was tried: what `renew` wants to know."""
        return self.number, self._tries

    def note(self, pending: SentLine) -> None:
        """Note what the host begins a session with."""
        if pending.method == "initialize":
            self.initialize = pending.line
            self.headers = {}
        elif pending.method == "notifications/initialized":
            self.initialized = pending.line

    def begin(self, answer: httpx.Response) -> None:
        """Take the name that the answer to `initialize` gives the session."""
        name = answer.headers.get(_SESSION)
        if name and is_plain(name):
            self.headers[_SESSION] = name
        elif name is not None:
            self.warn("the server names its session by what no header can hold")
        self._count()

    def _count(self) -> None:
        self.number += 1
        self._renewed.set()
        self._renewed = anyio.Event()

    def agree(self, revision: object) -> None:
        """Take the revision that was agreed on."""
        if isinstance(revision, str) and is_plain(revision):
            self.headers[PROTOCOL_VERSION] = revision

    async def wait_for_renewal(self, number: int) -> None:
        """Wait until there is another session than that one."""
        while self.number == number:
            await self._renewed.wait()

    async def renew(self, seen: Seen) -> bool:
        """Begin another session, once for all requests that the server has refused together.

        Args:
            seen: What was seen when the request was sent.

        Returns:
            Whether there is another one.
        """
        async with self._renewing:
            if self.seen == seen and self.initialize:
                self._tries += 1
                await self._begin_anew()
            return self.number != seen[0]

    async def _begin_anew(self) -> None:
        why = "it took too long"
        try:
            with anyio.move_on_after(_BEGIN_SECONDS):
                why = await self._try_to_begin()
        except TROUBLE as exc:
            why = f"it cannot be reached: {unreachable_because(exc)}"
        if why:
            self.warn(f"the server has forgotten the session, and begins no other one: {why}")
            return
        self.warn("the server has forgotten the session; another one was begun")
        self._count()

    async def _try_to_begin(self) -> str:
        """Say again what the host began with; return why that was in vain, or nothing."""
        new = UpstreamSession(self.client, self.url, self.warn)
        async with self.client.stream(
            "POST", self.url, content=self.initialize, headers=ACCEPTED
        ) as answer:
            if not answer.is_success:
                return (await refusal_in(answer)).words
            result = member(await _answer_in(answer), "result")
            new.begin(answer)
        if not isinstance(result, dict):
            return "it refuses to"
        new.agree(result.get("protocolVersion"))
        if self.initialized:
            taken = await self.client.post(
                self.url, content=self.initialized, headers={**ACCEPTED, **new.headers}
            )
            if not taken.is_success:
                return f"it answered {taken.status_code}"
        self.headers = new.headers
        return ""

    async def end(self) -> None:
        """Tell the server that its session is over."""
        if self.is_named:
            with anyio.move_on_after(_END_SECONDS, shield=True), suppress(*TROUBLE):
                await self.client.delete(self.url, headers=self.headers)


async def _answer_in(answer: httpx.Response) -> Any:  # noqa: ANN401 - any JSON
    """Return the message that answers `initialize`, the only request that was made."""
    with suppress(ValueError, RecursionError):
        if not is_stream(answer):
            return json.loads(await answer.aread())
        async with aclosing(read_events(answer.aiter_bytes())) as events:
            async for event in events:
                if event.data and event.answered_ids():
                    return json.loads(event.text())
    return None
