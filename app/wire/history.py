"""Shapes of the entries of a session's history, one for each kind of entry.

A message is stored as the JSON object that the client sent. An entry with a message consists of
members that are encoded here and the stored members of the message. So `PageFaultMessage` and
`HistoryMessage` only document the JSON.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Raw
from pydantic import ConfigDict, Field
from typing_extensions import TypeAliasType

from app.models import message as stored
from app.models.interaction import ChatMessage
from app.models.stored_interaction import InputKind, StoredAnswer, StoredInteraction
from app.wire.interactions import InteractionMember, build_interaction
from app.wire.page_blocks import Blocks
from app.wire.shape import CursorList, DocumentedAs, Shape, Timestamp, make_timestamp
from app.wire.tool_results import StoredRecord
from pagefault_dialects.json.values import JsonObject, parse_stored_json
from pagefault_dialects.model.normalized import BodyWarning
from pagefault_dialects.model.render_options import JsonPiece


class ToolMessage(Shape, kw_only=True):
    """The entry of a tool result; `sanitized` is the stored record, byte for byte."""

    seq: Annotated[int, Field(ge=1)]
    id: str
    role: Literal["tool"]
    tool_call_id: str
    name: str
    created_at: Timestamp
    entry: Literal["tool_result"]
    sanitized: StoredRecord


class _Entry(Shape, rename=None, kw_only=True):
    """The common members of all entries except for tool results."""

    seq: int
    id: str
    created_at: Timestamp


class _MembersBeforeMessage(_Entry, kw_only=True):
    """The members of an entry that are inserted before the stored members of its message."""

    entry: Literal["page_fault", "message"] | None = None
    warnings: tuple[BodyWarning, ...] = ()


class PageFaultMessage(_Entry, kw_only=True):
    """The entry of a page fault: the page as a tool message, with media as references."""

    entry: Literal["page_fault"]
    role: Literal["tool"]
    tool_call_id: str | None
    content: Blocks


class HistoryMessage(_Entry, kw_only=True):
    """The entry of a message that a client appended.

    If a message has only members of specification 000, these are members of the entry. Otherwise
    the entry has the whole message in `message`, with its `dialect` and `role`, and none of the
    other members.

    Source: spec 000, "Extend `HistoryMessage.content` type".
    """

    schema_config = ConfigDict(extra="allow")

    entry: Literal["message"]
    dialect: str | None = None
    """The dialect of the message in `message`, for instance `openai-responses`; absent without
    `message`."""
    warnings: tuple[BodyWarning, ...] = ()
    """Only in the response to the request that appends the message: keys that an object of the body
    has more than once."""
    role: stored.MessageRole
    """For a message in `message`: `system`, `user`, `assistant`, or `tool` if it has only results
    of calls."""
    message: JsonObject | None = None
    """The message as sent, if it has other members. Media of 1,024 bytes or more are replaced by
    references to resources."""
    content: stored.MessageContent | None = None
    name: str | None = None
    tool_calls: tuple[JsonObject, ...] | None = None
    tool_call_id: str | None = None


BoundFiles = TypeAliasType("BoundFiles", Mapping[str, str | None])


class InteractionEntry(_Entry, kw_only=True):
    """The entry of an interaction as it was written; a later output has another entry."""

    entry: Literal["interaction"]
    input_kind: InputKind
    bound: BoundFiles | None = None
    """The URIs of attached resources by alias, and null for ids of resources that did not exist.
    Absent without such attachments."""
    interaction: InteractionMember


class AnswerEntry(_Entry, kw_only=True):
    """The entry of the output of an interaction that was set after the interaction."""

    entry: Literal["answer"]
    interaction_id: str
    output: Annotated[Raw, DocumentedAs(ChatMessage)]


HistoryEntry = TypeAliasType(
    "HistoryEntry",
    Annotated[
        ToolMessage | PageFaultMessage | InteractionEntry | AnswerEntry | HistoryMessage,
        Field(discriminator="entry"),
    ],
)


class MessagePage(CursorList[HistoryEntry]):
    """A part of a session's history, in the order of `seq`."""


def encode_history_entry(entry: stored.StoredEntry) -> bytes:
    """Return the JSON of an entry of a session's history."""
    match entry:
        case stored.StoredMessage():
            return ToolMessage(
                seq=entry.seq,
                id=entry.message_id,
                role="tool",
                tool_call_id=entry.tool_call_id,
                name=entry.tool_name,
                created_at=make_timestamp(entry.created_at),
                entry="tool_result",
                sanitized=Raw(entry.sanitized),
            ).encode()
        case stored.StoredHistoryMessage():
            return _build_members_before_message(entry).with_members_of(entry.message)
        case StoredInteraction():
            bound = {
                attached_id: None if resource_id is None else f"blob:{resource_id}"
                for attached_id, resource_id in entry.bindings.items()
            }
            return InteractionEntry(
                seq=entry.seq,
                id=entry.interaction_id,
                created_at=make_timestamp(entry.created_at),
                entry="interaction",
                input_kind=entry.input_kind,
                bound=bound or None,
                interaction=build_interaction(entry, entry.first_output),
            ).encode()
        case StoredAnswer():
            # The id of an answer is derived from the id of its interaction.
            return AnswerEntry(
                seq=entry.seq,
                id=f"{entry.interaction_id}.output",
                created_at=make_timestamp(entry.created_at),
                entry="answer",
                interaction_id=entry.interaction_id,
                output=Raw(entry.output),
            ).encode()


def encode_appended_message(
    message: stored.StoredHistoryMessage, warnings: Sequence[BodyWarning]
) -> bytes:
    """Return the JSON of the entry of a new message, with warnings about the request."""
    members = _build_members_before_message(message)
    members.warnings = tuple(warnings)
    return members.with_members_of(message.message)


def encode_message_pieces(
    message: stored.StoredHistoryMessage, pieces: Sequence[JsonPiece]
) -> Sequence[JsonPiece]:
    """Return the JSON of the entry of a message in pieces.

    Args:
        message: The entry; the JSON of its message is not used.
        pieces: The JSON of the message, with media that are read when they are sent.
    """
    first = pieces[0] if isinstance(pieces[0], bytes) else b""
    return [_build_members_before_message(message).with_members_of(first), *pieces[1:]]


def _build_members_before_message(message: stored.StoredHistoryMessage) -> _MembersBeforeMessage:
    kind: Literal["page_fault", "message"] = "page_fault" if message.is_page_fault else "message"
    return _MembersBeforeMessage(
        seq=message.seq,
        id=message.message_id,
        created_at=make_timestamp(message.created_at),
        entry=None if _has_own_entry(message) else kind,
    )


def _has_own_entry(message: stored.StoredHistoryMessage) -> bool:
    """Return whether the message itself has a member `entry`, as earlier versions permitted."""
    if message.is_wrapped or b'"entry":' not in message.message:
        return False
    return "entry" in parse_stored_json(message.message)
