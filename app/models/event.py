"""Events: the writes of a project in the order of their commits.

Every write to a project takes the next number of the project. A write to a session also takes the
next `seq` of the session. The id of an event is its number in the stream of the project, and its
`seq` in the stream of the session.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

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

    `subject_id` is the id of the written record, and `size_bytes` the size of the stored record in
    the event. `members` are the other members of the event, in order.
    """

    type: EventType
    subject_id: str
    created_at: datetime
    session_id: str | None = None
    seq: int | None = None
    size_bytes: int = 0
    members: Mapping[str, JsonValue] = field(default_factory=dict)
