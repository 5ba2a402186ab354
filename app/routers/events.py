"""Streams of events, as server-sent events and over WebSockets, and tickets to open them.

Over a WebSocket, the client sends `{"after": seq}` to get the events after this number. It may send
such a message at any time. If it sends no message in the first second, or `{}`, it gets the events
since the handshake. The service sends each event as the text `{event, id, data}`, with the same
values as in server-sent events.
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
from app.http.api_route import ApiRoute, QueryNames, check_query, find_query_names
from app.http.dependencies import BearerDep, authenticate_caller, service
from app.http.event_streams import (
    LARGEST_POSITION,
    AfterQuery,
    EventStreamResponse,
    EventStreamsDep,
    ProjectStreamDep,
    SessionStreamDep,
    TicketQuery,
    authorise_caller,
)
from app.http.problem_types import describe_errors
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
# Small events are encoded once for all listeners, and cached. The cache has at most 2 MiB.
_MAX_CACHED_EVENTS = 64
_MAX_SMALL_BYTES = 16 * 1024

_STREAM_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
        "description": "Events, whose fields `event`, `id` and `data` are those of `StreamEvent`. "
        "Two kinds of blocks have no `data`, so clients do not report them: the first block, whose "
        "`id` and `retry` are for reconnecting, and comments, which keep the connection open.",
    },
    **describe_errors(InvalidPayloadError, OverloadedError, StreamLimitError),
}


@router.get("/events", response_class=Response, responses=_STREAM_RESPONSES)
async def stream_events(stream: ProjectStreamDep) -> Response:
    """Listen to all writes to the project, as server-sent events.

    `id` is the event's number in the project's log: 1, 2, 3 … in the order of the commits. A client
    that resumes after the last number that it has received gets each later event once. If these
    events are not stored any more, it gets the event `reset`, and has to load its state again.
    """
    return EventStreamResponse(_yield_blocks(stream))


@router.get("/sessions/{session_id}/events", response_class=Response, responses=_STREAM_RESPONSES)
async def stream_session_events(stream: SessionStreamDep) -> Response:
    """Listen to all writes to a session, as server-sent events.

    `id` is the session's `seq`, the same as in its history: read the history, then listen `after`
    its last `seq`. The session does not have to exist yet.
    """
    return EventStreamResponse(_yield_blocks(stream))


@router.post(
    "/events/ticket",
    status_code=201,
    response_model=EventTicket,
)
async def create_event_ticket(request: Request, _: BearerDep, signer: LinkSignerDep) -> Response:
    """Create a ticket with which a browser opens a stream, because EventSource sends no headers.

    The ticket is valid for a minute, and only for streams. Streams that were opened with it
    continue after this minute, until the key is revoked.
    """
    caller = await authenticate_caller(request)
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


async def _yield_blocks(stream: EventStream) -> AsyncGenerator[Iterable[bytes], None]:
    """Yield the first block of a stream, and then the bytes of each batch of events."""
    # A client that is disconnected before the first event resumes after the id of this block. If a
    # stream begins with a reset, there is no position to resume from.
    event_id = None if stream.start.is_reset else str(stream.start.position)
    yield [format_sse_event(id=event_id, retry=_RETRY_MILLISECONDS)]
    async with aclosing(stream.batches()) as batches:
        async for batch in batches:
            yield _encode_batch(batch)


def _encode_batch(batch: Sequence[EventItem]) -> Iterator[bytes]:
    """Yield the bytes of events. Successive small events are joined, and large events are sliced.

    A connection buffers one yielded object, so slices limit its memory. The data of an event are
    not copied for each listener.
    """
    small: list[bytes] = []
    for item in batch:
        if len(item.data) <= _MAX_SMALL_BYTES:
            small.append(_encode_event(item.type, item.data, item.position))
            continue
        if small:
            yield b"".join(small)
            small = []
        yield from _encode_large_event(item)
    if small:
        yield b"".join(small)


def _encode_large_event(item: EventItem) -> Iterator[bytes]:
    """Yield the bytes of an event in slices."""
    head, tail = _split_event(item.type, item.position)
    yield head
    # JSON text has no line ends, so the data is a single line.
    for start in range(0, len(item.data), _MAX_SMALL_BYTES):
        yield item.data[start : start + _MAX_SMALL_BYTES]
    yield tail


@lru_cache(maxsize=_MAX_CACHED_EVENTS)
def _split_event(kind: str, position: int) -> tuple[bytes, bytes]:
    """Return the bytes of an event before and after its data."""
    head, _, tail = format_sse_event(event=kind, data_str="\0", id=str(position)).partition(b"\0")
    return head, tail


# All listeners get the same events, mostly at about the same time.
@lru_cache(maxsize=_MAX_CACHED_EVENTS)
def _encode_event(kind: str, data: bytes, position: int) -> bytes:
    return format_sse_event(event=kind, data_str=data.decode(), id=str(position))


_FIRST_MESSAGE_SECONDS = 1.0
# The time in which a client must read what was sent, before its connection is aborted.
_CLOSING_SECONDS = 5.0
# Status codes of the closing handshake of a WebSocket.
_TRY_AGAIN_LATER = 1013
_INVALID_MESSAGE = 1007
_INVALID_MESSAGE_REASON = 'send {"after": <the last seq you have seen>}, or {}'


class _StreamRequest(Struct, forbid_unknown_fields=True):
    """A message that a client sends over a WebSocket."""

    after: Annotated[int, Meta(ge=0, le=LARGEST_POSITION)] | None = None


_REQUEST_DECODER = msgspec.json.Decoder(_StreamRequest)


async def check_socket_query(websocket: WebSocket) -> None:
    """Check the query names of a WebSocket; see `check_query`."""
    await check_query(QueryNames(find_query_names(websocket.scope["route"].dependant)), websocket)


@router.websocket("/sessions/{session_id}/ws", dependencies=[Depends(check_socket_query)])
async def listen_to_session(
    websocket: WebSocket,
    streams: EventStreamsDep,
    session_id: Annotated[str, Path()],
    ticket: TicketQuery = None,
    after: AfterQuery = None,
) -> None:
    """Send the events of a session until the client disconnects.

    After an invalid message, the service closes the connection with the code 1007. If the stream
    ends, because the client reads too slowly, its key was revoked or the service stops, the code is
    1013.
    """
    if not CLIENT_ID.match(session_id):
        raise NotFoundError("session")
    caller = await authorise_caller(websocket, ticket)
    stream = _SocketStream(websocket, streams, caller, session_id)
    async with run_beside(stream.receive()):
        await stream.run(after)


class _SocketStream:
    """Sends events over a WebSocket, from the position that the client has requested last.

    Two tasks use the same object: `receive` reads the messages of the client, and `run` sends
    events.
    """

    def __init__(
        self, websocket: WebSocket, streams: EventStreams, caller: Caller, session_id: str
    ) -> None:
        self._websocket = websocket
        self._streams = streams
        self._caller = caller
        self._session_id = session_id
        # The position of the last event that was sent.
        self._position: int | None = None
        self._requested: asyncio.Queue[int | None] = asyncio.Queue(1)
        self._is_open = asyncio.Event()
        # Set while a request is queued, and always after the last message of the client.
        self._has_request = asyncio.Event()
        self._is_input_over = self._is_disconnected = False

    async def receive(self) -> None:
        """Receive messages until the client disconnects, or sends an invalid message."""
        await self._is_open.wait()
        try:
            while True:
                text = await self._websocket.receive_text()
                await self._requested.put(_REQUEST_DECODER.decode(text).after)
                self._has_request.set()
        except WebSocketDisconnect:
            self._is_disconnected = True
        except (MsgspecError, KeyError, TypeError):
            # The message is invalid. `run` closes the connection.
            return
        finally:
            self._is_input_over = True
            self._has_request.set()

    async def run(self, after: int | None) -> None:
        """Send events until the client or the stream ends. A new request restarts the stream."""
        is_first = after is None
        while True:
            async with self._streams.open(
                self._caller, session_id=self._session_id, after=after
            ) as stream:
                await self._open()
                # A reset changes the position only when it is sent.
                self._position = after if stream.start.is_reset else stream.start.position
                position = await self._wait_for_position() if is_first else None
                if position is None:
                    await self._send_until_message(stream)
            if self._is_input_over:
                if not self._is_disconnected:
                    await self._close(_INVALID_MESSAGE, _INVALID_MESSAGE_REASON)
                return
            if position is None:
                if self._requested.empty():
                    await self._close(_TRY_AGAIN_LATER, "come back with the last seq you have seen")
                    return
                # `{}` requests no position, so the stream continues after the last event.
                requested = self._take_request()
                position = self._position if requested is None else requested
            after, is_first = position, False

    async def _open(self) -> None:
        """Accept the handshake, unless it was accepted before.

        The stream is open already, so the client gets the events of all writes after the handshake.
        """
        if not self._is_open.is_set():
            await self._websocket.accept()
            self._is_open.set()

    async def _wait_for_position(self) -> int | None:
        """Return the position that the client requests within a second; otherwise `None`."""
        with anyio.move_on_after(_FIRST_MESSAGE_SECONDS):
            await self._has_request.wait()
        return None if self._requested.empty() else self._take_request()

    def _take_request(self) -> int | None:
        """Return the requested position, and let `receive` queue the next one."""
        if not self._is_input_over:
            self._has_request.clear()
        return self._requested.get_nowait()

    async def _send_until_message(self, stream: EventStream) -> None:
        """Send the events of a stream until the client sends a message, or the stream ends."""
        if self._has_request.is_set():
            return
        async with anyio.create_task_group() as group:
            stream.abort = group.cancel_scope.cancel
            group.start_soon(self._stop_on_message, stream, group.cancel_scope)
            # A disconnection is not an error; `receive` detects it.
            with suppress(Exception):
                await self._send_events(stream)
            group.cancel_scope.cancel()

    async def _stop_on_message(self, stream: EventStream, send_scope: anyio.CancelScope) -> None:
        """End a stream when the client sends a message; abort it if the client reads nothing."""
        await self._has_request.wait()
        stream.cut("left")
        await anyio.sleep(_CLOSING_SECONDS)
        send_scope.cancel()

    async def _send_events(self, stream: EventStream) -> None:
        """Send the events of a stream, and keep the position of the last one."""
        async with aclosing(stream.items()) as items:
            async for item in items:
                await self._websocket.send_text(_encode_frame(item))
                self._position = item.position

    async def _close(self, code: int, reason: str) -> None:
        with anyio.move_on_after(_CLOSING_SECONDS):
            await self._websocket.close(code, reason)


def _encode_frame(item: EventItem) -> str:
    """Return an event as the text that is sent over a WebSocket."""
    name = json_text(item.type)
    return f'{{"event":{name},"id":{item.position},"data":{item.data.decode()}}}'
