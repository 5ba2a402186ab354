"""Shapes of events: what `data` holds, by the name in `event`.

Source: spec 002, "Event Flow & Consumers".
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from app.models.base import WireModel
from app.models.event import EventType
from app.models.interaction import ChatMessage, InputKind, Interaction
from app.models.page import Modality, PageType
from app.models.tool_result import SanitizedToolResult
from app.wire.sessions import EntryCounts


class _Event(WireModel):
    """What every event says of itself."""

    session_id: Annotated[str | None, Field(description="Null for what is outside any session.")]
    seq: Annotated[
        int | None, Field(description="The number the write took in its session, null outside.")
    ]
    id: Annotated[str, Field(description="Of what was written: a record, a page, a session.")]
    created_at: datetime


class ToolResultEvent(_Event):
    """A tool result was stored; `sanitized` is the stored record, byte for byte."""

    tool_name: str
    call_id: str
    success: bool
    sanitized: SanitizedToolResult
    raw_result: Annotated[
        Any,
        Field(
            default=None,
            description="What the tool returned; only while `DECTO_DEBUG_TOOL_RESULT_RAW` is on.",
        ),
    ]


class MessageEvent(_Event):
    """A message was appended to a session; `message` is the stored one, media as references."""

    role: str
    message: dict[str, Any]


class InteractionEvent(_Event):
    """A user's turn was stored, as it was before its answer."""

    input_kind: InputKind
    interaction: Interaction


class AnswerEvent(_Event):
    """The answer of an interaction was set; `id` is that of the interaction."""

    input_kind: InputKind
    output: ChatMessage


class PageEvent(_Event):
    """A page was created, changed or deleted; `id` is its id."""

    version: Annotated[int, Field(description="Its version then; of a deleted page, the last.")]
    modality: Modality
    page_type: PageType


class PageFaultEvent(_Event):
    """A page was faulted in; in a session, `messageId` is that of the message in its history."""

    level: Literal["FULL", "REDUCED", "ABSTRACT", "REFERENCE"]
    call_id: str | None
    message_id: str | None


class ImportedEntries(WireModel):
    """How many entries of each kind came with a session."""

    tool_results: int
    page_faults: int
    messages: int
    interactions: int
    answers: int


class SessionImportedEvent(_Event):
    """A session came in as a bundle; `seq` is the last number it had. Its history has the rest."""

    imported: ImportedEntries


class SessionDeletedEvent(_Event):
    """A session was deleted with its history and its pages, and what its events said."""

    deleted: EntryCounts


class ResetEvent(WireModel):
    """The position that was asked for is not kept: load anew what you show.

    It is no event of the log. What follows in the stream is from `position` on.
    """

    reason: Literal["position-not-kept"]
    position: int


class EventTicket(WireModel):
    """What a browser shows in `?ticket=` instead of a key, to begin listening until it expires."""

    ticket: str
    expires_at: datetime


DATA_OF: dict[EventType | Literal["reset"], type[BaseModel]] = {
    "llmservice:toolResult": ToolResultEvent,
    "message:created": MessageEvent,
    "interaction:created": InteractionEvent,
    "interaction:answered": AnswerEvent,
    "page:created": PageEvent,
    "page:updated": PageEvent,
    "page:deleted": PageEvent,
    "page:faulted": PageFaultEvent,
    "session:imported": SessionImportedEvent,
    "session:deleted": SessionDeletedEvent,
    "reset": ResetEvent,
}
"""The shape of `data` for every name of an event."""
