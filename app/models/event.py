"""Events: what was written, in the order it was committed.

Every write to a project takes the project's next number; a write to a session takes the session's
next `seq` as well. An event is known by its number in the stream of its project, and by its `seq`
in the stream of its session.
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
