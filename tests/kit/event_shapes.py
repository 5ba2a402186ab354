"""The shapes of what events say, by the names of the events."""

from typing import Literal

from app.models.event import EventType
from app.wire.events import (
    AnswerEvent,
    InteractionEvent,
    MessageEvent,
    PageEvent,
    PageFaultEvent,
    ResetEvent,
    SessionDeletedEvent,
    SessionForkedEvent,
    SessionImportedEvent,
    ToolResultEvent,
)
from app.wire.shape import Shape

DATA_OF: dict[EventType | Literal["reset"], type[Shape]] = {
    "llmservice:toolResult": ToolResultEvent,
    "message:created": MessageEvent,
    "interaction:created": InteractionEvent,
    "interaction:answered": AnswerEvent,
    "page:created": PageEvent,
    "page:updated": PageEvent,
    "page:deleted": PageEvent,
    "page:faulted": PageFaultEvent,
    "session:imported": SessionImportedEvent,
    "session:forked": SessionForkedEvent,
    "session:deleted": SessionDeletedEvent,
    "reset": ResetEvent,
}
"""The shape of `data` for every name of an event."""
