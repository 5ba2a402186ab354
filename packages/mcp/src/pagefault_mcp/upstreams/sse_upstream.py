"""A client of an MCP server over HTTP+SSE, the transport of MCP before Streamable HTTP.

The server sends all messages as events of one stream. The first event names the URL to which the
client posts its messages. `http_upstream` uses this client for servers of the revision 2024-11-05.

Source: specification of MCP, 2024-11-05, "HTTP with SSE".
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.abc
import httpx

from pagefault_mcp.errors import describe_transport_error
from pagefault_mcp.messages.rewritten_messages import encode_error_line
from pagefault_mcp.upstreams.server_sent_events import ServerEvent, read_events
from pagefault_mcp.upstreams.upstream_messages import EXCHANGE_ERRORS, is_stream, parse_sent_line

_OPEN_SECONDS = 10.0
_ENDED_STREAM = "the server has ended its stream"
_HEADERS = {"content-type": "application/json"}


class NoStreamError(ValueError):
    """A server does not open a stream of this transport; the message has the reason."""


@dataclass(slots=True, eq=False)
class SseSession:
    """A session with a server: its stream, and the ids of requests without a response."""

    client: httpx.AsyncClient
    url: str
    """The URL of the stream."""
    forward: Callable[[Iterable[bytes]], Awaitable[None]]
    """Is called with each message of the server, in pieces."""
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    has_ended: bool = False
    """True if the stream has ended, so that no more messages can be sent."""
    _endpoint: str = ""
    """The URL for messages; empty until the server has sent it."""
    _unanswered: set[object] = field(default_factory=set)
    """The ids of requests without a response."""
    _unanswered_changed: anyio.Event = field(default_factory=anyio.Event)
    """Set when `_unanswered` has become smaller, or the stream has ended."""
    _stream_scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """The cancel scope of the stream; it has a deadline until the server has sent the endpoint."""
    _handshake_ids: set[object] = field(default_factory=set)
    """The ids of requests of a repeated handshake, whose responses are not forwarded."""
    _handshake_ended: anyio.Event = field(default_factory=anyio.Event)
    """Set when a repeated handshake has its response, or the stream has ended."""

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Open the stream, and forward its messages until it ends.

        Args:
            task_status: Is called once the server has sent the URL for messages.

        Raises:
            NoStreamError: The server does not open a stream of this transport.
            httpx.HTTPError: The server cannot be reached.
        """
        self._stream_scope.deadline = anyio.current_time() + _OPEN_SECONDS
        with self._stream_scope:
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
                                self._stream_scope.deadline = float("inf")
                                task_status.started()
                except EXCHANGE_ERRORS:
                    if not self._endpoint:
                        raise
        if not self._endpoint:
            raise NoStreamError("its stream names no endpoint")
        await self._end()

    async def restart(self, initialize: bytes, initialized: bytes) -> None:
        """Repeat the handshake of the host on a new stream, without forwarding the response.

        If that fails, the stream is closed.

        Args:
            initialize: The line of the host's `initialize` request.
            initialized: The line of the host's `initialized` notification; may be empty.

        Raises:
            NoStreamError: The server refuses the handshake.
            httpx.HTTPError: The server cannot be reached.
        """
        self._handshake_ids = parse_sent_line(initialize).waiting
        is_complete = False
        try:
            with anyio.move_on_after(_OPEN_SECONDS):
                for line in filter(None, (initialize, initialized)):
                    response = await self.client.post(
                        self._endpoint, content=line, headers=_HEADERS
                    )
                    if not response.is_success:
                        raise NoStreamError(f"it answered {response.status_code}")
                    await self._handshake_ended.wait()
                is_complete = not self.has_ended
            if not is_complete:
                raise NoStreamError("it does not begin")
        finally:
            if not is_complete:
                self._stream_scope.cancel()

    async def send(self, line: bytes, request_ids: set[object]) -> str | None:
        """Send the messages of a line; return the reason of a failure, else `None`.

        Args:
            line: The line.
            request_ids: The ids of the requests on the line. If sending fails, the ids of requests
                that have got a response are removed from this set.
        """
        if self.has_ended:
            return _ENDED_STREAM
        self._unanswered |= {*request_ids}
        try:
            response = await self.client.post(self._endpoint, content=line, headers=_HEADERS)
        except EXCHANGE_ERRORS as exc:
            reason = f"the server cannot be reached: {describe_transport_error(exc)}"
        else:
            if response.is_success:
                return None
            reason = f"the server answered {response.status_code}"
        # Some requests may have got a response on the stream meanwhile, or an error at its end.
        unanswered = request_ids & self._unanswered
        self._unanswered -= unanswered
        request_ids.intersection_update(unanswered)
        return reason

    def forget(self, request_id: object) -> None:
        """Stop waiting for the response to a cancelled request."""
        self._unanswered.discard(request_id)
        self._unanswered_changed.set()

    async def wait_for_answers(self, seconds: float) -> None:
        """Wait until all requests have a response, with a timeout."""
        with anyio.move_on_after(seconds):
            while self._unanswered and not self.has_ended:
                self._unanswered_changed = anyio.Event()
                await self._unanswered_changed.wait()

    async def _process(self, event: ServerEvent) -> None:
        """Forward the messages of an event, except the response to a repeated handshake."""
        if event.name == "message" and event.is_message(self.warn):
            answered = event.find_answered_ids()
            if answered & self._handshake_ids:
                self._handshake_ids = set()
                self._handshake_ended.set()
                return
            self._unanswered -= answered
            await self.forward(event.pieces())
            self._unanswered_changed.set()

    async def _end(self) -> None:
        """Forward an error for each request without a response, since the stream has ended."""
        self.has_ended = True
        self._handshake_ended.set()
        self.warn(_ENDED_STREAM)
        unanswered, self._unanswered = self._unanswered, set()
        for request_id in unanswered:
            await self.forward([encode_error_line(request_id, _ENDED_STREAM)])
        self._unanswered_changed.set()

    def _read_endpoint(self, endpoint: bytes) -> str:
        """Return the absolute URL for messages.

        Raises:
            NoStreamError: The URL is invalid, or has another origin than the stream. That origin
                would get the credentials of the server.
        """
        try:
            endpoint_url = urljoin(self.url, endpoint.decode())
            httpx.URL(endpoint_url)
        except (httpx.InvalidURL, ValueError) as exc:
            raise NoStreamError("it names no address") from exc
        # The first two parts of a URL, scheme and host with port, are its origin.
        if urlsplit(self.url)[:2] != urlsplit(endpoint_url)[:2]:
            raise NoStreamError("it names an endpoint of another origin")
        return endpoint_url
