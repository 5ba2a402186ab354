"""Single messages of any dialect, read when they are stored and when they are rendered.

read_entry      reads a message of a request
read_stored     reads a stored message with the dialect of its first reading
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
from pagefault_dialects.messages.native_messages import (
    keep_for_provider,
    native_message,
    with_native_blocks,
)
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Item,
    ProviderBlock,
    SyntheticNote,
    TurnCall,
    in_entry,
    locate_calls,
)
from pagefault_dialects.model.render_options import Audience
from pagefault_dialects.model.resource import Resource

READING = 1
"""The version of the reader. It changes if stored messages have to be read differently."""

EntryRole = Literal["system", "user", "assistant", "tool"]

_FLAT = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
_NONE: Mapping[str, Resource] = {}
PLAIN_DIALECT = "openai-chat"
"""The dialect of messages that have the same form in every dialect."""
_ROLES: Mapping[str, EntryRole] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_CONTENT_MEMBERS = (
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
    """The messages; more than one if the original has several roles."""

    @property
    def joins(self) -> bool:
        """Return whether it continues the assistant's turn before it."""
        return self.messages[0].joins


def read_entry(value: JsonObject) -> EntryReading:
    """Read a message of any dialect.

    Raises:
        InvalidPayloadError: It is not a message of any dialect; `faults` has the places.
    """
    return make_entry(read_message(value, ""), sent=value)


def read_stored(value: JsonObject, dialect: str, reading: int, pointer: str = "") -> EntryReading:
    """Read a stored message with the dialect of its first reading.

    Args:
        value: The message, in which references may replace media.
        dialect: The dialect of its first reading.
        reading: The version of its first reading. There is only one so far.
        pointer: The place of the message in its entry.
    """
    del reading
    return replace(make_entry(read_message(value, pointer, dialect), sent=value), dialect=dialect)


def make_entry(
    messages: Sequence[ForeignMessage], pointer: str = "", *, sent: JsonValue = None
) -> EntryReading:
    """Return the entry of the messages that were read from one value.

    Args:
        messages: The messages.
        pointer: The place of the value.
        sent: The value. If it has a content member, even null, its messages may be empty.

    Raises:
        InvalidPayloadError: One of them is not a message.
    """
    allows_null = isinstance(sent, dict) and any(name in sent for name in _CONTENT_MEMBERS)
    faults = [fault for message in messages for fault in _faults(message, allows_null=allows_null)]
    if faults or not messages:
        faults = faults or [Fault(pointer, "holds nothing that is said")]
        raise InvalidPayloadError(
            "This is no message of any dialect that is read; `errors` says where. Send the message "
            "as its SDK or its provider writes it.",
            faults=faults,
        )
    dialect = next((message.reader for message in messages if message.reader), PLAIN_DIALECT)
    return EntryReading(dialect, _role(messages), tuple(messages))


def _faults(foreign: ForeignMessage, *, allows_null: bool) -> list[Fault]:
    message = foreign.message
    if message is None:
        return [Fault(foreign.pointer, "is no message")]
    if foreign.unknown_role is not None:
        return [Fault(f"{foreign.pointer}/role", "is the role of no dialect")]
    if not isinstance(message.get("content"), str | list | dict | NoneType):
        return [Fault(f"{foreign.pointer}/content", "is no text, block or list of blocks")]
    is_known = allows_null or message.keys() <= _FLAT
    if not (is_known or any(name in message for name in _CONTENT_MEMBERS)):
        return [Fault(foreign.pointer, "has no content, parts or calls")]
    return []


def _role(messages: Sequence[ForeignMessage]) -> EntryRole:
    found = [message.message for message in messages if message.message is not None]
    roles = [_ROLES.get(message["role"], "user") for message in found if not _only_answers(message)]
    if not roles:
        return "tool"
    # A system prompt with messages of another role has that role.
    return next((role for role in roles if role != "system"), roles[0])


def _only_answers(message: Mapping[str, Any]) -> bool:
    if _ROLES.get(message["role"]) == "tool":
        return True
    blocks = [
        item
        for name in _CONTENTS
        for item in (message[name] if isinstance(message.get(name), list) else ())
    ]
    blocks = [block for block in blocks if not is_cache_block(block)]
    has_text = any(isinstance(message.get(name), str) and message[name] for name in _CONTENTS)
    return bool(blocks) and not has_text and all(as_answer(block) is not None for block in blocks)


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
        finds_media: Search texts for base64. Stored texts have none: it was moved out of them.
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
    return join_turns((turn, message.joins) for message in entry.messages for turn in read(message))


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
            # An empty turn after the answers.
            continue
        placed = _with_pointers(turn, foreign)
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


def _with_pointers(turn: ComposedTurn, foreign: ForeignMessage) -> ComposedTurn:
    """Return a turn with pointers into the original message."""
    if not foreign.original_pointers and not foreign.pointer:
        return turn
    items = tuple([_with_pointer(item, foreign) for item in turn.items])
    return replace(turn, items=items)


def _with_pointer(item: Item, foreign: ForeignMessage) -> Item:
    if isinstance(item, SyntheticNote):
        return item
    place = foreign.original_pointer(item.pointer)
    return item if place == item.pointer else replace(item, pointer=place)


def join_turns(
    turns: Iterable[tuple[ComposedTurn, bool]], *, joins_calls: bool = False
) -> list[ComposedTurn]:
    """Join runs of turns that were sent as several items of one message.

    Args:
        turns: The turns in order, each with a flag: it continues the assistant's turn before it.
        joins_calls: Join consecutive turns with calls as well.
    """
    joined: list[ComposedTurn] = []
    run: list[ComposedTurn] = []
    has_calls = False
    for turn, joins in turns:
        is_next = bool(run) and run[0].role == "assistant" == turn.role
        if not (is_next and (joins or (joins_calls and has_calls and turn.calls))):
            joined += _merge_run(run)
            run, has_calls = [], False
        run.append(turn)
        has_calls = has_calls or bool(turn.calls)
    return [*joined, *_merge_run(run)]


def _merge_run(run: Sequence[ComposedTurn]) -> Sequence[ComposedTurn]:
    if len(run) < 2:
        return run
    first = run[0]
    items = tuple(
        item if turn.seq == first.seq else in_entry(item, turn.seq)
        for turn in run
        for item in turn.items
    )
    is_one_entry = all(turn.seq == first.seq for turn in run)
    calls = (call for turn in run for call in turn.calls) if is_one_entry else locate_calls(run)
    natives = tuple(native for turn in run for native in turn.natives)
    # Several originals can be sent back as one turn only if they are items of Responses.
    are_items = all(native.dialect == "openai-responses" for native in natives)
    return [replace(first, items=items, calls=tuple(calls), natives=natives if are_items else ())]


def is_flat(value: JsonObject) -> bool:
    """Return whether a message has only members of spec 000, and no block as its content."""
    content = value.get("content")
    return value.keys() <= _FLAT and not (isinstance(content, dict) and "type" in content)
