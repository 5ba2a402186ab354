"""Dependencies and the response of event routes: the caller, the start position, the stream.

FastAPI's event streams have two queues and tasks for every listener, which take several times as
long as sending the events. The response here has none.
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

from app.http.dependencies import BearerDep, caller_by_key, count_request, service, services_of
from app.http.parameters import LARGEST_SEQ, SessionIdPath
from app.http.response_memory import body_message, start_message
from app.models.identity import utc_now
from app.services.access.callers import Access, Caller, LinkSigner
from app.services.concurrency.background import run_beside
from app.services.events.stream import EventStream
from app.services.events.streams import EventStreams

# The next number after it must still be a valid `seq`.
LARGEST_POSITION = LARGEST_SEQ - 1
_Position = Annotated[int, Field(ge=0, le=LARGEST_POSITION)]
_KEEPALIVE_SECONDS = 15.0

TicketQuery = Annotated[
    str | None,
    Query(
        max_length=2_048,
        description="A ticket, where no header can be set; it is made by `POST "
        "/api/events/ticket`.",
    ),
]
AfterQuery = Annotated[
    _Position | None,
    Query(
        description="The position behind which to begin, 0 for everything there ever was. Without "
        "it, and without `Last-Event-ID`, the stream begins now.",
    ),
]


async def authorised_caller(connection: HTTPConnection, ticket: str | None) -> Caller:
    """Return the caller of a ticket, or of the API key without a ticket.

    Raises:
        UnauthorizedError: The ticket or the key is not valid.
        QuotaExceededError: The key has sent too many requests.
    """
    if ticket is None:
        return await caller_by_key(connection)
    services = services_of(connection)
    caller = services[LinkSigner].verify_ticket(ticket, utc_now())
    await services[Access].check(caller)
    count_request(connection, caller)
    return caller


async def get_listener(request: Request, _: BearerDep, ticket: TicketQuery = None) -> Caller:
    """Return the listening caller; see `authorised_caller`."""
    return await authorised_caller(request, ticket)


ListenerDep = Annotated[Caller, Depends(get_listener)]


async def get_start_position(
    after: AfterQuery = None,
    last_event_id: Annotated[
        _Position | None,
        Header(
            alias="Last-Event-ID",
            description="The last `id` that was seen; it comes before `lastEventId` and `after`.",
        ),
    ] = None,
    queried_event_id: Annotated[
        _Position | None,
        Query(
            alias="lastEventId",
            description="The same in the query, where `event-source-polyfill` puts it; it comes "
            "before `after`.",
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
    """Open a stream before the response begins, and close it after the response."""
    async with streams.open(listener, session_id=session_id, after=after) as stream:
        # A stream lasts for hours and is mostly idle, so it needs no slot. Streams have a separate
        # limit.
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
    """Open the stream of a session, which need not exist yet."""
    async with _open_stream(
        request, streams, listener, session_id=session_id, after=after
    ) as stream:
        yield stream


ProjectStreamDep = Annotated[EventStream, Depends(get_project_stream)]
SessionStreamDep = Annotated[EventStream, Depends(get_session_stream)]


class EventStreamResponse(EventSourceResponse):
    """Server-sent events, with a comment after each 15 seconds without events.

    Args:
        batches: Batches of whole events, each in pieces. The generator is closed at the end.
    """

    def __init__(self, batches: AsyncGenerator[Iterable[bytes], None]) -> None:
        # The base class needs an iterator, but `stream_response` reads the batches. The second
        # header disables the buffering of nginx.
        super().__init__((), headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        self._batches = batches
        self._is_sending = False
        self._sent_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until they end or the client disconnects."""
        self._sent_at = monotonic()
        with anyio.CancelScope() as streaming:
            async with run_beside(self._watch(receive, send, streaming)):
                await self.stream_response(send)

    async def stream_response(self, send: Send) -> None:
        """Send events until they end."""
        await send(start_message(self))
        async with aclosing(self._batches) as batches:
            async for batch in batches:
                self._is_sending = True
                for piece in batch:
                    await send(body_message(piece))
                self._is_sending = False
                self._sent_at = monotonic()
        await send(body_message(b"", more=False))

    async def _watch(self, receive: Receive, send: Send, streaming: anyio.CancelScope) -> None:
        """Send a comment when nothing else is sent; end the stream when the client disconnects."""
        while True:
            idle_seconds = monotonic() - self._sent_at
            if idle_seconds >= _KEEPALIVE_SECONDS:
                # Within an event, a comment would become a part of the event.
                if not self._is_sending:
                    await send(body_message(KEEPALIVE_COMMENT))
                self._sent_at = monotonic()
                continue
            with anyio.move_on_after(_KEEPALIVE_SECONDS - idle_seconds):
                message = await receive()
                if message["type"] == "http.disconnect":
                    streaming.cancel()
                    return
