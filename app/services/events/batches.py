"""What listeners get: the same for everybody who listens to the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.models.event import Event


@dataclass(frozen=True, slots=True)
class EventItem:
    """What a listener gets: `type` and `data`, and the position it may come back with.

    `number` is the event's place in the log of its project. A `reset` says that the position it
    came with is not kept: what it shows has to be loaded anew, and what follows is from now on.
    """

    number: int
    position: int
    type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events that are handed out together, in order, and how many bytes of data they have."""

    items: Sequence[EventItem]
    size_bytes: int


def event_item_of(event: Event, session_id: str | None) -> EventItem:
    """An event for those who listen to a session, or to all of the project."""
    position = event.number
    if session_id is not None and event.seq is not None:
        position = event.seq
    return EventItem(event.number, position, event.type, event.data)


def event_batch_of(events: Sequence[Event], session_id: str | None) -> EventBatch:
    """Those of the events that belong to a session, or all of them."""
    wanted = [event for event in events if session_id in (None, event.session_id)]
    return EventBatch(
        [event_item_of(event, session_id) for event in wanted],
        sum(len(event.data) for event in wanted),
    )
