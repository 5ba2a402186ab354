"""Streams of events: server-sent events, WebSockets, and tickets for browsers.

Over a WebSocket the client sends `{"after": seq}` to select its position, at the beginning or at
any time. Without a message in the first second, or with `{}`, it gets the events since the
handshake. The service sends `{event, id, data}` as text, with the values of server-sent events.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from datetime import timedelta
from functools import lru_cache
from typing import Annotated, Any

import anyio
import msgspec
from fastapi import APIRouter, Depends, Path, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.sse import format_sse_event
from msgspec import Meta, MsgspecError, Struct

from app.errors import NotFoundError, OverloadedError, StreamLimitError
from app.http.api_route import ApiRoute, QueryNames, check_query, query_names
from app.http.dependencies import BearerDep, caller_by_key, service
from app.http.event_streams import (
    LARGEST_POSITION,
    AfterQuery,
    EventStreamResponse,
    EventStreamsDep,
    ProjectStreamDep,
    SessionStreamDep,
    TicketQuery,
    authorised_caller,
)
from app.http.problem_types import problem_responses
from app.models.identity import utc_now
from app.services.access.callers import Caller, LinkSigner
from app.services.concurrency.background import run_beside
from app.services.events.stream import EventStream
from app.services.events.streams import EventStreams
from app.services.events.subscriptions import EventItem
from app.wire.events import EventTicket
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.client_ids import CLIENT_ID

router = APIRouter(prefix="/api", tags=["events"], route_class=ApiRoute)

LinkSignerDep = Annotated[LinkSigner, Depends(service(LinkSigner))]

_RETRY_MILLISECONDS = 1_000
_TICKET_SECONDS = 60
# With their keys, the cached blocks have 2 MiB.
_MAX_CACHED_BLOCKS = 64
_MAX_SHARED_BYTES = 16 * 1024

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
        "description": "Events, whose fields `event`, `id` and `data` are those of `StreamEvent`. "
        "Two kinds of blocks have no `data` and so are no events: the first one, whose `id` and "
        "`retry` say where to come back to and how soon, and comments, which keep the stream open.",
    },
    **problem_responses(InvalidPayloadError, OverloadedError, StreamLimitError),
}


@router.get("/events", response_class=Response, responses=_STREAM)
async def stream_events(stream: ProjectStreamDep) -> Response:
    """Listen to all writes to the project, as server-sent events.

    `id` is the event's number in the project's log: 1, 2, 3 … in the order of the commits. Resume
    with the last number seen, and no event is missed or repeated. After a `reset` this is not
    possible any more, and the displayed state has to be loaded again.
    """
    return EventStreamResponse(_write_batches(stream))


@router.get("/sessions/{session_id}/events", response_class=Response, responses=_STREAM)
async def stream_session_events(stream: SessionStreamDep) -> Response:
    """Listen to all writes to a session, as server-sent events.

    `id` is the session's `seq`, the same as in its history: read the history, then listen `after`
    its last `seq`. The session may still be empty.
    """
    return EventStreamResponse(_write_batches(stream))


@router.post(
    "/events/ticket",
    status_code=201,
    response_model=EventTicket,
)
async def create_event_ticket(request: Request, _: BearerDep, signer: LinkSignerDep) -> Response:
    """Create a ticket for opening a stream, for browsers, whose EventSource sends no headers.

    It is valid for a minute and permits nothing else. Open streams continue after that, until the
    key is revoked.
    """
    caller = await caller_by_key(request)
    expires_at = utc_now().replace(microsecond=0) + timedelta(seconds=_TICKET_SECONDS)
    ticket = EventTicket(
        ticket=signer.sign_ticket(caller, expires_at),
        expires_at=expires_at,
    )
    return Response(
        ticket.model_dump_json(by_alias=True),
        status_code=201,
        media_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


async def _write_batches(stream: EventStream) -> AsyncGenerator[Iterable[bytes], None]:
    # A block without data is no event, but a client that has received no event resumes from its id.
    # Before a reset there is no id.
    event_id = None if stream.start.is_reset else str(stream.start.position)
    yield [format_sse_event(id=event_id, retry=_RETRY_MILLISECONDS)]
    async with aclosing(stream.batches()) as batches:
        async for batch in batches:
            yield _pieces(batch)


def _pieces(batch: Sequence[EventItem]) -> Iterator[bytes]:
    """Yield the bytes of events: small events joined, large ones in slices.

    A connection buffers whole slices, so a slice limits its memory. All listeners share the bytes
    of the data.
    """
    small: list[bytes] = []
    for item in batch:
        if len(item.data) <= _MAX_SHARED_BYTES:
            small.append(_shared_block(item.type, item.data, item.position))
            continue
        if small:
            yield b"".join(small)
            small = []
        yield from _slice(item)
    if small:
        yield b"".join(small)


def _slice(item: EventItem) -> Iterator[bytes]:
    head, tail = _split_block(item.type, item.position)
    yield head
    # JSON text has no line ends, so the data is a single line.
    for start in range(0, len(item.data), _MAX_SHARED_BYTES):
        yield item.data[start : start + _MAX_SHARED_BYTES]
    yield tail


@lru_cache(maxsize=_MAX_CACHED_BLOCKS)
def _split_block(kind: str, position: int) -> tuple[bytes, bytes]:
    head, _, tail = format_sse_event(event=kind, data_str="\0", id=str(position)).partition(b"\0")
    return head, tail


# All listeners get the same blocks, mostly at about the same time.
@lru_cache(maxsize=_MAX_CACHED_BLOCKS)
def _shared_block(kind: str, data: bytes, position: int) -> bytes:
    return format_sse_event(event=kind, data_str=data.decode(), id=str(position))


_FIRST_MESSAGE_SECONDS = 1.0
_CLOSING_SECONDS = 5.0
_TRY_AGAIN_LATER = 1013
_INVALID_MESSAGE = 1007
_EXPLANATION = 'send {"after": <the last seq you have seen>}, or {}'


class _StreamRequest(Struct, forbid_unknown_fields=True):
    """A message of a client."""

    after: Annotated[int, Meta(ge=0, le=LARGEST_POSITION)] | None = None


_STREAM_REQUESTS = msgspec.json.Decoder(_StreamRequest)


async def check_socket_query(websocket: WebSocket) -> None:
    """Check the query names of a WebSocket; see `check_query`."""
    await check_query(QueryNames(query_names(websocket.scope["route"].dependant)), websocket)


@router.websocket("/sessions/{session_id}/ws", dependencies=[Depends(check_socket_query)])
async def listen_to_session(
    websocket: WebSocket,
    streams: EventStreamsDep,
    session_id: Annotated[str, Path()],
    ticket: TicketQuery = None,
    after: AfterQuery = None,
) -> None:
    """Send the events of a session until the client disconnects, or is disconnected with 1013."""
    if not CLIENT_ID.match(session_id):
        raise NotFoundError("session")
    caller = await authorised_caller(websocket, ticket)
    stream = _SocketStream(websocket, streams, caller, session_id)
    async with run_beside(stream.receive()):
        await stream.run(after)


class _SocketStream:
    """A WebSocket that sends the events after the position that the client requested last."""

    def __init__(
        self, websocket: WebSocket, streams: EventStreams, caller: Caller, session_id: str
    ) -> None:
        self._websocket = websocket
        self._streams = streams
        self._caller = caller
        self._session_id = session_id
        self._position: int | None = None
        self._requested: asyncio.Queue[int | None] = asyncio.Queue(1)
        self._is_open = asyncio.Event()
        # Set if a request for a position is queued, or if no more requests can come.
        self._has_request = asyncio.Event()
        self._is_over = self._has_gone = False

    async def receive(self) -> None:
        """Receive messages until the client disconnects, or sends an invalid one."""
        await self._is_open.wait()
        try:
            while True:
                text = await self._websocket.receive_text()
                await self._requested.put(_STREAM_REQUESTS.decode(text).after)
                self._has_request.set()
        except WebSocketDisconnect:
            self._has_gone = True
        except (MsgspecError, KeyError, TypeError):
            # `run` closes the connection.
            return
        finally:
            self._is_over = True
            self._has_request.set()

    async def run(self, after: int | None) -> None:
        """Send events until the end. Another request for a position restarts the stream."""
        is_first = after is None
        while True:
            async with self._streams.open(
                self._caller, session_id=self._session_id, after=after
            ) as stream:
                await self._open()
                # The position of a reset counts after the reset was sent.
                self._position = after if stream.start.is_reset else stream.start.position
                position = await self._first_position() if is_first else None
                if position is None:
                    await self._send(stream)
            if self._is_over:
                if not self._has_gone:
                    await self._close(_INVALID_MESSAGE, _EXPLANATION)
                return
            if position is None:
                if self._requested.empty():
                    await self._close(_TRY_AGAIN_LATER, "come back with the last seq you have seen")
                    return
                # After a later `{}` without a position, the stream continues after the last event.
                requested = self._take()
                position = self._position if requested is None else requested
            after, is_first = position, False

    async def _open(self) -> None:
        """Accept the handshake; the stream is open, so no later write is missed."""
        if not self._is_open.is_set():
            await self._websocket.accept()
            self._is_open.set()

    async def _first_position(self) -> int | None:
        """Return the position that the client requests within a second, or None."""
        with anyio.move_on_after(_FIRST_MESSAGE_SECONDS):
            await self._has_request.wait()
        return None if self._requested.empty() else self._take()

    def _take(self) -> int | None:
        """Return the requested position, and allow the next request."""
        if not self._is_over:
            self._has_request.clear()
        return self._requested.get_nowait()

    async def _send(self, stream: EventStream) -> None:
        """Send the events of a stream until the client sends a message, or the stream ends."""
        if self._has_request.is_set():
            return
        async with anyio.create_task_group() as group:
            stream.abort = group.cancel_scope.cancel
            group.start_soon(self._end_on_message, stream, group.cancel_scope)
            # A disconnection is not an error; `receive` detects it.
            with suppress(Exception):
                await self._send_all(stream)
            group.cancel_scope.cancel()

    async def _end_on_message(self, stream: EventStream, sending: anyio.CancelScope) -> None:
        """End a stream when the client sends a message; abort it if the client reads nothing."""
        await self._has_request.wait()
        stream.cut("left")
        await anyio.sleep(_CLOSING_SECONDS)
        sending.cancel()

    async def _send_all(self, stream: EventStream) -> None:
        async with aclosing(stream.items()) as items:
            async for item in items:
                await self._websocket.send_text(_frame(item))
                self._position = item.position

    async def _close(self, code: int, reason: str) -> None:
        with anyio.move_on_after(_CLOSING_SECONDS):
            await self._websocket.close(code, reason)


def _frame(item: EventItem) -> str:
    name = json_text(item.type)
    return f'{{"event":{name},"id":{item.position},"data":{item.data.decode()}}}'
