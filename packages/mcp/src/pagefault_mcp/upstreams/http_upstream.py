"""A server of MCP at an address, spoken to as if it were at the other end of a pipe.

Each message is a request of its own. Answers come as JSON or as streams of events, and become lines
again; what the server says on its own comes over a stream that is kept open. Headers that repeat
what a message says are made from the message as it is sent. A server that only knows HTTP+SSE of
2024 is found out by what it answers `initialize` with.

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

from pagefault_mcp.errors import unreachable_because
from pagefault_mcp.messages.lines import look_into, read_text
from pagefault_mcp.messages.rewritten_messages import failure
from pagefault_mcp.messages.sessionless_requests import Path, mirrored_parameters, request_headers
from pagefault_mcp.upstreams.pending_requests import (
    CANCELLED,
    SentLine,
    cancelled_id,
    parse_sent_line,
)
from pagefault_mcp.upstreams.server_sent_events import Position, read_events
from pagefault_mcp.upstreams.sse_upstream import NoStreamError, SseSession
from pagefault_mcp.upstreams.upstream_answers import (
    TROUBLE,
    PlainCookies,
    Refusal,
    answers,
    is_stream,
    kind_of,
    refusal_in,
)
from pagefault_mcp.upstreams.upstream_session import ACCEPTED, UpstreamSession, is_of_no_session

Transport = Literal["auto", "http", "sse"]

# A message that wants no answer; whatever its type says, nothing follows.
_ACCEPTED_STATUS = 202
_LAST_SECONDS = 5.0
_MOST_RESUMED = 100
_NOTED = ("initialize", "tools/list")
# A server of 2024 takes no POST at the address of its stream.
_OLDER_STATUSES = (400, 404, 405)
# Another server, in between, says that this one is not there.
_AWAY_STATUSES = (502, 503, 504)
# Of pieces, each of 256 KiB at the most.
_WAITING = 16
_UNAUTHORIZED = 401
_NO_LOGIN = "the server asks for credentials: give them, as in --header 'Authorization: Bearer …'"
_REFUSED_LOGIN = "the server refuses the credentials that it is given as Authorization"
# A server takes at once what it does not have to answer.
_TAKEN_SECONDS = 30.0
_NO_TEXT = "a message is not sent: no header can repeat half of a surrogate pair"


@dataclass(slots=True, eq=False)
class HttpUpstream:
    """Takes the bytes of a host's lines, and gives those of the server's."""

    client: httpx.AsyncClient
    """Sends requests, with the credentials that the server asks for."""
    url: str
    """The server's."""
    warn: Callable[[str], None]
    """Says a sentence to the person who runs it."""
    transport: Transport = "auto"
    """How it is spoken to; `auto` finds it out."""
    _line: bytearray = field(init=False, default_factory=bytearray)
    _session: UpstreamSession = field(init=False)
    _mirrored: dict[str, Mapping[Path, str]] = field(init=False, default_factory=dict)
    _open: dict[object, SentLine] = field(init=False, default_factory=dict)
    _sent: MemoryObjectSendStream[bytes] = field(init=False)
    _received: MemoryObjectReceiveStream[bytes] = field(init=False)
    _giving: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    _sse: SseSession | None = field(init=False, default=None)
    _reopening: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    _reopened: int = field(init=False, default=0)
    _has_told: bool = field(init=False, default=False)
    _is_listening: bool = field(init=False, default=False)
    _listening: anyio.abc.TaskGroup = field(init=False)
    _answers: anyio.abc.TaskGroup = field(init=False)

    def __post_init__(self) -> None:
        self._sent, self._received = anyio.create_memory_object_stream[bytes](_WAITING)
        self._session = UpstreamSession(self.client, self.url, self.warn)
        self.client.event_hooks["response"].append(self._tell_of_credentials)
        self.client.cookies.jar.set_policy(PlainCookies())

    async def _tell_of_credentials(self, answer: httpx.Response) -> None:
        """Say once that a server wants a login, and how it is given one."""
        if answer.status_code != _UNAUTHORIZED or self._has_told:
            return
        self._has_told = True
        self.warn(_REFUSED_LOGIN if "authorization" in answer.request.headers else _NO_LOGIN)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send and receive for the length of the block; then end the server's session.

        What is still to be answered then has five seconds; what was cancelled has none.
        """
        try:
            async with anyio.create_task_group() as listening:
                self._listening = listening
                async with anyio.create_task_group() as self._answers:
                    yield
                    self._answers.cancel_scope.deadline = anyio.current_time() + _LAST_SECONDS
                    for each in [*self._open.values()]:
                        if not each.waiting and not each.is_writing_answer:
                            each.scope.cancel()
                if self._sse is not None:
                    await self._sse.wait_for_answers(_LAST_SECONDS)
                await self._sent.aclose()
                listening.cancel_scope.cancel()
        finally:
            await self._session.end()

    async def write(self, piece: bytes) -> None:
        """Take the next bytes of the host; a line that is whole is sent."""
        *ends, rest = piece.split(b"\n")
        for end in ends:
            line = bytes(self._line) + end + b"\n"
            self._line.clear()
            if line.strip():
                await self._begin(line)
        self._line += rest

    async def received(self) -> AsyncGenerator[bytes, None]:
        """Yield the server's lines."""
        async with self._received:
            async for line in self._received:
                yield line

    async def _begin(self, line: bytes) -> None:
        pending = parse_sent_line(line)
        self._session.note(pending)
        if self.transport == "sse" and self._sse is None:
            await self._open_sse()
        if self._sse is not None:
            await self._begin_by_sse(pending)
        elif pending.method == "initialize":
            # What comes behind it needs the session that it begins.
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
        """Send what has its place before all that follows, and wait no longer than a while."""
        with anyio.move_on_after(_TAKEN_SECONDS) as taking:
            await send(pending)
        if taking.cancelled_caught:
            self.warn("the server did not take a message")
            await self._fail(pending, "the server did not take it")

    def _cancels(self, message: Mapping[str, Any]) -> bool:
        """Wait no longer for a request; return whether the end of its stream cancels it."""
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
            await self._cannot(pending, _NO_TEXT)
            return
        pending.is_cancelled_by_its_end = bool(mirrored)
        ids = [*pending.waiting]
        self._open |= dict.fromkeys(ids, pending)
        with pending.scope:
            try:
                await self._exchange(pending, mirrored)
            except TROUBLE as exc:
                await self._cannot(
                    pending, f"the server cannot be reached: {unreachable_because(exc)}"
                )
            finally:
                for request_id in ids:
                    self._open.pop(request_id, None)

    async def _exchange(self, pending: SentLine, mirrored: Mapping[str, str]) -> None:
        """Send messages and give the answer: in another session, if the server has forgotten it."""
        seen, is_named = self._session.seen, self._session.is_named
        refusal = await self._post(pending, mirrored)
        if (
            refusal is not None
            and is_named
            and pending.waiting
            and is_of_no_session(refusal)
            and await self._session.renew(seen)
        ):
            refusal = await self._post(pending, mirrored)
        if refusal is None:
            await self._fail(pending, "the server's answer ended too early")
        elif refusal.request_id in pending.waiting:
            pending.waiting.discard(refusal.request_id)
            await self._give([refusal.line])
            await self._fail(pending, refusal.words)
        else:
            if not pending.waiting:
                self.warn(f"{refusal.words}, to a message")
            await self._fail(pending, refusal.words)

    async def _post(self, pending: SentLine, mirrored: Mapping[str, str]) -> Refusal | None:
        """Send messages and give the answer; return what they are refused with, if they are."""
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
        """Give the messages in an answer."""
        if pending.method == "initialize":
            self._session.begin(answer)
        if is_stream(answer):
            await self._take_stream(answer, pending)
        elif kind_of(answer) == "application/json":
            await self._take_text(answer, pending)
        elif answer.status_code != _ACCEPTED_STATUS:
            await self._fail(pending, f"the server answered with {kind_of(answer) or 'nothing'}")

    async def _take_text(self, answer: httpx.Response, pending: SentLine) -> None:
        """Give an answer that is JSON when all of it is there: it may break off, or be none."""
        try:
            line = await read_text(answer.aiter_bytes())
        except UnicodeDecodeError:
            await self._fail(pending, "the server's answer is not UTF-8")
            return
        with line:
            is_message, answered = await look_into(line, answers)
            if pending.waiting.isdisjoint(answered) if pending.waiting else not is_message:
                await self._fail(pending, "what the server answered with is no answer")
                return
            pending.waiting -= answered
            await self._give(chain(line.pieces(), [b"\n"]), pending)

    async def _take_stream(self, answer: httpx.Response, pending: SentLine) -> None:
        """Give the events of a stream; one that breaks off is resumed, if it says by what."""
        session, position = self._session.headers, Position()
        await self._take_events(answer, position, pending)
        for _ in range(_MOST_RESUMED):
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
                    await self._give(event.pieces(), pending)
                    if pending is not None and pending.is_cancelled:
                        pending.scope.cancel()
        except httpx.HTTPError:
            if not position.event_id:
                raise

    async def _give(self, pieces: Iterable[bytes], pending: SentLine | None = None) -> None:
        if pending is not None and pending.method in _NOTED:
            text = b"".join(pieces)
            self._note(text, pending.method)
            pieces = [text]
        if pending is not None:
            pending.is_writing_answer = True
        async with self._giving:
            for piece in pieces:
                await self._sent.send(piece)
        if pending is not None:
            pending.is_writing_answer = False

    def _note(self, text: bytes, method: object) -> None:
        """Note the revision that was agreed on, or what tools want repeated in headers."""
        with suppress(ValueError, AttributeError, TypeError, KeyError, RecursionError):
            result = json.loads(text)["result"] if b'"result"' in text else {}
            if method == "initialize":
                self._session.agree(result.get("protocolVersion"))
            for tool in result.get("tools", ()):
                self._mirrored[tool["name"]] = mirrored_parameters(tool.get("inputSchema") or {})

    async def _cannot(self, pending: SentLine, said: str) -> None:
        """Say that messages could not be sent to the server, on both sides."""
        self.warn(said)
        await self._fail(pending, said)

    async def _fail(self, pending: SentLine, said: str) -> None:
        """Tell the host of each request that has no answer why there is none."""
        for request_id in list(pending.waiting):
            await self._give([failure(request_id, said)])
        pending.waiting.clear()

    async def _listen(self) -> None:
        """Give what the server says on its own, where it opens a stream for that."""
        number, position = self._session.number, Position()
        while True:
            if number != self._session.number:
                number, position = self._session.number, Position()
            headers = position.headers(self._session.headers)
            # What is asked next tells whether the server is gone.
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
                # It may have forgotten the event, and still have more to say.
                position.event_id = ""
            await anyio.sleep(position.wait_seconds)

    async def _open_sse(self, *, is_anew: bool = False) -> bool:
        """Open the stream of a server of 2024; return whether it is one."""
        session = SseSession(self.client, self.url, self._give, self.warn)
        try:
            await self._listening.start(session.run)
            if is_anew:
                await session.begin_anew(self._session.initialize, self._session.initialized)
        except TROUBLE as exc:
            if self.transport == "sse" or is_anew:
                why = exc if isinstance(exc, NoStreamError) else unreachable_because(exc)
                self.warn(f"the server opens no stream: {why}")
            return False
        self._sse = session
        return True

    async def _send_by_sse(self, pending: SentLine) -> None:
        assert self._sse is not None  # noqa: S101 - as the callers have seen
        if self._sse.has_ended and pending.waiting:
            tries = self._reopened
            async with self._reopening:
                # Once for all requests that find the stream ended together.
                if self._reopened == tries and self._sse.has_ended:
                    self._reopened += 1
                    await self._open_sse(is_anew=pending.method != "initialize")
        said = await self._sse.send(pending.line, pending.waiting)
        if said is not None:
            await self._cannot(pending, said)
        # What is answered comes over the stream.
        pending.waiting.clear()
