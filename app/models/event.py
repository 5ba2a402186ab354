"""Events: what was written, in the order it was committed.

Every write to a project takes the project's next number; a write to a session takes the session's
next `seq` as well. An event is known by its number in the stream of its project, and by its `seq`
in the stream of its session.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from app.models.interaction import StoredInteraction
from pagefault_dialects.json.values import JsonValue

EventType: TypeAlias = Literal[
    "llmservice:toolResult",
    "message:created",
    "interaction:created",
    "interaction:answered",
    "page:created",
    "page:updated",
    "page:deleted",
    "page:faulted",
    "session:imported",
    "session:deleted",
]
"""What happened (spec 002, "Event Flow & Consumers", and in the same style)."""

EndReason: TypeAlias = Literal["left", "slow", "stalled", "access-lost", "stopping", "failed"]
"""Why a stream of events ended: its listener left, or was cut off."""

CONTENT_OF: Mapping[EventType, str] = {
    "llmservice:toolResult": "sanitized",
    "message:created": "message",
    "interaction:created": "interaction",
    "interaction:answered": "output",
}
"""The member of an event that holds the bytes of a stored record."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to be written with the change it tells of.

    `subject_id` is the id of what was written, and `size_bytes` the size of the stored record it
    will be shown with. `members` is what it says beside that record, in order.
    """

    type: EventType
    subject_id: str
    created_at: datetime
    session_id: str | None = None
    seq: int | None = None
    size_bytes: int = 0
    members: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event as the log keeps it, and what it shows: the bytes of a record, or an interaction."""

    number: int
    type: EventType
    subject_id: str
    session_id: str | None
    seq: int | None
    created_at: datetime
    members: bytes
    content: bytes | StoredInteraction | None


@dataclass(frozen=True, slots=True)
class LogBounds:
    """What a project's log holds: numbers above `removed`, up to `last`."""

    removed: int
    last: int


@dataclass(frozen=True, slots=True)
class Event:
    """An event as subscribers get it: `data` is its JSON object, the same bytes for everybody."""

    number: int
    type: EventType
    subject_id: str
    session_id: str | None
    seq: int | None
    data: bytes
