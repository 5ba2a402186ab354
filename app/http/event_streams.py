"""Dependencies of the event routes (caller, start position, stream), and their response.

`EventStreamResponse` replaces FastAPI's streaming of events, which uses two queues and two tasks
for each listener. These take several times as long as sending the events.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from time import monotonic
from typing import Annotated

import anyio
from fastapi import Depends, Header, Query, Request
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse
from pydantic import Field
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from app.http.dependencies import (
    BearerDep,
    authenticate_caller,
    count_request,
    get_services,
    service,
)
from app.http.parameters import LARGEST_SEQ, SessionIdPath
from app.http.response_memory import build_body_message, build_start_message
from app.models.identity import utc_now
from app.services.access.callers import Access, Caller, LinkSigner
from app.services.concurrency.background import run_beside
from app.services.events.stream import EventStream
from app.services.events.streams import EventStreams

# The number of the event after the largest position must still be a valid `seq`.
LARGEST_POSITION = LARGEST_SEQ - 1
_Position = Annotated[int, Field(ge=0, le=LARGEST_POSITION)]
_KEEPALIVE_SECONDS = 15.0

TicketQuery = Annotated[
    str | None,
    Query(
        max_length=2_048,
        description="A ticket of `POST /api/events/ticket`, for clients that cannot send a key in "
        "a header.",
    ),
]
AfterQuery = Annotated[
    _Position | None,
    Query(
        description="Send the events after this position; 0 for all events. Without `after` and "
        "`Last-Event-ID`, only new events are sent.",
    ),
]


async def authorise_caller(connection: HTTPConnection, ticket: str | None) -> Caller:
    """Return the caller with a ticket; without a ticket, the caller with the API key.

    Raises:
        UnauthorizedError: The ticket or the key is not valid.
        QuotaExceededError: The key has sent too many requests.
    """
    if ticket is None:
        return await authenticate_caller(connection)
    services = get_services(connection)
    caller = services[LinkSigner].verify_ticket(ticket, utc_now())
    await services[Access].check(caller)
    count_request(connection, caller)
    return caller


async def get_listener(request: Request, _: BearerDep, ticket: TicketQuery = None) -> Caller:
    """Return the caller who opens a stream of events; see `authorise_caller`."""
    return await authorise_caller(request, ticket)


ListenerDep = Annotated[Caller, Depends(get_listener)]


async def get_start_position(
    after: AfterQuery = None,
    last_event_id: Annotated[
        _Position | None,
        Header(
            alias="Last-Event-ID",
            description="The `id` of the last event that the client has received. It has "
            "precedence over `lastEventId` and `after`.",
        ),
    ] = None,
    queried_event_id: Annotated[
        _Position | None,
        Query(
            alias="lastEventId",
            description="The same as `Last-Event-ID`, as `event-source-polyfill` sends it. It has "
            "precedence over `after`.",
        ),
    ] = None,
) -> int | None:
    """Return the position after which the stream begins; `None` to begin now."""
    positions = (last_event_id, queried_event_id, after)
    return next((position for position in positions if position is not None), None)


StartPositionDep = Annotated[int | None, Depends(get_start_position)]
EventStreamsDep = Annotated[EventStreams, Depends(service(EventStreams))]


@asynccontextmanager
async def _open_stream(
    request: Request,
    streams: EventStreams,
    listener: Caller,
    *,
    session_id: str | None,
    after: int | None,
) -> AsyncIterator[EventStream]:
    """Open a stream of events before the response begins, and close it after the response."""
    async with streams.open(listener, session_id=session_id, after=after) as stream:
        # A stream lasts for hours and is mostly idle, so it must not keep the slot of its request.
        # The number of streams has a limit of its own.
        request.state.slot.release()
        stream.abort = getattr(request.state, "abort", None)
        yield stream


async def get_project_stream(
    request: Request, streams: EventStreamsDep, listener: ListenerDep, after: StartPositionDep
) -> AsyncIterator[EventStream]:
    """Open the stream of the listener's project."""
    async with _open_stream(request, streams, listener, session_id=None, after=after) as stream:
        yield stream


async def get_session_stream(
    request: Request,
    streams: EventStreamsDep,
    session_id: SessionIdPath,
    listener: ListenerDep,
    after: StartPositionDep,
) -> AsyncIterator[EventStream]:
    """Open the stream of a session, which does not have to exist yet."""
    async with _open_stream(
        request, streams, listener, session_id=session_id, after=after
    ) as stream:
        yield stream


ProjectStreamDep = Annotated[EventStream, Depends(get_project_stream)]
SessionStreamDep = Annotated[EventStream, Depends(get_session_stream)]


class EventStreamResponse(EventSourceResponse):
    """A response with server-sent events, and a comment after 15 seconds without events.

    Args:
        batches: Batches of whole events; a batch consists of pieces of bytes. The response closes
            the generator.
    """

    def __init__(self, batches: AsyncGenerator[Iterable[bytes], None]) -> None:
        # The base class needs an iterator, but `stream_response` reads the batches.
        # `X-Accel-Buffering` disables the buffering of nginx.
        super().__init__((), headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        self._batches = batches
        # True while pieces of a batch are sent, between which no comment may be sent.
        self._is_sending = False
        self._sent_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until they end or the client disconnects."""
        self._sent_at = monotonic()
        with anyio.CancelScope() as stream_scope:
            async with run_beside(self._watch(receive, send, stream_scope)):
                await self.stream_response(send)

    async def stream_response(self, send: Send) -> None:
        """Send events until they end."""
        await send(build_start_message(self))
        async with aclosing(self._batches) as batches:
            async for batch in batches:
                self._is_sending = True
                for piece in batch:
                    await send(build_body_message(piece))
                self._is_sending = False
                self._sent_at = monotonic()
        await send(build_body_message(b"", more=False))

    async def _watch(self, receive: Receive, send: Send, stream_scope: anyio.CancelScope) -> None:
        """Send comments while no events are sent; end the stream when the client disconnects."""
        while True:
            idle_seconds = monotonic() - self._sent_at
            if idle_seconds >= _KEEPALIVE_SECONDS:
                # Between two pieces of an event, a comment would become a part of the event.
                if not self._is_sending:
                    await send(build_body_message(KEEPALIVE_COMMENT))
                self._sent_at = monotonic()
                continue
            with anyio.move_on_after(_KEEPALIVE_SECONDS - idle_seconds):
                message = await receive()
                if message["type"] == "http.disconnect":
                    stream_scope.cancel()
                    return
