"""Shapes of events: the `data` of each kind of event.

The JSON of an event has three parts. Its first members, such as `toolName`, and its record are
stored bytes. Only the last members, which are common to all events, are encoded here.

Source: spec 002, "Event Flow & Consumers".
"""

from datetime import datetime
from typing import Any, Literal

import msgspec

from app.models.event import CONTENT_OF, Event, LoggedEvent
from app.models.interaction import ChatMessage, Interaction
from app.models.stored_interaction import InputKind, StoredInteraction
from app.models.tool_result import SanitizedToolResult
from app.wire.interactions import build_interaction
from app.wire.sessions import CopiedEntries, EntryCounts, ForkSource, ImportedEntries
from app.wire.shape import Shape, Timestamp, make_timestamp
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.base import WireModel
from pagefault_dialects.model.page import LevelName, Modality, PageType


class _Event(Shape, kw_only=True):
    """The common members of all events."""

    session_id: str | None
    """Null outside of sessions."""
    seq: int | None
    """The number of the write in its session, null outside of sessions."""
    id: str
    """The id of the record, page or session that was written."""
    created_at: Timestamp


class ToolResultEvent(_Event, kw_only=True):
    """A tool result was stored; `sanitized` is the stored record, byte for byte."""

    tool_name: str
    call_id: str
    success: bool
    sanitized: SanitizedToolResult
    raw_result: Any = None
    """The raw output of the tool; only while `DECTO_DEBUG_TOOL_RESULT_RAW` is on."""


class MessageEvent(_Event, kw_only=True):
    """A message was appended to a session; `message` is the stored one, media as references."""

    role: str
    dialect: str | None = None
    """The dialect of the message, if the entry in the history has it in `message`."""
    message: JsonObject


class InteractionEvent(_Event, kw_only=True):
    """A user's turn was stored. If its output is set later, that is another event."""

    input_kind: InputKind
    interaction: Interaction


class AnswerEvent(_Event, kw_only=True):
    """The output of an interaction was set; `id` is that of the interaction."""

    input_kind: InputKind
    output: ChatMessage


class PageEvent(_Event, kw_only=True):
    """A page was created, changed or deleted; `id` is its id."""

    version: int
    """The version of the page after the write; for a deleted page, the last version."""
    modality: Modality
    page_type: PageType


class PageFaultEvent(_Event, kw_only=True):
    """A page was faulted in; in a session, `messageId` is that of the message in its history."""

    level: LevelName
    call_id: str | None
    message_id: str | None


class SessionImportedEvent(_Event, kw_only=True):
    """A session was imported from a bundle; `seq` is its last number. See its history."""

    imported: ImportedEntries


class SessionForkedEvent(_Event, kw_only=True):
    """A session was forked from the beginning of another one; `seq` is the last number copied."""

    forked_from: ForkSource
    copied: CopiedEntries


class SessionDeletedEvent(_Event, kw_only=True):
    """A session was deleted with its history, its pages and the contents of its events."""

    deleted: EntryCounts


class ResetEvent(Shape, kw_only=True):
    """Events after the requested position are not stored any more: reload the displayed state.

    It is not an event of the log. The stream continues from `position`.
    """

    reason: Literal["position-not-kept"]
    position: int


class EventTicket(WireModel):
    """A credential for `?ticket=`. A browser has to open its stream before the ticket expires."""

    ticket: str
    expires_at: datetime


def encode_event(logged: LoggedEvent) -> Event:
    """Return the event with its JSON: the stored members, the record, and the common members."""
    common_members = _Event(
        session_id=logged.session_id,
        seq=logged.seq,
        id=logged.subject_id,
        created_at=make_timestamp(logged.created_at),
    ).encode()
    pieces = (logged.members[1:-1], _encode_content(logged), common_members[1:-1])
    return Event(
        number=logged.number,
        type=logged.type,
        subject_id=logged.subject_id,
        session_id=logged.session_id,
        seq=logged.seq,
        data=b"{%s}" % b",".join(filter(None, pieces)),
    )


def add_raw_result(data: bytes, raw_result: bytes) -> bytes:
    """Append the raw output of the tool to the JSON of an event; both are JSON."""
    return b'%s,"rawResult":%s}' % (data[:-1], raw_result)


def _encode_content(logged: LoggedEvent) -> bytes:
    """Return the member with the stored record as JSON; empty for events without a record."""
    content = logged.content
    if content is None:
        return b""
    if isinstance(content, StoredInteraction):
        content = msgspec.json.encode(build_interaction(content, content.first_output))
    return b'"%s":%s' % (CONTENT_OF[logged.type].encode(), content)
