"""A client of an MCP server over Streamable HTTP, with the interface of a pipe.

Each message is one request. Answers are JSON or streams of events, and are converted to lines.
Other messages of the server come over a stream that is kept open. Headers that repeat members of a
message are derived from the message as it is sent. A server of HTTP+SSE of 2024 is detected by its
answer to `initialize`.

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
from pagefault_mcp.messages.sessionless_requests import Path, mirrored_parameters, request_headers
from pagefault_mcp.upstreams.server_sent_events import Position, read_events
from pagefault_mcp.upstreams.sse_upstream import NoStreamError, SseSession
from pagefault_mcp.upstreams.upstream_messages import (
    CANCELLED,
    TROUBLE,
    PlainCookies,
    Refusal,
    SentLine,
    answers,
    cancelled_id,
    is_stream,
    kind_of,
    parse_sent_line,
    refusal_in,
)
from pagefault_mcp.upstreams.upstream_session import ACCEPTED, UpstreamSession, is_unknown_session

Transport = Literal["auto", "http", "sse"]

# The status for a message without an answer; the body is ignored.
_ACCEPTED_STATUS = 202
_LAST_SECONDS = 5.0
_MAX_RESUMED = 100
_PARSED_METHODS = ("initialize", "tools/list")
# A server of 2024 refuses a POST at the URL of its stream.
_OLDER_STATUSES = (400, 404, 405)
# A reverse proxy reports that the server is down.
_AWAY_STATUSES = (502, 503, 504)
# The number of pieces, each of at most 256 KiB.
_WAITING = 16
_UNAUTHORIZED = 401
_NO_LOGIN = "the server asks for credentials: give them, as in --header 'Authorization: Bearer …'"
_REFUSED_LOGIN = "the server refuses the credentials that it is given as Authorization"
# The limit for messages without an answer, which a server accepts at once.
_TAKEN_SECONDS = 30.0
_NO_TEXT = "a message is not sent: no header can repeat half of a surrogate pair"


@dataclass(slots=True, eq=False)
class HttpUpstream:
    """A connection that sends the lines of a host, and yields those of the server."""

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
    _open: dict[object, SentLine] = field(init=False, default_factory=dict)
    _to_host: MemoryObjectSendStream[bytes] = field(init=False)
    _from_server: MemoryObjectReceiveStream[bytes] = field(init=False)
    _sending: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    _sse: SseSession | None = field(init=False, default=None)
    _reopening: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    _reopened: int = field(init=False, default=0)
    _has_warned: bool = field(init=False, default=False)
    _is_listening: bool = field(init=False, default=False)
    _listening: anyio.abc.TaskGroup = field(init=False)
    _answers: anyio.abc.TaskGroup = field(init=False)

    def __post_init__(self) -> None:
        self._to_host, self._from_server = anyio.create_memory_object_stream[bytes](_WAITING)
        self._session = UpstreamSession(self.client, self.url, self.warn)
        self.client.event_hooks["response"].append(self._warn_of_credentials)
        self.client.cookies.jar.set_policy(PlainCookies())

    async def _warn_of_credentials(self, answer: httpx.Response) -> None:
        """Warn once that the server requires or refuses credentials."""
        if answer.status_code != _UNAUTHORIZED or self._has_warned:
            return
        self._has_warned = True
        self.warn(_REFUSED_LOGIN if "authorization" in answer.request.headers else _NO_LOGIN)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send and receive for the length of the block, then end the server's session.

        At the end, open requests have five seconds for their answers, except cancelled ones.
        """
        try:
            async with anyio.create_task_group() as listening:
                self._listening = listening
                async with anyio.create_task_group() as self._answers:
                    yield
                    self._answers.cancel_scope.deadline = anyio.current_time() + _LAST_SECONDS
                    for item in [*self._open.values()]:
                        if not item.waiting and not item.is_writing_answer:
                            item.scope.cancel()
                if self._sse is not None:
                    await self._sse.wait_for_answers(_LAST_SECONDS)
                await self._to_host.aclose()
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
                await self._begin(line)
        self._line += incomplete

    async def received(self) -> AsyncGenerator[bytes, None]:
        """Yield the server's lines."""
        async with self._from_server:
            async for line in self._from_server:
                yield line

    async def _begin(self, line: bytes) -> None:
        pending = parse_sent_line(line)
        self._session.note(pending)
        if self.transport == "sse" and self._sse is None:
            await self._open_sse()
        if self._sse is not None:
            await self._begin_by_sse(pending)
        elif pending.method == "initialize":
            # Later messages need the session that this one begins.
            await self._send(pending)
            if self._session.number and not self._is_listening:
                self._is_listening = True
                self._listening.start_soon(self._listen)
        elif pending.method == CANCELLED and self._cancels(pending.message):
            return
        elif pending.waiting or not pending.message:
            self._answers.start_soon(self._send, pending)
        else:
            await self._send_in_order(self._send, pending)

    async def _begin_by_sse(self, pending: SentLine) -> None:
        if pending.method == CANCELLED and self._sse is not None:
            self._sse.forget(cancelled_id(pending.message))
        if pending.waiting and pending.method != "initialize":
            self._answers.start_soon(self._send_by_sse, pending)
        else:
            await self._send_in_order(self._send_by_sse, pending)

    async def _send_in_order(
        self, send: Callable[[SentLine], Awaitable[None]], pending: SentLine
    ) -> None:
        """Send a message before all later ones, with a timeout."""
        with anyio.move_on_after(_TAKEN_SECONDS) as taking:
            await send(pending)
        if taking.cancelled_caught:
            self.warn("the server did not take a message")
            await self._fail(pending, "the server did not take it")

    def _cancels(self, message: Mapping[str, Any]) -> bool:
        """Stop waiting for a request; return True if closing its stream cancels it."""
        request_id = cancelled_id(message)
        pending = self._open.get(request_id)
        if pending is None:
            return False
        pending.waiting.discard(request_id)
        pending.is_cancelled = pending.is_cancelled_by_its_end
        if pending.is_cancelled and not pending.is_writing_answer:
            pending.scope.cancel()
        return pending.is_cancelled_by_its_end

    async def _send(self, pending: SentLine) -> None:
        try:
            mirrored = request_headers(pending.message, self._mirrored)
        except UnicodeEncodeError:
            await self._report_failure(pending, _NO_TEXT)
            return
        pending.is_cancelled_by_its_end = bool(mirrored)
        ids = [*pending.waiting]
        self._open |= dict.fromkeys(ids, pending)
        with pending.scope:
            try:
                await self._exchange(pending, mirrored)
            except TROUBLE as exc:
                await self._report_failure(
                    pending, f"the server cannot be reached: {unreachable_reason(exc)}"
                )
            finally:
                for request_id in ids:
                    self._open.pop(request_id, None)

    async def _exchange(self, pending: SentLine, mirrored: Mapping[str, str]) -> None:
        """Send messages and forward the answer; renew an unknown session, and send them again."""
        attempt, is_named = self._session.attempt, self._session.is_named
        refusal = await self._post(pending, mirrored)
        if (
            refusal is not None
            and is_named
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
        """Send messages and forward the answer; return the refusal if there is one."""
        headers = {**ACCEPTED, **self._session.headers, **mirrored}
        async with self.client.stream(
            "POST", self.url, content=pending.line, headers=headers
        ) as answer:
            is_older = answer.status_code in _OLDER_STATUSES and pending.method == "initialize"
            if is_older and self.transport == "auto" and await self._open_sse():
                await self._send_by_sse(pending)
            elif not answer.is_success:
                return await refusal_in(answer)
            else:
                await self._take(answer, pending)
        return None

    async def _take(self, answer: httpx.Response, pending: SentLine) -> None:
        """Forward the messages of an answer."""
        if pending.method == "initialize":
            self._session.begin(answer)
        if is_stream(answer):
            await self._take_stream(answer, pending)
        elif kind_of(answer) == "application/json":
            await self._take_text(answer, pending)
        elif answer.status_code != _ACCEPTED_STATUS:
            await self._fail(pending, f"the server answered with {kind_of(answer) or 'nothing'}")

    async def _take_text(self, answer: httpx.Response, pending: SentLine) -> None:
        """Forward an answer that is JSON once it is complete and valid."""
        try:
            line = await read_text(answer.aiter_bytes())
        except UnicodeDecodeError:
            await self._fail(pending, "the server's answer is not UTF-8")
            return
        with line:
            is_message, answered = await scan_text(line, answers)
            if pending.waiting.isdisjoint(answered) if pending.waiting else not is_message:
                await self._fail(pending, "what the server answered with is no answer")
                return
            pending.waiting -= answered
            await self._forward(chain(line.pieces(), [b"\n"]), pending)

    async def _take_stream(self, answer: httpx.Response, pending: SentLine) -> None:
        """Forward the events of a stream; resume a broken stream that has event ids."""
        session, position = self._session.headers, Position()
        await self._take_events(answer, position, pending)
        for _ in range(_MAX_RESUMED):
            if not pending.waiting or not position.event_id:
                return
            await anyio.sleep(position.wait_seconds)
            async with self.client.stream(
                "GET", self.url, headers=position.headers(session)
            ) as resumed:
                if not is_stream(resumed):
                    return
                await self._take_events(resumed, position, pending)

    async def _take_events(
        self, answer: httpx.Response, position: Position, pending: SentLine | None = None
    ) -> None:
        try:
            async with aclosing(read_events(answer.aiter_bytes())) as events:
                async for event in events:
                    position.note(event)
                    if not event.is_message(self.warn):
                        continue
                    if pending is not None:
                        pending.waiting -= event.answered_ids()
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
                await self._to_host.send(piece)
        if pending is not None:
            pending.is_writing_answer = False

    def _read_result(self, text: bytes, method: object) -> None:
        """Record the negotiated revision, or the headers that tools require."""
        with suppress(ValueError, AttributeError, TypeError, KeyError, RecursionError):
            result = json.loads(text)["result"] if b'"result"' in text else {}
            if method == "initialize":
                self._session.agree(result.get("protocolVersion"))
            for tool in result.get("tools", ()):
                self._mirrored[tool["name"]] = mirrored_parameters(tool.get("inputSchema") or {})

    async def _report_failure(self, pending: SentLine, reason: str) -> None:
        """Log that messages could not be sent, and answer their requests with an error."""
        self.warn(reason)
        await self._fail(pending, reason)

    async def _fail(self, pending: SentLine, reason: str) -> None:
        """Answer each open request with an error."""
        for request_id in list(pending.waiting):
            await self._forward([error_line(request_id, reason)])
        pending.waiting.clear()

    async def _listen(self) -> None:
        """Forward the messages of the server's own stream, if it has one."""
        number, position = self._session.number, Position()
        while True:
            if number != self._session.number:
                number, position = self._session.number, Position()
            headers = position.headers(self._session.headers)
            # The next request shows whether the server is down.
            is_open = True
            with suppress(*TROUBLE):
                async with self.client.stream(
                    "GET", self.url, headers=headers, timeout=None
                ) as answer:
                    is_open = is_stream(answer) or answer.status_code in _AWAY_STATUSES
                    if is_stream(answer):
                        await self._take_events(answer, position)
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
        except TROUBLE as exc:
            if self.transport == "sse" or is_reopened:
                reason = exc if isinstance(exc, NoStreamError) else unreachable_reason(exc)
                self.warn(f"the server opens no stream: {reason}")
            return False
        self._sse = session
        return True

    async def _send_by_sse(self, pending: SentLine) -> None:
        assert self._sse is not None  # noqa: S101 - as the callers have seen
        if self._sse.has_ended and pending.waiting:
            tries = self._reopened
            async with self._reopening:
                # Once for all requests that found the same stream ended.
                if self._reopened == tries and self._sse.has_ended:
                    self._reopened += 1
                    await self._open_sse(is_reopened=pending.method != "initialize")
        reason = await self._sse.send(pending.line, pending.waiting)
        if reason is not None:
            await self._report_failure(pending, reason)
        # Answers come over the stream.
        pending.waiting.clear()
