"""Readings of single messages of any dialect, when they are sent and when they are rendered.

read_entry      reads a message that is sent
read_stored     reads a stored message with the dialect and the version of its first reading
entry_turns     returns the turns of either
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import NoneType
from typing import Any, Literal

from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.dialects.message_registry import read_message
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.messages.message_calls import as_answer
from pagefault_dialects.messages.message_turns import MessageEntry, is_cache_block, message_turns
from pagefault_dialects.messages.native_blocks import with_native_blocks
from pagefault_dialects.messages.native_messages import keep_for_provider, native_message
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Item,
    ProviderBlock,
    SyntheticNote,
    TurnCall,
    in_entry,
    placed_calls,
)
from pagefault_dialects.model.render_options import Audience
from pagefault_dialects.model.resource import Resource

READING = 1
"""The version of readings, which changes only with the reading of stored messages."""

EntryRole = Literal["system", "user", "assistant", "tool"]

_FLAT = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
_NONE: Mapping[str, Resource] = {}
PLAIN = "openai-chat"
"""The dialect of plain messages, which every dialect has."""
_ROLES: Mapping[str, EntryRole] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_SAYING = (
    *("content", "parts", "images", "tool_calls", "function_call", "refusal", "audio"),
    *("reasoning", "reasoning_content", "reasoning_details", "thinking"),
)
_CONTENTS = ("content", "parts")


@dataclass(frozen=True, slots=True)
class EntryReading:
    """One message: its dialect, its role and its common form."""

    dialect: str
    """A name of `dialects.registry.DIALECTS`."""
    role: EntryRole
    """The role; `tool` if it contains only answers."""
    messages: tuple[ForeignMessage, ...]
    """Several, if a dialect has several roles in one message."""

    @property
    def joins(self) -> bool:
        """It belongs to the turn before it, if both are the assistant's."""
        return self.messages[0].joins


def read_entry(value: JsonObject) -> EntryReading:
    """Read a message of any dialect.

    Raises:
        InvalidPayloadError: No dialect knows it; the faults say where.
    """
    return entry_of(read_message(value, ""), sent=value)


def read_stored(value: JsonObject, dialect: str, reading: int, pointer: str = "") -> EntryReading:
    """Read a stored message again with its first reading.

    Args:
        value: The message, in which references may replace media.
        dialect: The dialect of its first reading.
        reading: The version of its first reading.
        pointer: The place of the message in its entry.
    """
    del reading
    return replace(entry_of(read_message(value, pointer, dialect), sent=value), dialect=dialect)


def entry_of(
    messages: Sequence[ForeignMessage], pointer: str = "", *, sent: JsonValue = None
) -> EntryReading:
    """Return the entry of the messages that were read from one value.

    Args:
        messages: The messages.
        pointer: The place of the value.
        sent: The value. The content of a message may be null.

    Raises:
        InvalidPayloadError: One of them is not a message.
    """
    is_silent = isinstance(sent, dict) and any(name in sent for name in _SAYING)
    faults = [fault for each in messages for fault in _faults(each, is_silent=is_silent)]
    if faults or not messages:
        faults = faults or [Fault(pointer, "holds nothing that is said")]
        raise InvalidPayloadError(
            "This is no message of any dialect that is read; `errors` says where. Send the message "
            "as its SDK or its provider writes it.",
            faults=faults,
        )
    dialect = next((each.reader for each in messages if each.reader), PLAIN)
    return EntryReading(dialect, _role(messages), tuple(messages))


def _faults(foreign: ForeignMessage, *, is_silent: bool) -> list[Fault]:
    message = foreign.message
    if message is None:
        return [Fault(foreign.pointer, "is no message")]
    if foreign.said_role is not None:
        return [Fault(f"{foreign.pointer}/role", "is the role of no dialect")]
    if not isinstance(message.get("content"), str | list | dict | NoneType):
        return [Fault(f"{foreign.pointer}/content", "is no text, block or list of blocks")]
    is_known = is_silent or message.keys() <= _FLAT
    if not (is_known or any(name in message for name in _SAYING)):
        return [Fault(foreign.pointer, "has no content, parts or calls")]
    return []


def _role(messages: Sequence[ForeignMessage]) -> EntryRole:
    found = [each.message for each in messages if each.message is not None]
    roles = [_ROLES.get(each["role"], "user") for each in found if not _only_answers(each)]
    if not roles:
        return "tool"
    # A system prompt before another role has that role.
    return next((role for role in roles if role != "system"), roles[0])


def _only_answers(message: Mapping[str, Any]) -> bool:
    if _ROLES.get(message["role"]) == "tool":
        return True
    blocks = [
        each
        for name in _CONTENTS
        for each in (message[name] if isinstance(message.get(name), list) else ())
    ]
    blocks = [each for each in blocks if not is_cache_block(each)]
    is_said = any(isinstance(message.get(name), str) and message[name] for name in _CONTENTS)
    return bool(blocks) and not is_said and all(as_answer(each) is not None for each in blocks)


def entry_turns(
    entry: EntryReading,
    seq: int,
    origin: str,
    resources: Mapping[str, Resource],
    *,
    audience: Audience,
    moved_out: frozenset[str],
    finds_media: bool = False,
) -> list[ComposedTurn]:
    """Return a message as turns, with pointers into the original.

    Args:
        entry: The message.
        seq: Its number in its session.
        origin: The path of the message.
        resources: The resources that it refers to, by id.
        audience: The reader of the turns.
        moved_out: The ids of media that were moved out of its texts when it was stored.
        finds_media: Whether texts are searched for base64, which is moved out of stored ones.
    """
    read = partial(
        foreign_turns,
        seq=seq,
        origin=origin,
        resources=resources,
        audience=audience,
        moved_out=moved_out,
        finds_media=finds_media,
    )
    return join_turns((turn, each.joins) for each in entry.messages for turn in read(each))


def entry_calls(entry: EntryReading) -> Iterator[TurnCall]:
    """Yield the calls that a message makes."""
    turns = entry_turns(entry, 0, "", _NONE, audience="everyone", moved_out=frozenset())
    for turn in turns:
        yield from turn.calls


def foreign_turns(
    foreign: ForeignMessage,
    seq: int,
    origin: str = "",
    resources: Mapping[str, Resource] = _NONE,
    *,
    audience: Audience = "assistant",
    moved_out: frozenset[str] = frozenset(),
    finds_media: bool = True,
) -> list[ComposedTurn]:
    """Return one message in its common form as turns; see `entry_turns`."""
    message = foreign.message or {}
    entry = MessageEntry(message, seq, origin, moved_out=moved_out, keeps_blocks=True)
    read = message_turns(
        entry, resources, audience=audience, finds_media=finds_media, uses_words=True
    )
    turns: list[ComposedTurn] = []
    for turn in read:
        if len(read) > 1 and turn.role == "assistant" and not turn.items and not turn.calls:
            # No content follows the answers.
            continue
        placed = _with_places(turn, foreign)
        if any(isinstance(item, ProviderBlock) for item in placed.items):
            is_in_answer = placed.role == "tool"
            items = tuple(
                keep_for_provider(item, foreign, is_in_answer=is_in_answer)
                if isinstance(item, ProviderBlock)
                else item
                for item in placed.items
            )
            placed = replace(placed, items=items)
        turns.append(placed)
    turns = [*with_native_blocks(turns, foreign)]
    native = native_message(foreign, turns)
    return turns if native is None else [replace(turn, natives=(native,)) for turn in turns]


def _with_places(turn: ComposedTurn, foreign: ForeignMessage) -> ComposedTurn:
    """Return a turn with pointers into the original message."""
    if not foreign.places and not foreign.pointer:
        return turn
    items = tuple([_with_place(item, foreign) for item in turn.items])
    return replace(turn, items=items)


def _with_place(item: Item, foreign: ForeignMessage) -> Item:
    if isinstance(item, SyntheticNote):
        return item
    place = foreign.place(item.pointer)
    return item if place == item.pointer else replace(item, pointer=place)


def join_turns(
    turns: Iterable[tuple[ComposedTurn, bool]], *, joins_calls: bool = False
) -> list[ComposedTurn]:
    """Return turns, with one for each run that was sent as several items.

    Args:
        turns: The turns in order, each with a flag: it belongs to the assistant's turn before it.
        joins_calls: Whether consecutive turns of calls are one as well.
    """
    joined: list[ComposedTurn] = []
    run: list[ComposedTurn] = []
    calls = False
    for turn, joins in turns:
        is_next = bool(run) and run[0].role == "assistant" == turn.role
        if not (is_next and (joins or (joins_calls and calls and turn.calls))):
            joined += _as_one(run)
            run, calls = [], False
        run.append(turn)
        calls = calls or bool(turn.calls)
    return [*joined, *_as_one(run)]


def _as_one(run: Sequence[ComposedTurn]) -> Sequence[ComposedTurn]:
    if len(run) < 2:
        return run
    first = run[0]
    items = tuple(
        item if turn.seq == first.seq else in_entry(item, turn.seq)
        for turn in run
        for item in turn.items
    )
    is_of_one = all(turn.seq == first.seq for turn in run)
    calls = (call for turn in run for call in turn.calls) if is_of_one else placed_calls(run)
    natives = tuple(native for turn in run for native in turn.natives)
    # Only items of Responses can be sent back unchanged as one turn.
    is_of_items = all(each.dialect == "openai-responses" for each in natives)
    return [replace(first, items=items, calls=tuple(calls), natives=natives if is_of_items else ())]


def is_flat(value: JsonObject) -> bool:
    """Return whether a message has only members of spec 000, and its content is no block."""
    content = value.get("content")
    return value.keys() <= _FLAT and not (isinstance(content, dict) and "type" in content)
