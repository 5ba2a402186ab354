"""A client of an MCP server over Streamable HTTP, which takes and returns lines like a pipe.

Each line of the host is sent in one POST. The response is JSON or a stream of events, and is
converted into lines. Other messages of the server arrive on another stream, which is kept open.
Some headers repeat members of the message that is sent. A server of the transport HTTP+SSE of 2024
is recognised by its response to `initialize`.

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

from pagefault_mcp.errors import unreachable_reason
from pagefault_mcp.messages.lines import read_text, scan_text
from pagefault_mcp.messages.rewritten_messages import error_line
from pagefault_mcp.messages.sessionless_requests import (
    Path,
    build_request_headers,
    find_mirrored_parameters,
)
from pagefault_mcp.upstreams.server_sent_events import Position, read_events
from pagefault_mcp.upstreams.sse_upstream import NoStreamError, SseSession
from pagefault_mcp.upstreams.upstream_messages import (
    CANCELLED,
    EXCHANGE_ERRORS,
    PlainCookies,
    Refusal,
    SentLine,
    cancelled_id,
    find_answered,
    is_stream,
    media_type_of,
    parse_sent_line,
    read_refusal,
)
from pagefault_mcp.upstreams.upstream_session import ACCEPTED, UpstreamSession, is_unknown_session

Transport = Literal["auto", "http", "sse"]

# The status of the server for messages that have no response; its body is ignored.
_ACCEPTED_STATUS = 202
_LAST_SECONDS = 5.0
_MAX_RESUMED = 100
_PARSED_METHODS = ("initialize", "tools/list")
# The statuses with which servers of 2024 refuse a POST to the URL of their stream.
_OLDER_STATUSES = (400, 404, 405)
# The statuses with which a reverse proxy reports that the server is down.
_UNAVAILABLE_STATUSES = (502, 503, 504)
# Pieces that wait for the host, each of at most 256 KiB.
_MAX_QUEUED_PIECES = 16
_UNAUTHORIZED = 401
_NO_LOGIN = "the server asks for credentials: give them, as in --header 'Authorization: Bearer …'"
_REFUSED_LOGIN = "the server refuses the credentials that it is given as Authorization"
# The limit for messages without a response, which a server accepts at once.
_ACCEPT_SECONDS = 30.0
_LONE_SURROGATE = "a message is not sent: no header can repeat half of a surrogate pair"


@dataclass(slots=True, eq=False)
class HttpUpstream:
    """A connection to a server at a URL; lines are written to it and received from it."""

    client: httpx.AsyncClient
    """The HTTP client, with the credentials of the server."""
    url: str
    """The URL of the server."""
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    transport: Transport = "auto"
    """The transport; `auto` detects it."""
    _line: bytearray = field(init=False, default_factory=bytearray)
    _session: UpstreamSession = field(init=False)
    _mirrored: dict[str, Mapping[Path, str]] = field(init=False, default_factory=dict)
    _open_requests: dict[object, SentLine] = field(init=False, default_factory=dict)
    _host_sender: MemoryObjectSendStream[bytes] = field(init=False)
    _from_server: MemoryObjectReceiveStream[bytes] = field(init=False)
    _sending: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    _sse: SseSession | None = field(init=False, default=None)
    _reopening: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    _reopened: int = field(init=False, default=0)
    _has_warned: bool = field(init=False, default=False)
    _is_listening: bool = field(init=False, default=False)
    _listening: anyio.abc.TaskGroup = field(init=False)
    _sends: anyio.abc.TaskGroup = field(init=False)

    def __post_init__(self) -> None:
        self._host_sender, self._from_server = anyio.create_memory_object_stream[bytes](
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
    async def running(self) -> AsyncIterator[None]:
        """Send and receive messages in the block, and end the session with the server afterwards.

        At the end of the block, open requests that are not cancelled have five seconds for their
        responses.
        """
        try:
            async with anyio.create_task_group() as listening:
                self._listening = listening
                async with anyio.create_task_group() as self._sends:
                    yield
                    self._sends.cancel_scope.deadline = anyio.current_time() + _LAST_SECONDS
                    for item in [*self._open_requests.values()]:
                        if not item.waiting and not item.is_writing_answer:
                            item.scope.cancel()
                if self._sse is not None:
                    await self._sse.wait_for_answers(_LAST_SECONDS)
                await self._host_sender.aclose()
                listening.cancel_scope.cancel()
        finally:
            await self._session.end()

    async def write(self, piece: bytes) -> None:
        """Buffer the next bytes of the host; send complete lines."""
        *ends, incomplete = piece.split(b"\n")
        for end in ends:
            line = bytes(self._line) + end + b"\n"
            self._line.clear()
            if line.strip():
                await self._send_line(line)
        self._line += incomplete

    async def receive_pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the lines of the server, in pieces."""
        async with self._from_server:
            async for line in self._from_server:
                yield line

    async def _send_line(self, line: bytes) -> None:
        pending = parse_sent_line(line)
        self._session.record_handshake(pending)
        if self.transport == "sse" and self._sse is None:
            await self._open_sse()
        if self._sse is not None:
            await self._send_line_by_sse(pending)
        elif pending.method == "initialize":
            # This message begins the session that later messages need.
            await self._send(pending)
            if self._session.number and not self._is_listening:
                self._is_listening = True
                self._listening.start_soon(self._listen)
        elif pending.method == CANCELLED and self._cancel(pending.message):
            return
        elif pending.waiting or not pending.message:
            self._sends.start_soon(self._send, pending)
        else:
            await self._send_in_order(self._send, pending)

    async def _send_line_by_sse(self, pending: SentLine) -> None:
        if pending.method == CANCELLED and self._sse is not None:
            self._sse.forget(cancelled_id(pending.message))
        if pending.waiting and pending.method != "initialize":
            self._sends.start_soon(self._send_by_sse, pending)
        else:
            await self._send_in_order(self._send_by_sse, pending)

    async def _send_in_order(
        self, send: Callable[[SentLine], Awaitable[None]], pending: SentLine
    ) -> None:
        """Send a message, and wait with a timeout until the server has accepted it."""
        with anyio.move_on_after(_ACCEPT_SECONDS) as timeout:
            await send(pending)
        if timeout.cancelled_caught:
            self.warn("the server did not take a message")
            await self._fail(pending, "the server did not take it")

    def _cancel(self, message: Mapping[str, Any]) -> bool:
        """Stop waiting for the response to a request.

        Returns:
            Whether closing the response cancels the request, so that no notification is sent.
        """
        request_id = cancelled_id(message)
        pending = self._open_requests.get(request_id)
        if pending is None:
            return False
        pending.waiting.discard(request_id)
        pending.is_cancelled = pending.is_cancelled_by_closing
        if pending.is_cancelled and not pending.is_writing_answer:
            pending.scope.cancel()
        return pending.is_cancelled_by_closing

    async def _send(self, pending: SentLine) -> None:
        try:
            mirrored = build_request_headers(pending.message, self._mirrored)
        except UnicodeEncodeError:
            await self._report_failure(pending, _LONE_SURROGATE)
            return
        pending.is_cancelled_by_closing = bool(mirrored)
        ids = [*pending.waiting]
        self._open_requests |= dict.fromkeys(ids, pending)
        with pending.scope:
            try:
                await self._exchange(pending, mirrored)
            except EXCHANGE_ERRORS as exc:
                await self._report_failure(
                    pending, f"the server cannot be reached: {unreachable_reason(exc)}"
                )
            finally:
                for request_id in ids:
                    self._open_requests.pop(request_id, None)

    async def _exchange(self, pending: SentLine, mirrored: Mapping[str, str]) -> None:
        """Send a line and forward the response.

        If the server does not know the session, renew it and send the line again.
        """
        attempt, has_id = self._session.attempt, self._session.has_id
        refusal = await self._post(pending, mirrored)
        if (
            refusal is not None
            and has_id
            and pending.waiting
            and is_unknown_session(refusal)
            and await self._session.renew(attempt)
        ):
            refusal = await self._post(pending, mirrored)
        if refusal is None:
            await self._fail(pending, "the server's answer ended too early")
        elif refusal.request_id in pending.waiting:
            pending.waiting.discard(refusal.request_id)
            await self._forward([refusal.line])
            await self._fail(pending, refusal.message)
        else:
            if not pending.waiting:
                self.warn(f"{refusal.message}, to a message")
            await self._fail(pending, refusal.message)

    async def _post(self, pending: SentLine, mirrored: Mapping[str, str]) -> Refusal | None:
        """Send a line and forward the response; return the refusal if the server refuses it."""
        headers = {**ACCEPTED, **self._session.headers, **mirrored}
        async with self.client.stream(
            "POST", self.url, content=pending.line, headers=headers
        ) as response:
            is_older = response.status_code in _OLDER_STATUSES and pending.method == "initialize"
            if is_older and self.transport == "auto" and await self._open_sse():
                await self._send_by_sse(pending)
            elif not response.is_success:
                return await read_refusal(response)
            else:
                await self._forward_response(response, pending)
        return None

    async def _forward_response(self, response: httpx.Response, pending: SentLine) -> None:
        """Forward the messages of a successful response."""
        if pending.method == "initialize":
            self._session.begin(response)
        if is_stream(response):
            await self._forward_stream(response, pending)
        elif media_type_of(response) == "application/json":
            await self._forward_text(response, pending)
        elif response.status_code != _ACCEPTED_STATUS:
            await self._fail(
                pending, f"the server answered with {media_type_of(response) or 'nothing'}"
            )

    async def _forward_text(self, response: httpx.Response, pending: SentLine) -> None:
        """Forward a response that is JSON once it is complete and valid."""
        try:
            line = await read_text(response.aiter_bytes())
        except UnicodeDecodeError:
            await self._fail(pending, "the server's answer is not UTF-8")
            return
        with line:
            is_message, answered = await scan_text(line, find_answered)
            if pending.waiting.isdisjoint(answered) if pending.waiting else not is_message:
                await self._fail(pending, "what the server answered with is no answer")
                return
            pending.waiting -= answered
            await self._forward(chain(line.pieces(), [b"\n"]), pending)

    async def _forward_stream(self, response: httpx.Response, pending: SentLine) -> None:
        """Forward the events of a stream; resume a broken stream that has event ids."""
        session, position = self._session.headers, Position()
        await self._forward_events(response, position, pending)
        for _ in range(_MAX_RESUMED):
            if not pending.waiting or not position.event_id:
                return
            await anyio.sleep(position.wait_seconds)
            async with self.client.stream(
                "GET", self.url, headers=position.headers(session)
            ) as resumed:
                if not is_stream(resumed):
                    return
                await self._forward_events(resumed, position, pending)

    async def _forward_events(
        self, response: httpx.Response, position: Position, pending: SentLine | None = None
    ) -> None:
        try:
            async with aclosing(read_events(response.aiter_bytes())) as events:
                async for event in events:
                    position.advance(event)
                    if not event.is_message(self.warn):
                        continue
                    if pending is not None:
                        pending.waiting -= event.find_answered_ids()
                    await self._forward(event.pieces(), pending)
                    if pending is not None and pending.is_cancelled:
                        pending.scope.cancel()
        except httpx.HTTPError:
            if not position.event_id:
                raise

    async def _forward(self, pieces: Iterable[bytes], pending: SentLine | None = None) -> None:
        if pending is not None and pending.method in _PARSED_METHODS:
            text = b"".join(pieces)
            self._read_result(text, pending.method)
            pieces = [text]
        if pending is not None:
            pending.is_writing_answer = True
        async with self._sending:
            for piece in pieces:
                await self._host_sender.send(piece)
        if pending is not None:
            pending.is_writing_answer = False

    def _read_result(self, text: bytes, method: object) -> None:
        """Record the negotiated revision, or the parameters of tools that headers repeat."""
        with suppress(ValueError, AttributeError, TypeError, KeyError, RecursionError):
            result = json.loads(text)["result"] if b'"result"' in text else {}
            if method == "initialize":
                self._session.set_revision(result.get("protocolVersion"))
            for tool in result.get("tools", ()):
                self._mirrored[tool["name"]] = find_mirrored_parameters(
                    tool.get("inputSchema") or {}
                )

    async def _report_failure(self, pending: SentLine, reason: str) -> None:
        """Log a failure, and answer the requests of a line with an error."""
        self.warn(reason)
        await self._fail(pending, reason)

    async def _fail(self, pending: SentLine, reason: str) -> None:
        """Answer each unanswered request of a line with an error."""
        for request_id in list(pending.waiting):
            await self._forward([error_line(request_id, reason)])
        pending.waiting.clear()

    async def _listen(self) -> None:
        """Forward messages of the server's stream for other messages, if the server has one."""
        number, position = self._session.number, Position()
        while True:
            if number != self._session.number:
                number, position = self._session.number, Position()
            headers = position.headers(self._session.headers)
            # An error is ignored, since the next request will report that the server is down.
            is_open = True
            with suppress(*EXCHANGE_ERRORS):
                async with self.client.stream(
                    "GET", self.url, headers=headers, timeout=None
                ) as response:
                    is_open = is_stream(response) or response.status_code in _UNAVAILABLE_STATUSES
                    if is_stream(response):
                        await self._forward_events(response, position)
            if not is_open and not position.event_id:
                await self._session.wait_for_renewal(number)
                continue
            if not is_open:
                # The server may have dropped the event, but still have messages.
                position.event_id = ""
            await anyio.sleep(position.wait_seconds)

    async def _open_sse(self, *, is_reopened: bool = False) -> bool:
        """Open the stream of a server of 2024; return False if the server has none."""
        session = SseSession(self.client, self.url, self._forward, self.warn)
        try:
            await self._listening.start(session.run)
            if is_reopened:
                await session.restart(self._session.initialize, self._session.initialized)
        except EXCHANGE_ERRORS as exc:
            if self.transport == "sse" or is_reopened:
                reason = exc if isinstance(exc, NoStreamError) else unreachable_reason(exc)
                self.warn(f"the server opens no stream: {reason}")
            return False
        self._sse = session
        return True

    async def _send_by_sse(self, pending: SentLine) -> None:
        assert self._sse is not None  # noqa: S101 - the callers check it
        if self._sse.has_ended and pending.waiting:
            count = self._reopened
            async with self._reopening:
                # All requests that found the stream ended wait here; only the first one reopens it.
                if self._reopened == count and self._sse.has_ended:
                    self._reopened += 1
                    await self._open_sse(is_reopened=pending.method != "initialize")
        reason = await self._sse.send(pending.line, pending.waiting)
        if reason is not None:
            await self._report_failure(pending, reason)
        # The responses arrive on the stream.
        pending.waiting.clear()
