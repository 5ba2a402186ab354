"""Events: the writes of a project in the order of their commits.

Every write to a project takes the next number of the project. A write to a session also takes the
next `seq` of the session. The id of an event is its number in the stream of the project, and its
`seq` in the stream of the session.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from app.models.stored_interaction import StoredInteraction
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
    "session:forked",
    "session:deleted",
]
"""The type of an event (spec 002, "Event Flow & Consumers", and in the same style)."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that is written in the same transaction as its change.

    `subject_id` is the id of the written record, and `size_bytes` its size, if the event contains
    the record. `members` are the other members of the event, in order.
    """

    type: EventType
    subject_id: str
    created_at: datetime
    session_id: str | None = None
    seq: int | None = None
    size_bytes: int = 0
    members: Mapping[str, JsonValue] = field(default_factory=dict)


EndReason: TypeAlias = Literal["left", "slow", "stalled", "access-lost", "stopping", "failed"]
"""The reason for the end of a stream: its listener left, or the service closed it."""

CONTENT_OF: Mapping[EventType, str] = {
    "llmservice:toolResult": "sanitized",
    "message:created": "message",
    "interaction:created": "interaction",
    "interaction:answered": "output",
}
"""The member that contains the stored record, for each type of event that contains one."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event of the log with its content: the bytes of a record, or an interaction."""

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
    """The range of numbers in a project's log: above `removed`, up to `last`."""

    removed: int
    last: int


@dataclass(frozen=True, slots=True)
class Event:
    """An event as subscribers receive it. All of them share `data`, the JSON of the event."""

    number: int
    type: EventType
    subject_id: str
    session_id: str | None
    seq: int | None
    data: bytes
