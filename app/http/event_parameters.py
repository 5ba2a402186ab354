"""Who listens, and from where: what the routes of events have in common."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Header, Query, Request
from starlette.requests import HTTPConnection

from app.http.authenticate import BearerDep, caller_by_key, count_request
from app.http.dependencies import ContainerDep
from app.http.parameters import LARGEST_SEQ, SessionIdPath
from app.models.identity import utc_now
from app.services.access.callers import Caller
from app.services.events.stream import EventStream
from app.wiring import Container

# The one behind it has to be a number that can be looked for.
LARGEST_POSITION = LARGEST_SEQ - 1

TicketQuery = Annotated[
    str | None,
    Query(
        max_length=2_048,
        description="A ticket, where no header can be set; it is made by `POST "
        "/api/events/ticket`.",
    ),
]
AfterQuery = Annotated[
    int | None,
    Query(
        ge=0,
        le=LARGEST_POSITION,
        description="The position behind which to begin, 0 for everything there ever was. Without "
        "it, and without `Last-Event-ID`, the stream begins now.",
    ),
]
LastEventIdHeader = Annotated[
    int | None,
    Header(
        alias="Last-Event-ID",
        ge=0,
        le=LARGEST_POSITION,
        description="The last `id` that was seen; it comes before `lastEventId` and `after`.",
    ),
]
LastEventIdQuery = Annotated[
    int | None,
    Query(
        alias="lastEventId",
        ge=0,
        le=LARGEST_POSITION,
        description="The same in the query, where `event-source-polyfill` puts it; it comes before "
        "`after`.",
    ),
]


async def authorised_caller(
    connection: HTTPConnection, container: Container, ticket: str | None
) -> Caller:
    """Who listens: by a ticket if there is one, else by the key.

    Raises:
        UnauthorizedError: Neither is valid.
        QuotaExceededError: The key has sent too many requests.
    """
    if ticket is None:
        return await caller_by_key(connection)
    caller = container.links.verify_ticket(ticket, utc_now())
    await container.access.check(caller)
    count_request(connection, caller)
    return caller


async def get_listener(
    request: Request, container: ContainerDep, _: BearerDep, ticket: TicketQuery = None
) -> Caller:
    """Who listens. Raises UnauthorizedError without a valid key or ticket."""
    return await authorised_caller(request, container, ticket)


ListenerDep = Annotated[Caller, Depends(get_listener)]


async def get_beginning(
    after: AfterQuery = None,
    last_event_id: LastEventIdHeader = None,
    queried_event_id: LastEventIdQuery = None,
) -> int | None:
    """Return the position behind which to begin: of the last one seen, else of the first wish."""
    named = (last_event_id, queried_event_id, after)
    return next((position for position in named if position is not None), None)


BeginningDep = Annotated[int | None, Depends(get_beginning)]


async def get_project_stream(
    request: Request,
    container: ContainerDep,
    listener: ListenerDep,
    begin: BeginningDep,
) -> AsyncIterator[EventStream]:
    """The stream of the listener's project; open before the answer begins, closed behind it."""
    async with container.event_streams.opened(listener, session_id=None, after=begin) as stream:
        _hold(request, stream)
        yield stream


async def get_session_stream(
    request: Request,
    container: ContainerDep,
    session_id: SessionIdPath,
    listener: ListenerDep,
    begin: BeginningDep,
) -> AsyncIterator[EventStream]:
    """The stream of a session; it may be one that nothing was written to yet."""
    async with container.event_streams.opened(
        listener, session_id=session_id, after=begin
    ) as stream:
        _hold(request, stream)
        yield stream


def _hold(request: Request, stream: EventStream) -> None:
    # A stream lasts for hours and does nothing most of the time: it is none of the requests that
    # are worked on, and has a limit of its own.
    request.state.slot.leave()
    stream.abort = getattr(request.state, "abort", None)


ProjectStreamDep = Annotated[EventStream, Depends(get_project_stream)]
SessionStreamDep = Annotated[EventStream, Depends(get_session_stream)]
