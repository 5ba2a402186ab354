"""HTTP+SSE of 2024: one stream of events from the server, and an address to send messages to.

Source: specification of MCP, 2024-11-05, "HTTP with SSE".
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.abc
import httpx

from pagefault_mcp.errors import unreachable_because
from pagefault_mcp.messages.rewritten_messages import failure
from pagefault_mcp.upstreams.pending_requests import parse_sent_line
from pagefault_mcp.upstreams.server_sent_events import ServerEvent, read_events
from pagefault_mcp.upstreams.upstream_answers import TROUBLE, is_stream

_OPEN_SECONDS = 10.0
_GONE = "the server has ended its stream"
_TYPE = {"content-type": "application/json"}


class NoStreamError(ValueError):
    """A server does not open a stream of 2024; the words say what it does."""


@dataclass(slots=True, eq=False)
class SseSession:
    """A stream that is kept open, and what has been asked and not answered."""

    client: httpx.AsyncClient
    """Sends requests."""
    url: str
    """That of the stream."""
    give: Callable[[Iterable[bytes]], Awaitable[None]]
    """Takes each message of the server."""
    warn: Callable[[str], None]
    """Says a sentence to the person who runs it."""
    _endpoint: str = ""
    has_ended: bool = False
    """Whether the stream is over, and nothing can be asked."""
    _waiting: set[object] = field(default_factory=set)
    _answered: anyio.Event = field(default_factory=anyio.Event)
    _opening: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _silent: set[object] = field(default_factory=set)
    _begun: anyio.Event = field(default_factory=anyio.Event)

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Open the stream, and give what comes over it until it ends.

        Raises:
            NoStreamError: It is no such stream.
            httpx.HTTPError: The server cannot be reached.
        """
        self._opening.deadline = anyio.current_time() + _OPEN_SECONDS
        with self._opening:
            async with self.client.stream(
                "GET", self.url, headers={"accept": "text/event-stream"}
            ) as answer:
                if not is_stream(answer):
                    raise NoStreamError(f"it answered {answer.status_code} to a GET")
                try:
                    async with aclosing(read_events(answer.aiter_bytes())) as events:
                        async for event in events:
                            if self._endpoint:
                                await self._take(event)
                            elif event.data and event.name == "endpoint":
                                self._endpoint = self._address(event.text())
                                self._opening.deadline = float("inf")
                                task_status.started()
                except TROUBLE:
                    if not self._endpoint:
                        raise
        if not self._endpoint:
            raise NoStreamError("its stream names no endpoint")
        await self._end()

    async def begin_anew(self, initialize: bytes, initialized: bytes) -> None:
        """Say on a new stream what a host began with; what that is answered is not passed on.

        Raises:
            NoStreamError: The server does not take it.
            httpx.HTTPError: The server cannot be reached.
        """
        self._silent = parse_sent_line(initialize).waiting
        is_begun = False
        try:
            with anyio.move_on_after(_OPEN_SECONDS):
                for line in filter(None, (initialize, initialized)):
                    answer = await self.client.post(self._endpoint, content=line, headers=_TYPE)
                    if not answer.is_success:
                        raise NoStreamError(f"it answered {answer.status_code}")
                    await self._begun.wait()
                is_begun = not self.has_ended
            if not is_begun:
                raise NoStreamError("it does not begin")
        finally:
            if not is_begun:
                self._opening.cancel()

    async def send(self, line: bytes, pending: set[object]) -> str | None:
        """Send messages; return why it was in vain, or `None`.

        Args:
            line: The messages.
            pending: The ids of the requests among them.
        """
        if self.has_ended:
            return _GONE
        self._waiting |= {*pending}
        try:
            answer = await self.client.post(self._endpoint, content=line, headers=_TYPE)
        except TROUBLE as exc:
            said = f"the server cannot be reached: {unreachable_because(exc)}"
        else:
            if answer.is_success:
                return None
            said = f"the server answered {answer.status_code}"
        # What was answered over the stream, or failed with it, has had its answer.
        unanswered = pending & self._waiting
        self._waiting -= unanswered
        pending.intersection_update(unanswered)
        return said

    def forget(self, request_id: object) -> None:
        """Wait no longer for the answer to a request, which was cancelled."""
        self._waiting.discard(request_id)
        self._answered.set()

    async def wait_for_answers(self, seconds: float) -> None:
        """Wait until all is answered that was asked, or for so long."""
        with anyio.move_on_after(seconds):
            while self._waiting and not self.has_ended:
                self._answered = anyio.Event()
                await self._answered.wait()

    async def _take(self, event: ServerEvent) -> None:
        if event.name == "message" and event.is_message(self.warn):
            answered = event.answered_ids()
            if answered & self._silent:
                self._silent = set()
                self._begun.set()
                return
            self._waiting -= answered
            await self.give(event.pieces())
            self._answered.set()

    async def _end(self) -> None:
        self.has_ended = True
        self._begun.set()
        self.warn(_GONE)
        waiting, self._waiting = self._waiting, set()
        for request_id in waiting:
            await self.give([failure(request_id, _GONE)])
        self._answered.set()

    def _address(self, said: bytes) -> str:
        """Return where messages are sent to: never another origin, which would get credentials."""
        try:
            address = urljoin(self.url, said.decode())
            httpx.URL(address)
        except (httpx.InvalidURL, ValueError) as exc:
            raise NoStreamError("it names no address") from exc
        here, there = urlsplit(self.url), urlsplit(address)
        if (here.scheme, here.netloc) != (there.scheme, there.netloc):
            raise NoStreamError("it names an endpoint of another origin")
        return address
