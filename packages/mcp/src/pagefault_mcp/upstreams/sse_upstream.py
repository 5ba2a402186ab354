"""HTTP+SSE of 2024: a stream of events from the server, and a URL for messages to it.

Source: specification of MCP, 2024-11-05, "HTTP with SSE".
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.abc
import httpx

from pagefault_mcp.errors import unreachable_reason
from pagefault_mcp.messages.rewritten_messages import error_line
from pagefault_mcp.upstreams.server_sent_events import ServerEvent, read_events
from pagefault_mcp.upstreams.upstream_messages import TROUBLE, is_stream, parse_sent_line

_OPEN_SECONDS = 10.0
_ENDED_STREAM = "the server has ended its stream"
_TYPE = {"content-type": "application/json"}


class NoStreamError(ValueError):
    """A server does not open a stream of 2024; the message has the reason."""


@dataclass(slots=True, eq=False)
class SseSession:
    """An open stream, with its unanswered requests."""

    client: httpx.AsyncClient
    """The HTTP client."""
    url: str
    """The URL of the stream."""
    forward: Callable[[Iterable[bytes]], Awaitable[None]]
    """Receives each message of the server."""
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    _endpoint: str = ""
    has_ended: bool = False
    """The stream has ended, so no requests can be sent."""
    _waiting: set[object] = field(default_factory=set)
    _answered: anyio.Event = field(default_factory=anyio.Event)
    _opening: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _silent: set[object] = field(default_factory=set)
    _begun: anyio.Event = field(default_factory=anyio.Event)

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Open the stream, and forward its messages until it ends.

        Raises:
            NoStreamError: The server does not open such a stream.
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

    async def restart(self, initialize: bytes, initialized: bytes) -> None:
        """Repeat the handshake of the host on a new stream; the answer is not forwarded.

        Raises:
            NoStreamError: The server refuses it.
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
        """Send messages; return the reason of a failure, or `None`.

        Args:
            line: The messages.
            pending: The ids of their requests.
        """
        if self.has_ended:
            return _ENDED_STREAM
        self._waiting |= {*pending}
        try:
            answer = await self.client.post(self._endpoint, content=line, headers=_TYPE)
        except TROUBLE as exc:
            reason = f"the server cannot be reached: {unreachable_reason(exc)}"
        else:
            if answer.is_success:
                return None
            reason = f"the server answered {answer.status_code}"
        # Some requests may have been answered over the stream, or failed with it.
        unanswered = pending & self._waiting
        self._waiting -= unanswered
        pending.intersection_update(unanswered)
        return reason

    def forget(self, request_id: object) -> None:
        """Stop waiting for the answer to a cancelled request."""
        self._waiting.discard(request_id)
        self._answered.set()

    async def wait_for_answers(self, seconds: float) -> None:
        """Wait until all requests are answered, with a timeout."""
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
            await self.forward(event.pieces())
            self._answered.set()

    async def _end(self) -> None:
        self.has_ended = True
        self._begun.set()
        self.warn(_ENDED_STREAM)
        waiting, self._waiting = self._waiting, set()
        for request_id in waiting:
            await self.forward([error_line(request_id, _ENDED_STREAM)])
        self._answered.set()

    def _address(self, endpoint: bytes) -> str:
        """Return the URL for messages; raise for another origin, which would get credentials."""
        try:
            address = urljoin(self.url, endpoint.decode())
            httpx.URL(address)
        except (httpx.InvalidURL, ValueError) as exc:
            raise NoStreamError("it names no address") from exc
        here, there = urlsplit(self.url), urlsplit(address)
        if (here.scheme, here.netloc) != (there.scheme, there.netloc):
            raise NoStreamError("it names an endpoint of another origin")
        return address
