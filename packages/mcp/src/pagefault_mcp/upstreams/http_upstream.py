"""A client of an MCP server over Streamable HTTP, with the interface of a pipe.

Each line of the host is sent in one POST. The response is JSON or a stream of events, and is
converted into lines. The server sends its own requests and notifications on another stream, which
is kept open. Some headers of a POST repeat members of its message; they are called *mirrored*.

If a server refuses the POST with `initialize` and opens a stream on GET, it has the older transport
HTTP+SSE. Then all messages are sent by `sse_upstream`.

Source: specification of MCP, 2026-07-28, 2025-11-25 and 2025-03-26, "Streamable HTTP", and its
"Backwards Compatibility".
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

import anyio
import anyio.abc
import httpx
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from pagefault_mcp.errors import describe_transport_error
from pagefault_mcp.messages.lines import read_text, scan_line
from pagefault_mcp.messages.rewritten_messages import encode_error_line
from pagefault_mcp.messages.sessionless_requests import (
    Path,
    build_request_headers,
    find_mirrored_parameters,
)
from pagefault_mcp.upstreams.server_sent_events import StreamPosition, read_events
from pagefault_mcp.upstreams.sse_upstream import NoStreamError, SseSession
from pagefault_mcp.upstreams.upstream_messages import (
    CANCELLED,
    EXCHANGE_ERRORS,
    PlainCookies,
    Refusal,
    SentLine,
    find_answered_requests,
    is_stream,
    parse_sent_line,
    read_cancelled_id,
    read_media_type,
    read_refusal,
)
from pagefault_mcp.upstreams.upstream_session import (
    POST_HEADERS,
    UpstreamSession,
    is_unknown_session,
)

Transport = Literal["auto", "http", "sse"]

# The status of the response to messages that get no message back; its body is ignored.
_ACCEPTED_STATUS = 202
# The time that open requests have at the end of the connection.
_LAST_SECONDS = 5.0
# The maximum number of times that a broken stream is resumed.
_MAX_RESUMED = 100
# The methods whose results the proxy itself needs, see `_read_result`.
_PARSED_METHODS = ("initialize", "tools/list")
# The statuses with which servers of HTTP+SSE refuse a POST to the URL of their stream.
_SSE_SERVER_STATUSES = (400, 404, 405)
# The statuses with which a reverse proxy reports that the server is down.
_UNAVAILABLE_STATUSES = (502, 503, 504)
# Pieces that wait for the host, each of at most 256 KiB.
_MAX_QUEUED_PIECES = 16
_UNAUTHORIZED = 401
_NO_LOGIN = "the server asks for credentials: give them, as in --header 'Authorization: Bearer …'"
_REFUSED_LOGIN = "the server refuses the credentials that it is given as Authorization"
# The timeout of notifications and responses, which a server accepts immediately.
_ACCEPT_SECONDS = 30.0
_LONE_SURROGATE_ERROR = "a message is not sent: no header can repeat half of a surrogate pair"


@dataclass(slots=True, eq=False)
class HttpUpstream:
    """A connection to a server at a URL, to which lines are written, and from which lines come."""

    client: httpx.AsyncClient
    """The HTTP client, with the credentials of the server."""
    url: str
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    transport: Transport = "auto"
    """The transport; `auto` detects it."""
    _incomplete_line: bytearray = field(init=False, default_factory=bytearray)
    """The bytes of the host after the last line end."""
    _session: UpstreamSession = field(init=False)
    _mirrored_parameters: dict[str, Mapping[Path, str]] = field(init=False, default_factory=dict)
    """For each tool, the parameters that headers repeat, and the names of these headers."""
    _open_requests: dict[object, SentLine] = field(init=False, default_factory=dict)
    """The lines whose HTTP requests are open, by the ids of their requests."""
    _to_host: MemoryObjectSendStream[bytes] = field(init=False)
    _from_server: MemoryObjectReceiveStream[bytes] = field(init=False)
    _write_lock: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    """Keeps the pieces of a line together."""
    _sse: SseSession | None = field(init=False, default=None)
    """The session of the older transport, if the server has that."""
    _reopen_lock: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    _reopen_count: int = field(init=False, default=0)
    _has_warned: bool = field(init=False, default=False)
    """True after a warning about credentials."""
    _is_listening: bool = field(init=False, default=False)
    _streams_group: anyio.abc.TaskGroup = field(init=False)
    """Runs the tasks that read the server's own messages."""
    _requests_group: anyio.abc.TaskGroup = field(init=False)
    """Runs the tasks that send requests and forward their responses."""

    def __post_init__(self) -> None:
        self._to_host, self._from_server = anyio.create_memory_object_stream[bytes](
            _MAX_QUEUED_PIECES
        )
        self._session = UpstreamSession(self.client, self.url, self.warn)
        self.client.event_hooks["response"].append(self._warn_of_credentials)
        self.client.cookies.jar.set_policy(PlainCookies())

    async def _warn_of_credentials(self, response: httpx.Response) -> None:
        """Warn once that the server requires or refuses credentials."""
        if response.status_code != _UNAUTHORIZED or self._has_warned:
            return
        self._has_warned = True
        self.warn(_REFUSED_LOGIN if "authorization" in response.request.headers else _NO_LOGIN)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Run the connection for the length of the block, then end the session with the server.

        At the end of the block, open requests have five seconds for their responses, unless the
        host has cancelled them.
        """
        try:
            async with anyio.create_task_group() as self._streams_group:
                async with anyio.create_task_group() as self._requests_group:
                    yield
                    self._requests_group.cancel_scope.deadline = (
                        anyio.current_time() + _LAST_SECONDS
                    )
                    for sent_line in [*self._open_requests.values()]:
                        if not sent_line.waiting and not sent_line.is_writing_answer:
                            sent_line.scope.cancel()
                if self._sse is not None:
                    await self._sse.wait_for_answers(_LAST_SECONDS)
                await self._to_host.aclose()
                self._streams_group.cancel_scope.cancel()
        finally:
            await self._session.end()

    async def write(self, piece: bytes) -> None:
        """Buffer the next bytes of the host; send complete lines."""
        *line_ends, incomplete = piece.split(b"\n")
        for line_end in line_ends:
            line = bytes(self._incomplete_line) + line_end + b"\n"
            self._incomplete_line.clear()
            if line.strip():
                await self._send_line(line)
        self._incomplete_line += incomplete

    async def receive_pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the lines of the server, in pieces."""
        async with self._from_server:
            async for line in self._from_server:
                yield line

    async def _send_line(self, line: bytes) -> None:
        """Send a line of the host.

        Requests are sent concurrently. Before the next line is sent, the server has to accept a
        notification, and to respond to `initialize`.
        """
        sent_line = parse_sent_line(line)
        self._session.record_handshake(sent_line)
        if self.transport == "sse" and self._sse is None:
            await self._open_sse()
        if self._sse is not None:
            await self._send_line_by_sse(sent_line)
        elif sent_line.method == "initialize":
            # Later messages need the session that begins with the response.
            await self._send(sent_line)
            if self._session.number and not self._is_listening:
                self._is_listening = True
                self._streams_group.start_soon(self._listen)
        elif sent_line.method == CANCELLED and self._cancel(sent_line.message):
            return
        elif sent_line.waiting or not sent_line.message:
            self._requests_group.start_soon(self._send, sent_line)
        else:
            await self._send_in_order(self._send, sent_line)

    async def _send_line_by_sse(self, sent_line: SentLine) -> None:
        """Send a line of the host over HTTP+SSE; requests are sent concurrently."""
        if sent_line.method == CANCELLED and self._sse is not None:
            self._sse.forget(read_cancelled_id(sent_line.message))
        if sent_line.waiting and sent_line.method != "initialize":
            self._requests_group.start_soon(self._send_by_sse, sent_line)
        else:
            await self._send_in_order(self._send_by_sse, sent_line)

    async def _send_in_order(
        self, send: Callable[[SentLine], Awaitable[None]], sent_line: SentLine
    ) -> None:
        """Send a line, and wait with a timeout until the server has accepted it."""
        with anyio.move_on_after(_ACCEPT_SECONDS) as timeout:
            await send(sent_line)
        if timeout.cancelled_caught:
            self.warn("the server did not take a message")
            await self._fail_requests(sent_line, "the server did not take it")

    def _cancel(self, message: Mapping[str, Any]) -> bool:
        """Stop waiting for the response to a request.

        Returns:
            True if the request is cancelled by closing its response. Then the notification of the
            host is not sent.
        """
        request_id = read_cancelled_id(message)
        sent_line = self._open_requests.get(request_id)
        if sent_line is None:
            return False
        sent_line.waiting.discard(request_id)
        sent_line.is_cancelled = sent_line.is_cancelled_by_closing
        if sent_line.is_cancelled and not sent_line.is_writing_answer:
            sent_line.scope.cancel()
        return sent_line.is_cancelled_by_closing

    async def _send(self, sent_line: SentLine) -> None:
        """Send a line and forward the response; forward an error if the server is unreachable."""
        try:
            mirrored_headers = build_request_headers(sent_line.message, self._mirrored_parameters)
        except UnicodeEncodeError:
            await self._report_failure(sent_line, _LONE_SURROGATE_ERROR)
            return
        sent_line.is_cancelled_by_closing = bool(mirrored_headers)
        ids = [*sent_line.waiting]
        self._open_requests |= dict.fromkeys(ids, sent_line)
        with sent_line.scope:
            try:
                await self._send_with_renewal(sent_line, mirrored_headers)
            except EXCHANGE_ERRORS as exc:
                await self._report_failure(
                    sent_line, f"the server cannot be reached: {describe_transport_error(exc)}"
                )
            finally:
                for request_id in ids:
                    self._open_requests.pop(request_id, None)

    async def _send_with_renewal(
        self, sent_line: SentLine, mirrored_headers: Mapping[str, str]
    ) -> None:
        """Send a line and forward the response.

        If the server does not know the session, renew it and send the line again.
        """
        state, has_id = self._session.renewal_state, self._session.has_id
        refusal = await self._post(sent_line, mirrored_headers)
        if (
            refusal is not None
            and has_id
            and sent_line.waiting
            and is_unknown_session(refusal)
            and await self._session.renew(state)
        ):
            refusal = await self._post(sent_line, mirrored_headers)
        if refusal is None:
            # Requests that still wait have no response in what was forwarded.
            await self._fail_requests(sent_line, "the server's answer ended too early")
        elif refusal.request_id in sent_line.waiting:
            sent_line.waiting.discard(refusal.request_id)
            await self._forward([refusal.line])
            await self._fail_requests(sent_line, refusal.message)
        else:
            if not sent_line.waiting:
                self.warn(f"{refusal.message}, to a message")
            await self._fail_requests(sent_line, refusal.message)

    async def _post(
        self, sent_line: SentLine, mirrored_headers: Mapping[str, str]
    ) -> Refusal | None:
        """Send a line and forward the response; if the server refuses the line, return why."""
        headers = {**POST_HEADERS, **self._session.headers, **mirrored_headers}
        async with self.client.stream(
            "POST", self.url, content=sent_line.line, headers=headers
        ) as response:
            may_have_sse = (
                response.status_code in _SSE_SERVER_STATUSES and sent_line.method == "initialize"
            )
            if may_have_sse and self.transport == "auto" and await self._open_sse():
                await self._send_by_sse(sent_line)
            elif not response.is_success:
                return await read_refusal(response)
            else:
                await self._forward_response(response, sent_line)
        return None

    async def _forward_response(self, response: httpx.Response, sent_line: SentLine) -> None:
        """Forward the messages of a successful response."""
        if sent_line.method == "initialize":
            self._session.begin(response)
        if is_stream(response):
            await self._forward_stream(response, sent_line)
        elif read_media_type(response) == "application/json":
            await self._forward_text(response, sent_line)
        elif response.status_code != _ACCEPTED_STATUS:
            await self._fail_requests(
                sent_line, f"the server answered with {read_media_type(response) or 'nothing'}"
            )

    async def _forward_text(self, response: httpx.Response, sent_line: SentLine) -> None:
        """Forward a response that is JSON, after it has arrived completely and is valid."""
        try:
            line = await read_text(response.aiter_bytes())
        except UnicodeDecodeError:
            await self._fail_requests(sent_line, "the server's answer is not UTF-8")
            return
        with line:
            is_message, answered = await scan_line(line, find_answered_requests)
            is_expected = bool(sent_line.waiting & answered) if sent_line.waiting else is_message
            if not is_expected:
                await self._fail_requests(sent_line, "what the server answered with is no answer")
                return
            sent_line.waiting -= answered
            await self._forward(chain(line.pieces(), [b"\n"]), sent_line)

    async def _forward_stream(self, response: httpx.Response, sent_line: SentLine) -> None:
        """Forward the events of a stream; resume a broken stream that has event ids."""
        session, position = self._session.headers, StreamPosition()
        await self._forward_events(response, position, sent_line)
        for _ in range(_MAX_RESUMED):
            if not sent_line.waiting or not position.event_id:
                return
            await anyio.sleep(position.wait_seconds)
            async with self.client.stream(
                "GET", self.url, headers=position.build_headers(session)
            ) as resumed:
                if not is_stream(resumed):
                    return
                await self._forward_events(resumed, position, sent_line)

    async def _forward_events(
        self, response: httpx.Response, position: StreamPosition, sent_line: SentLine | None = None
    ) -> None:
        """Forward the messages of a stream until it ends, and advance its position.

        Args:
            response: The response with the stream.
            position: The position, which is advanced.
            sent_line: The line whose response is the stream; `None` for the stream of `_listen`.

        Raises:
            httpx.HTTPError: The stream broke, and has no event from which it can be resumed.
        """
        try:
            async with aclosing(read_events(response.aiter_bytes())) as events:
                async for event in events:
                    position.advance(event)
                    if not event.is_message(self.warn):
                        continue
                    if sent_line is not None:
                        sent_line.waiting -= event.find_answered_ids()
                    await self._forward(event.pieces(), sent_line)
                    if sent_line is not None and sent_line.is_cancelled:
                        sent_line.scope.cancel()
        except httpx.HTTPError:
            if not position.event_id:
                raise

    async def _forward(self, pieces: Iterable[bytes], sent_line: SentLine | None = None) -> None:
        """Write a line to the host.

        Args:
            pieces: The line, in pieces.
            sent_line: The line of the host whose response this is; `None` for other messages.
        """
        if sent_line is not None and sent_line.method in _PARSED_METHODS:
            text = b"".join(pieces)
            self._read_result(text, sent_line.method)
            pieces = [text]
        if sent_line is not None:
            sent_line.is_writing_answer = True
        async with self._write_lock:
            for piece in pieces:
                await self._to_host.send(piece)
        if sent_line is not None:
            sent_line.is_writing_answer = False

    def _read_result(self, text: bytes, method: object) -> None:
        """Read the negotiated revision, or which parameters of the tools headers have to repeat.

        A result of another form is ignored.
        """
        with suppress(ValueError, AttributeError, TypeError, KeyError, RecursionError):
            result = json.loads(text)["result"] if b'"result"' in text else {}
            if method == "initialize":
                self._session.set_revision(result.get("protocolVersion"))
            for tool in result.get("tools", ()):
                self._mirrored_parameters[tool["name"]] = find_mirrored_parameters(
                    tool.get("inputSchema") or {}
                )

    async def _report_failure(self, sent_line: SentLine, reason: str) -> None:
        """Log a failure, and send an error to the host for each request of a line."""
        self.warn(reason)
        await self._fail_requests(sent_line, reason)

    async def _fail_requests(self, sent_line: SentLine, reason: str) -> None:
        """Send an error to the host for each request of a line that has no response."""
        for request_id in list(sent_line.waiting):
            await self._forward([encode_error_line(request_id, reason)])
        sent_line.waiting.clear()

    async def _listen(self) -> None:
        """Forward the server's own requests and notifications, until cancelled.

        The server sends them on a stream, if it has any. A broken stream is opened again.
        """
        number, position = self._session.number, StreamPosition()
        while True:
            if number != self._session.number:
                number, position = self._session.number, StreamPosition()
            headers = position.build_headers(self._session.headers)
            # Errors are ignored. If the server is down, the next request of the host reports it.
            may_reopen = True
            with suppress(*EXCHANGE_ERRORS):
                async with self.client.stream(
                    "GET", self.url, headers=headers, timeout=None
                ) as response:
                    may_reopen = (
                        is_stream(response) or response.status_code in _UNAVAILABLE_STATUSES
                    )
                    if is_stream(response):
                        await self._forward_events(response, position)
            if not may_reopen and not position.event_id:
                # The server has no such stream in this session.
                await self._session.wait_for_renewal(number)
                continue
            if not may_reopen:
                # The server may have forgotten the last event, but still open a new stream.
                position.event_id = ""
            await anyio.sleep(position.wait_seconds)

    async def _open_sse(self, *, is_reopened: bool = False) -> bool:
        """Begin a session over HTTP+SSE; return False if the server does not have this transport.

        Args:
            is_reopened: The handshake of the host is repeated, since an earlier session has ended.
        """
        session = SseSession(self.client, self.url, self._forward, self.warn)
        try:
            await self._streams_group.start(session.run)
            if is_reopened:
                await session.restart(self._session.initialize, self._session.initialized)
        except EXCHANGE_ERRORS as exc:
            if self.transport == "sse" or is_reopened:
                reason = exc if isinstance(exc, NoStreamError) else describe_transport_error(exc)
                self.warn(f"the server opens no stream: {reason}")
            return False
        self._sse = session
        return True

    async def _send_by_sse(self, sent_line: SentLine) -> None:
        """Send a line over HTTP+SSE; begin a new session first if the stream has ended."""
        assert self._sse is not None  # noqa: S101 - the callers check it
        if self._sse.has_ended and sent_line.waiting:
            count = self._reopen_count
            async with self._reopen_lock:
                # All requests that found the stream ended wait here; only the first one reopens it.
                if self._reopen_count == count and self._sse.has_ended:
                    self._reopen_count += 1
                    await self._open_sse(is_reopened=sent_line.method != "initialize")
        reason = await self._sse.send(sent_line.line, sent_line.waiting)
        if reason is not None:
            await self._report_failure(sent_line, reason)
        # The session forwards the responses, which arrive on its stream.
        sent_line.waiting.clear()
