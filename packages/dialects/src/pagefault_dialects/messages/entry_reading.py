"""Reads single messages of any dialect, when they are stored and when they are rendered.

read_entry          reads a message of a request
read_stored         reads a stored message in the dialect that was found when it was stored
read_entry_turns    returns the turns of a message that `read_entry` or `read_stored` has read
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import NoneType
from typing import Any, Literal

from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.dialects.message_registry import read_message
from pagefault_dialects.dialects.vercel import read_approval_response
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.messages.message_calls import has_error_mark, read_tool_result
from pagefault_dialects.messages.message_turns import (
    MessageEntry,
    is_cache_block,
    make_message_turns,
)
from pagefault_dialects.messages.native_messages import (
    add_provider_forms,
    link_native_blocks,
    make_native_message,
)
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Item,
    ProviderBlock,
    SyntheticNote,
    TurnCall,
    locate_calls,
    with_entry_seq,
)
from pagefault_dialects.model.render_options import Audience
from pagefault_dialects.model.resource import Resource

READER_VERSION = 1
"""The version of the reader that is stored with a message. It changes if new messages have to be
read in another way than stored ones."""

EntryRole = Literal["system", "user", "assistant", "tool"]

# The members of a flat message, which are stored as members of its entry (spec 000).
_FLAT_MEMBERS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
_NO_RESOURCES: Mapping[str, Resource] = {}
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
# The members of a message with content, calls or thoughts.
_CONTENT_MEMBERS = (
    *("content", "parts", "images", "tool_calls", "function_call", "refusal", "audio"),
    *("reasoning", "reasoning_content", "reasoning_details", "thinking"),
)
# The members of a message with a list of blocks.
_BLOCK_LIST_MEMBERS = ("content", "parts")


@dataclass(frozen=True, slots=True)
class EntryReading:
    """One message: its dialect, its role and its common form."""

    dialect: str
    """A name of `dialects.registry.DIALECTS`."""
    role: EntryRole
    """The role; `tool` if the message contains only tool results."""
    messages: tuple[ForeignMessage, ...]
    """The message in common form; several messages if parts of it have different roles."""

    @property
    def continues_turn(self) -> bool:
        """True if the message continues the assistant's turn before it."""
        return self.messages[0].continues_turn


def read_entry(value: JsonObject) -> EntryReading:
    """Read a message of any dialect.

    Raises:
        InvalidPayloadError: The value is no message of any dialect. `faults` has pointers to the
            errors.
    """
    return make_reading(read_message(value, ""), sent=value)


def read_stored(
    value: JsonObject, dialect: str, reader_version: int, pointer: str = ""
) -> EntryReading:
    """Read a stored message in the dialect that was found when it was stored.

    Args:
        value: The message, in which references may replace media.
        dialect: The dialect.
        reader_version: The `READER_VERSION` when the message was stored. There is only one so far.
        pointer: The pointer to the message in its entry.
    """
    del reader_version
    return replace(make_reading(read_message(value, pointer, dialect), sent=value), dialect=dialect)


def make_reading(
    messages: Sequence[ForeignMessage], pointer: str = "", *, sent: JsonValue = None
) -> EntryReading:
    """Make the reading of a value that was converted to these messages in common form.

    Args:
        messages: The messages.
        pointer: The pointer to the value, for errors.
        sent: The value. If it has a member for content, even null, its messages may be empty. A
            message with only members of a flat message, such as `{"role": "user"}`, always may.

    Raises:
        InvalidPayloadError: One of the messages is no message of any dialect, or there are none.
    """
    may_be_empty = isinstance(sent, dict) and any(name in sent for name in _CONTENT_MEMBERS)
    faults = [
        fault for message in messages for fault in _find_faults(message, may_be_empty=may_be_empty)
    ]
    if faults or not messages:
        faults = faults or [Fault(pointer, "holds nothing that is said")]
        raise InvalidPayloadError(
            "This is no message of any dialect that is read; `errors` says where. Send the message "
            "as its SDK or its provider writes it.",
            faults=faults,
        )
    dialect = next(
        (message.dialect_name for message in messages if message.dialect_name), PLAIN_DIALECT
    )
    return EntryReading(dialect, _find_role(messages), tuple(messages))


def _find_faults(foreign: ForeignMessage, *, may_be_empty: bool) -> list[Fault]:
    """Return the reasons why a value is no message; an empty list for a message."""
    message = foreign.message
    if message is None:
        if isinstance(foreign.sent, dict) and _is_step(foreign.sent):
            reason = "is a step of smolagents: send `agent.write_memory_to_messages()` instead"
            return [Fault(foreign.pointer, reason)]
        # An object with content most often is a dump from which members were left out.
        reason = "has content, but no member that shows whose it is: dump it with all its members"
        return [Fault(foreign.pointer, reason if may_be_empty else "is no message")]
    if foreign.unknown_role is not None:
        return [Fault(f"{foreign.pointer}/role", "is the role of no dialect")]
    if not isinstance(message.get("content"), str | list | dict | NoneType):
        return [Fault(f"{foreign.pointer}/content", "is no text, block or list of blocks")]
    may_be_empty = may_be_empty or message.keys() <= _FLAT_MEMBERS
    if not (may_be_empty or any(name in message for name in _CONTENT_MEMBERS)):
        return [Fault(foreign.pointer, "has no content, parts or calls")]
    return []


def _is_step(value: JsonObject) -> bool:
    """Return whether an object is a step of smolagents, whose observations have no call ids."""
    return "model_output_message" in value or value.keys() == {"task", "task_images"}


def _find_role(messages: Sequence[ForeignMessage]) -> EntryRole:
    """Return the role of an entry: the first role of its messages, if possible not `system`.

    The role is `tool` if all messages have only results.
    """
    readable = [message.message for message in messages if message.message is not None]
    roles = [
        _ROLES.get(message["role"], "user") for message in readable if not has_only_results(message)
    ]
    if not roles:
        return "tool"
    return next((role for role in roles if role != "system"), roles[0])


def has_only_results(message: Mapping[str, Any]) -> bool:
    """Return whether a message in its common form has results of tools, and nothing else."""
    if _ROLES.get(message["role"]) == "tool":
        return True
    blocks = [
        item
        for name in _BLOCK_LIST_MEMBERS
        for item in (message[name] if isinstance(message.get(name), list) else ())
    ]
    blocks = [block for block in blocks if not is_cache_block(block)]
    has_text = any(
        isinstance(message.get(name), str) and message[name] for name in _BLOCK_LIST_MEMBERS
    )
    return (
        bool(blocks)
        and not has_text
        and all(read_tool_result(block) is not None for block in blocks)
    )


def read_entry_turns(
    entry: EntryReading,
    seq: int,
    origin: str,
    resources: Mapping[str, Resource],
    *,
    audience: Audience,
    moved_media_ids: frozenset[str],
    finds_media: bool = False,
) -> list[ComposedTurn]:
    """Return a message as turns, with pointers into the original.

    Args:
        entry: The message.
        seq: The number of the message in its session.
        origin: The path of the message.
        resources: The resources that the message refers to, by id.
        audience: The reader of the turns. Blocks for other audiences are omitted with a note.
        moved_media_ids: The ids of media that were moved out of its texts when it was stored.
        finds_media: Whether texts are searched for base64. Stored texts have none, because it was
            moved out of them.
    """
    read = partial(
        read_turns,
        seq=seq,
        origin=origin,
        resources=resources,
        audience=audience,
        moved_media_ids=moved_media_ids,
        finds_media=finds_media,
    )
    return join_turns(
        (turn, message.continues_turn) for message in entry.messages for turn in read(message)
    )


def count_failed_results(entry: EntryReading) -> int:
    """Return the number of tool results in a message that are errors.

    `read_entry_turns` makes a turn with `is_error` of each; here, no content is read.
    """
    return sum(
        sum(_find_errors(message.message))
        for message in entry.messages
        if message.message is not None
    )


def _find_errors(message: JsonObject) -> Sequence[bool]:
    """Return for each tool result in a message in its common form whether it is an error."""
    role = _ROLES.get(message["role"], "user")
    errors: list[bool] = []
    for name in _BLOCK_LIST_MEMBERS:
        content = message.get(name)
        for block in content if isinstance(content, list) else [content]:
            if not isinstance(block, dict):
                continue
            if (result := read_tool_result(block)) is not None:
                errors.append(result.is_error)
            elif role != "assistant" and (response := read_approval_response(block)) is not None:
                errors.append(response[1] is not None)
    return errors or ([has_error_mark(message)] if role == "tool" else [])


def find_entry_calls(entry: EntryReading) -> Iterator[TurnCall]:
    """Yield the tool calls in a message."""
    turns = read_entry_turns(
        entry, 0, "", _NO_RESOURCES, audience="everyone", moved_media_ids=frozenset()
    )
    for turn in turns:
        yield from turn.calls


def read_turns(
    foreign: ForeignMessage,
    seq: int,
    origin: str = "",
    resources: Mapping[str, Resource] = _NO_RESOURCES,
    *,
    audience: Audience = "assistant",
    moved_media_ids: frozenset[str] = frozenset(),
    finds_media: bool = True,
) -> list[ComposedTurn]:
    """Return the turns of one message in common form. For the arguments see `read_entry_turns`."""
    message = foreign.message or {}
    entry = MessageEntry(message, seq, origin, moved_media_ids=moved_media_ids, keeps_blocks=True)
    common_turns = make_message_turns(
        entry, resources, audience=audience, finds_media=finds_media, describes_blocks=True
    )
    turns: list[ComposedTurn] = []
    for common_turn in common_turns:
        is_empty = not common_turn.items and not common_turn.calls
        if len(common_turns) > 1 and common_turn.role == "assistant" and is_empty:
            # For a message with only results, there is an empty turn of the assistant as well.
            continue
        turn = _restore_pointers(common_turn, foreign)
        if any(isinstance(item, ProviderBlock) for item in turn.items):
            is_in_result = turn.role == "tool"
            items = tuple(
                add_provider_forms(item, foreign, is_in_result=is_in_result)
                if isinstance(item, ProviderBlock)
                else item
                for item in turn.items
            )
            turn = replace(turn, items=items)
        turns.append(turn)
    turns = [*link_native_blocks(turns, foreign)]
    native = make_native_message(foreign, turns)
    if native is None:
        return turns
    return [replace(turn, native_messages=(native,)) for turn in turns]


def _restore_pointers(turn: ComposedTurn, foreign: ForeignMessage) -> ComposedTurn:
    """Return a turn whose items have pointers into the message as it was sent."""
    if not foreign.original_pointers and not foreign.pointer:
        return turn
    items = tuple([_restore_pointer(item, foreign) for item in turn.items])
    return replace(turn, items=items)


def _restore_pointer(item: Item, foreign: ForeignMessage) -> Item:
    if isinstance(item, SyntheticNote):
        return item
    pointer = foreign.original_pointer(item.pointer)
    return item if pointer == item.pointer else replace(item, pointer=pointer)


def join_turns(
    turns: Iterable[tuple[ComposedTurn, bool]], *, joins_calls: bool = False
) -> list[ComposedTurn]:
    """Join consecutive turns of the assistant that belong to one turn.

    Args:
        turns: The turns in order, each with a flag whether it continues the turn before it. Items
            of one message that were sent separately have the flag.
        joins_calls: Whether a turn with calls also continues a turn with calls before it.
    """
    joined: list[ComposedTurn] = []
    run: list[ComposedTurn] = []
    has_calls = False
    for turn, continues_turn in turns:
        is_assistant = bool(run) and run[0].role == "assistant" == turn.role
        continues_calls = joins_calls and has_calls and turn.calls
        if not (is_assistant and (continues_turn or continues_calls)):
            joined += _merge_turns(run)
            run, has_calls = [], False
        run.append(turn)
        has_calls = has_calls or bool(turn.calls)
    return [*joined, *_merge_turns(run)]


def _merge_turns(turns: Sequence[ComposedTurn]) -> Sequence[ComposedTurn]:
    """Return one turn with the content of several; no turn if there are none."""
    if len(turns) < 2:
        return turns
    first = turns[0]
    items = tuple(
        item if turn.seq == first.seq else with_entry_seq(item, turn.seq)
        for turn in turns
        for item in turn.items
    )
    is_one_entry = all(turn.seq == first.seq for turn in turns)
    calls = (call for turn in turns for call in turn.calls) if is_one_entry else locate_calls(turns)
    native_messages = tuple(native for turn in turns for native in turn.native_messages)
    # In OpenAI's Responses, one turn may consist of several items, which can be sent as they were.
    # In other dialects, no single message is that of the joined turn.
    are_items = all(native.dialect == "openai-responses" for native in native_messages)
    return [
        replace(
            first,
            items=items,
            calls=tuple(calls),
            native_messages=native_messages if are_items else (),
        )
    ]


def is_flat(value: JsonObject) -> bool:
    """Return whether a message has only members of spec 000, and no single block as its content."""
    content = value.get("content")
    return value.keys() <= _FLAT_MEMBERS and not (isinstance(content, dict) and "type" in content)
