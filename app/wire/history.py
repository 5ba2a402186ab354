"""Shapes of the entries of a session's history, each kind in its own spelling.

A message is stored as the JSON object it came as; what its entry says before it is encoded here,
and the rest is only described.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Raw
from pydantic import ConfigDict, Field
from typing_extensions import TypeAliasType

from app.models import message as stored
from app.models.interaction import ChatMessage, InputKind, StoredAnswer, StoredInteraction
from app.models.rendering import JsonPiece
from app.wire.interactions import ShownInteraction, interaction
from app.wire.lists import ListPage
from app.wire.pages import Blocks
from app.wire.shape import Moment, Shape, ShownAs, moment
from app.wire.tool_results import StoredRecord


class ToolMessage(Shape, kw_only=True):
    """A tool result as it stands in history; `sanitized` is the stored record, byte for byte."""

    seq: Annotated[int, Field(ge=1)]
    id: str
    role: Literal["tool"]
    tool_call_id: str
    name: str
    created_at: Moment
    sanitized: StoredRecord


class _Entry(Shape, rename=None, kw_only=True):
    """What the other entries begin with."""

    seq: int
    id: str
    created_at: Moment


class PageFaultMessage(_Entry, kw_only=True):
    """A page that a model has faulted in, as history keeps it: media by reference."""

    role: Literal["tool"]
    tool_call_id: str | None
    content: Blocks


class HistoryMessage(_Entry, kw_only=True):
    """A message that a client appended, as it was written, with the number it took.

    Source: spec 000, "Extend `HistoryMessage.content` type".
    """

    described = ConfigDict(extra="allow")

    role: str
    content: str | tuple[dict[str, Any], ...] | None = None
    name: str | None = None
    tool_calls: tuple[dict[str, Any], ...] | None = None
    tool_call_id: str | None = None


class InteractionEntry(_Entry, kw_only=True):
    """An interaction as it was written; an answer that was set later is an entry of its own."""

    input_kind: InputKind
    bound: Annotated[
        Mapping[str, str | None] | None,
        Field(
            description="The URIs of resources by the aliases they were attached by, and null by "
            "the id of a resource that was not there; absent where there is neither."
        ),
    ] = None
    interaction: ShownInteraction


class AnswerEntry(_Entry, kw_only=True):
    """The answer of an interaction, set after it."""

    interaction_id: str
    output: Annotated[Raw, ShownAs(ChatMessage)]


HistoryEntry = TypeAliasType(
    "HistoryEntry",
    ToolMessage | PageFaultMessage | InteractionEntry | AnswerEntry | HistoryMessage,
)


class MessagePage(ListPage[HistoryEntry]):
    """A page of a session's history, in the order of `seq`."""


def history_entry(entry: stored.HistoryEntry) -> bytes:
    """Return the JSON of an entry of a session's history."""
    match entry:
        case stored.StoredMessage():
            return _tool_message(entry)
        case stored.StoredHistoryMessage():
            return _head(entry).followed_by(entry.message)
        case StoredInteraction():
            return _interaction_entry(entry)
        case StoredAnswer():
            return _answer_entry(entry)


def history_message_pieces(
    message: stored.StoredHistoryMessage, pieces: Sequence[JsonPiece]
) -> Sequence[JsonPiece]:
    """Return the entry of a message that is made of pieces, the first of which is text."""
    first = pieces[0] if isinstance(pieces[0], bytes) else b""
    return [_head(message).followed_by(first), *pieces[1:]]


def _head(message: stored.StoredHistoryMessage) -> _Entry:
    return _Entry(seq=message.seq, id=message.message_id, created_at=moment(message.created_at))


def _tool_message(message: stored.StoredMessage) -> bytes:
    return ToolMessage(
        seq=message.seq,
        id=message.message_id,
        role="tool",
        tool_call_id=message.tool_call_id,
        name=message.tool_name,
        created_at=moment(message.created_at),
        sanitized=Raw(message.sanitized),
    ).encode()


def _interaction_entry(entry: StoredInteraction) -> bytes:
    bound = {
        attached_id: None if resource_id is None else f"blob:{resource_id}"
        for attached_id, resource_id in entry.bindings.items()
    }
    return InteractionEntry(
        seq=entry.seq,
        id=entry.interaction_id,
        created_at=moment(entry.created_at),
        input_kind=entry.input_kind,
        bound=bound or None,
        interaction=interaction(entry, entry.first_output),
    ).encode()


def _answer_entry(entry: StoredAnswer) -> bytes:
    # The id of an answer is made of that of its interaction.
    return AnswerEntry(
        seq=entry.seq,
        id=f"{entry.interaction_id}.output",
        created_at=moment(entry.created_at),
        interaction_id=entry.interaction_id,
        output=Raw(entry.output),
    ).encode()
