"""Shapes of the entries of a session's history, by their kinds.

A message is stored as the JSON object that the client sent. Only the members before it are encoded
here; the other shapes document the JSON.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Raw
from pydantic import ConfigDict, Field
from typing_extensions import TypeAliasType

from app.models import message as stored
from app.models.interaction import ChatMessage
from app.models.stored_interaction import InputKind, StoredAnswer, StoredInteraction
from app.wire.interactions import ShownInteraction, interaction
from app.wire.page_blocks import Blocks
from app.wire.shape import ListPage, Moment, Shape, ShownAs, moment
from app.wire.tool_results import StoredRecord
from pagefault_dialects.json.values import JsonObject, parse_stored_json
from pagefault_dialects.model.normalized import BodyWarning
from pagefault_dialects.model.render_options import JsonPiece


class ToolMessage(Shape, kw_only=True):
    """A tool result as it stands in history; `sanitized` is the stored record, byte for byte."""

    seq: Annotated[int, Field(ge=1)]
    id: str
    role: Literal["tool"]
    tool_call_id: str
    name: str
    created_at: Moment
    entry: Literal["tool_result"]
    sanitized: StoredRecord


class _Entry(Shape, rename=None, kw_only=True):
    """The common members of all other entries."""

    seq: int
    id: str
    created_at: Moment


class _Head(_Entry, kw_only=True):
    """The common members, and the kind of message."""

    entry: Literal["page_fault", "message"] | None = None
    warnings: tuple[BodyWarning, ...] = ()


class PageFaultMessage(_Entry, kw_only=True):
    """A page that a model has faulted in, as history keeps it: media by reference."""

    entry: Literal["page_fault"]
    role: Literal["tool"]
    tool_call_id: str | None
    content: Blocks


class HistoryMessage(_Entry, kw_only=True):
    """A message that a client appended, as it was written, with the number it took.

    A message with only the members of specification 000 has them here. Any other message stands in
    `message`, with its `dialect` and `role`, and has none of the other members.

    Source: spec 000, "Extend `HistoryMessage.content` type".
    """

    described = ConfigDict(extra="allow")

    entry: Literal["message"]
    dialect: str | None = None
    """The dialect of the message in `message`, for instance `openai-responses`; absent without
    `message`."""
    warnings: tuple[BodyWarning, ...] = ()
    """Only in the answer to the request that appends it: keys that an object of the body has more
    than once."""
    role: stored.MessageRole
    """For a message in `message`: `system`, `user`, `assistant`, or `tool` if it has only results
    of calls."""
    message: JsonObject | None = None
    """The message as sent, if it is not flat. Media from 1,024 bytes on are replaced by references
    to resources."""
    content: stored.MessageContent | None = None
    name: str | None = None
    tool_calls: tuple[JsonObject, ...] | None = None
    tool_call_id: str | None = None


BoundFiles = TypeAliasType("BoundFiles", Mapping[str, str | None])


class InteractionEntry(_Entry, kw_only=True):
    """An interaction as it was written; an answer that was set later is an entry of its own."""

    entry: Literal["interaction"]
    input_kind: InputKind
    bound: BoundFiles | None = None
    """The URIs of resources by the aliases they were attached by, and null by the id of a resource
    that was not there; absent where there is neither."""
    interaction: ShownInteraction


class AnswerEntry(_Entry, kw_only=True):
    """The answer of an interaction, set after it."""

    entry: Literal["answer"]
    interaction_id: str
    output: Annotated[Raw, ShownAs(ChatMessage)]


HistoryEntry = TypeAliasType(
    "HistoryEntry",
    Annotated[
        ToolMessage | PageFaultMessage | InteractionEntry | AnswerEntry | HistoryMessage,
        Field(discriminator="entry"),
    ],
)


class MessagePage(ListPage[HistoryEntry]):
    """A page of a session's history, in the order of `seq`."""


def history_entry(entry: stored.StoredEntry) -> bytes:
    """Return the JSON of an entry of a session's history."""
    match entry:
        case stored.StoredMessage():
            return ToolMessage(
                seq=entry.seq,
                id=entry.message_id,
                role="tool",
                tool_call_id=entry.tool_call_id,
                name=entry.tool_name,
                created_at=moment(entry.created_at),
                entry="tool_result",
                sanitized=Raw(entry.sanitized),
            ).encode()
        case stored.StoredHistoryMessage():
            return _head(entry).followed_by(entry.message)
        case StoredInteraction():
            bound = {
                attached_id: None if resource_id is None else f"blob:{resource_id}"
                for attached_id, resource_id in entry.bindings.items()
            }
            return InteractionEntry(
                seq=entry.seq,
                id=entry.interaction_id,
                created_at=moment(entry.created_at),
                entry="interaction",
                input_kind=entry.input_kind,
                bound=bound or None,
                interaction=interaction(entry, entry.first_output),
            ).encode()
        case StoredAnswer():
            # The id of an answer is derived from the id of its interaction.
            return AnswerEntry(
                seq=entry.seq,
                id=f"{entry.interaction_id}.output",
                created_at=moment(entry.created_at),
                entry="answer",
                interaction_id=entry.interaction_id,
                output=Raw(entry.output),
            ).encode()


def appended_message(
    message: stored.StoredHistoryMessage, warnings: Sequence[BodyWarning]
) -> bytes:
    """Return the JSON of the entry of a new message, with warnings about the request."""
    head = _head(message)
    head.warnings = tuple(warnings)
    return head.followed_by(message.message)


def history_message_pieces(
    message: stored.StoredHistoryMessage, pieces: Sequence[JsonPiece]
) -> Sequence[JsonPiece]:
    """Return the entry of a message in pieces; the first piece of the message is text."""
    first = pieces[0] if isinstance(pieces[0], bytes) else b""
    return [_head(message).followed_by(first), *pieces[1:]]


def _head(message: stored.StoredHistoryMessage) -> _Head:
    kind: Literal["page_fault", "message"] = "page_fault" if message.is_page_fault else "message"
    return _Head(
        seq=message.seq,
        id=message.message_id,
        created_at=moment(message.created_at),
        entry=None if _has_own_entry(message) else kind,
    )


def _has_own_entry(message: stored.StoredHistoryMessage) -> bool:
    """Return whether the message has a member `entry` itself; only earlier versions store such."""
    if message.is_wrapped or b'"entry":' not in message.message:
        return False
    return "entry" in parse_stored_json(message.message)
