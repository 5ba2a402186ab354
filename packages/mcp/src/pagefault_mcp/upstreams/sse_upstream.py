"""The transport HTTP+SSE of 2024: the server sends events on a stream, and takes messages at a URL.

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
from pagefault_mcp.upstreams.upstream_messages import EXCHANGE_ERRORS, is_stream, parse_sent_line

_OPEN_SECONDS = 10.0
_ENDED_STREAM = "the server has ended its stream"
_TYPE = {"content-type": "application/json"}


class NoStreamError(ValueError):
    """A server does not open a stream of 2024; the message has the reason."""


@dataclass(slots=True, eq=False)
class SseSession:
    """A session with a server: its stream, and the requests that are not answered yet."""

    client: httpx.AsyncClient
    """The HTTP client."""
    url: str
    """The URL of the stream."""
    forward: Callable[[Iterable[bytes]], Awaitable[None]]
    """Is called with each message of the server, in pieces."""
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    # The URL for messages; empty until the server has sent it.
    _endpoint: str = ""
    has_ended: bool = False
    """True if the stream has ended, so that no requests can be sent."""
    _unanswered: set[object] = field(default_factory=set)
    _answered: anyio.Event = field(default_factory=anyio.Event)
    _opening: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    # The ids of requests of a repeated handshake, whose responses are not forwarded.
    _handshake_ids: set[object] = field(default_factory=set)
    _is_restarted: anyio.Event = field(default_factory=anyio.Event)

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
            ) as response:
                if not is_stream(response):
                    raise NoStreamError(f"it answered {response.status_code} to a GET")
                try:
                    async with aclosing(read_events(response.aiter_bytes())) as events:
                        async for event in events:
                            if self._endpoint:
                                await self._process(event)
                            elif event.data and event.name == "endpoint":
                                self._endpoint = self._read_endpoint(event.text())
                                self._opening.deadline = float("inf")
                                task_status.started()
                except EXCHANGE_ERRORS:
                    if not self._endpoint:
                        raise
        if not self._endpoint:
            raise NoStreamError("its stream names no endpoint")
        await self._end()

    async def restart(self, initialize: bytes, initialized: bytes) -> None:
        """Repeat the handshake of the host on a new stream, without forwarding the response.

        Raises:
            NoStreamError: The server refuses the handshake.
            httpx.HTTPError: The server cannot be reached.
        """
        self._handshake_ids = parse_sent_line(initialize).waiting
        is_complete = False
        try:
            with anyio.move_on_after(_OPEN_SECONDS):
                for line in filter(None, (initialize, initialized)):
                    response = await self.client.post(self._endpoint, content=line, headers=_TYPE)
                    if not response.is_success:
                        raise NoStreamError(f"it answered {response.status_code}")
                    await self._is_restarted.wait()
                is_complete = not self.has_ended
            if not is_complete:
                raise NoStreamError("it does not begin")
        finally:
            if not is_complete:
                self._opening.cancel()

    async def send(self, line: bytes, pending: set[object]) -> str | None:
        """Send the messages of a line; return the reason of a failure, else `None`.

        Args:
            line: The line.
            pending: The ids of the requests on the line. After a failure, it has only those that
                are still unanswered.
        """
        if self.has_ended:
            return _ENDED_STREAM
        self._unanswered |= {*pending}
        try:
            response = await self.client.post(self._endpoint, content=line, headers=_TYPE)
        except EXCHANGE_ERRORS as exc:
            reason = f"the server cannot be reached: {unreachable_reason(exc)}"
        else:
            if response.is_success:
                return None
            reason = f"the server answered {response.status_code}"
        # Some requests may have been answered on the stream meanwhile, or failed at its end.
        unanswered = pending & self._unanswered
        self._unanswered -= unanswered
        pending.intersection_update(unanswered)
        return reason

    def forget(self, request_id: object) -> None:
        """Stop waiting for the response to a cancelled request."""
        self._unanswered.discard(request_id)
        self._answered.set()

    async def wait_for_answers(self, seconds: float) -> None:
        """Wait until all requests are answered, with a timeout."""
        with anyio.move_on_after(seconds):
            while self._unanswered and not self.has_ended:
                self._answered = anyio.Event()
                await self._answered.wait()

    async def _process(self, event: ServerEvent) -> None:
        if event.name == "message" and event.is_message(self.warn):
            answered = event.find_answered_ids()
            if answered & self._handshake_ids:
                self._handshake_ids = set()
                self._is_restarted.set()
                return
            self._unanswered -= answered
            await self.forward(event.pieces())
            self._answered.set()

    async def _end(self) -> None:
        self.has_ended = True
        self._is_restarted.set()
        self.warn(_ENDED_STREAM)
        waiting, self._unanswered = self._unanswered, set()
        for request_id in waiting:
            await self.forward([error_line(request_id, _ENDED_STREAM)])
        self._answered.set()

    def _read_endpoint(self, endpoint: bytes) -> str:
        """Return the URL for messages.

        Raises:
            NoStreamError: It is invalid, or of another origin, which would get the credentials.
        """
        try:
            address = urljoin(self.url, endpoint.decode())
            httpx.URL(address)
        except (httpx.InvalidURL, ValueError) as exc:
            raise NoStreamError("it names no address") from exc
        own_url, endpoint_url = urlsplit(self.url), urlsplit(address)
        if (own_url.scheme, own_url.netloc) != (endpoint_url.scheme, endpoint_url.netloc):
            raise NoStreamError("it names an endpoint of another origin")
        return address
