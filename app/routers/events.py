"""Events as they happen: server-sent ones of a session or of the whole project, and tickets."""

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from datetime import timedelta
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.sse import format_sse_event

from app.errors import InvalidPayloadError, OverloadedError, StreamLimitError
from app.http.api_route import ApiRoute
from app.http.authenticate import BearerDep, caller_by_key
from app.http.dependencies import LinksDep
from app.http.event_streams import EventStreamResponse, ProjectStreamDep, SessionStreamDep
from app.http.problem_types import problem_responses
from app.models.identity import utc_now
from app.services.access.signed_links import Ticket
from app.services.events.batches import EventItem
from app.services.events.stream import EventStream
from app.wire.events import EventTicket

router = APIRouter(prefix="/api", tags=["events"], route_class=ApiRoute)

_RETRY_MILLISECONDS = 1_000
_TICKET_SECONDS = 60
# With the data that they are found by, 2 MiB in all.
_BLOCKS_KEPT = 64
_BYTES_FOR_MANY = 16 * 1024

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
        "description": "Events; the schemas named `…Event` say what their `data` holds.",
    },
    **problem_responses(InvalidPayloadError, OverloadedError, StreamLimitError),
}


@router.get("/events", response_class=Response, responses=_STREAM)
async def stream_events(stream: ProjectStreamDep) -> Response:
    """Listen to everything that is written to the project, as server-sent events.

    `id` is the event's number in the project's log: 1, 2, 3 … in the order of the commits. Come
    back with the last one seen, and nothing is missed or told twice. A `reset` says that this is no
    longer possible: what you show has to be loaded anew.
    """
    return EventStreamResponse(_sent(stream))


@router.get("/sessions/{session_id}/events", response_class=Response, responses=_STREAM)
async def stream_session_events(stream: SessionStreamDep) -> Response:
    """Listen to what is written to a session, as server-sent events.

    `id` is the session's `seq`, the same as in its history: read the history, then listen `after`
    its last `seq`. Nothing has to have been written to the session yet.
    """
    return EventStreamResponse(_sent(stream))


@router.post(
    "/events/ticket",
    status_code=201,
    response_model=EventTicket,
)
async def create_event_ticket(request: Request, links: LinksDep, _: BearerDep) -> Response:
    """Make a ticket to begin listening with, for browsers, whose EventSource sends no headers.

    It holds for a minute and permits nothing else. A stream that has begun goes on behind it, until
    the key is revoked.
    """
    caller = await caller_by_key(request)
    expires_at = utc_now().replace(microsecond=0) + timedelta(seconds=_TICKET_SECONDS)
    ticket = EventTicket(
        ticket=links.sign_ticket(Ticket(caller, expires_at)), expires_at=expires_at
    )
    return Response(
        ticket.model_dump_json(by_alias=True),
        status_code=201,
        media_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


async def _sent(stream: EventStream) -> AsyncGenerator[Iterable[bytes], None]:
    # Without data it is no event, and yet whoever has seen nothing can come back to this place; not
    # to that of a reset, before it is told.
    place = None if stream.start.is_reset else str(stream.start.position)
    yield [format_sse_event(id=place, retry=_RETRY_MILLISECONDS)]
    async with aclosing(stream.batches()) as batches:
        async for batch in batches:
            yield _pieces(batch)


def _pieces(batch: Sequence[EventItem]) -> Iterator[bytes]:
    """Events as they are sent: small ones together, large ones in slices.

    A connection takes whole slices, and holds one more than it has room for. The data itself is
    the same bytes for everybody who listens.
    """
    small: list[bytes] = []
    for item in batch:
        if len(item.data) <= _BYTES_FOR_MANY:
            small.append(_block_for_many(item.type, item.data, item.position))
            continue
        if small:
            yield b"".join(small)
            small = []
        yield from _sliced(item)
    if small:
        yield b"".join(small)


def _sliced(item: EventItem) -> Iterator[bytes]:
    head, tail = _around(item.type, item.position)
    yield head
    # JSON text has no line ends, which would each begin a line of their own.
    for start in range(0, len(item.data), _BYTES_FOR_MANY):
        yield item.data[start : start + _BYTES_FOR_MANY]
    yield tail


@lru_cache(maxsize=_BLOCKS_KEPT)
def _around(kind: str, position: int) -> tuple[bytes, bytes]:
    head, _, tail = format_sse_event(event=kind, data_str="\0", id=str(position)).partition(b"\0")
    return head, tail


def _written(kind: str, data: bytes, position: int) -> bytes:
    return format_sse_event(event=kind, data_str=data.decode(), id=str(position))


# Everybody who listens is sent the same, and most at about the same time.
_block_for_many = lru_cache(maxsize=_BLOCKS_KEPT)(_written)
