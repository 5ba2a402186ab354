"""Events as the log stores them and as listeners receive them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from app.models.event import EventType
from app.models.stored_interaction import StoredInteraction

EndReason: TypeAlias = Literal["left", "slow", "stalled", "access-lost", "stopping", "failed"]
"""The reason for the end of a stream: its listener left, or the service closed it."""

CONTENT_OF: Mapping[EventType, str] = {
    "llmservice:toolResult": "sanitized",
    "message:created": "message",
    "interaction:created": "interaction",
    "interaction:answered": "output",
}
"""The member of an event that holds the bytes of a stored record."""


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
    """An event as subscribers receive it; `data` is the same JSON object for all of them."""

    number: int
    type: EventType
    subject_id: str
    session_id: str | None
    seq: int | None
    data: bytes
