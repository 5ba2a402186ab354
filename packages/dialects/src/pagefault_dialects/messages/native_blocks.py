"""Blocks with members that no other dialect has, kept for requests of their own dialect.

Citations, the context of a document and marks for the cache are in no item that is read of a block.
The items therefore refer to the block. If its message is written anew for its own dialect, and its
items are unchanged, the block itself is written.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.json.pointers import parse_json_pointer
from pagefault_dialects.json.values import JsonObject, JsonValue, says_something, text_member
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Item,
    NativeBlock,
    ProviderBlock,
    SyntheticNote,
)

_ANTHROPIC = "anthropic"
_KINDS = frozenset({"text", "image", "document", "tool_result"})
_MEMBERS = ("cache_control", "citations", "context", "title")


def with_native_blocks(
    turns: Sequence[ComposedTurn], foreign: ForeignMessage
) -> Sequence[ComposedTurn]:
    """Return turns whose items keep the blocks they were read of, where these say more.

    Args:
        turns: What was read, with pointers into what was sent.
        foreign: The message it was read of.
    """
    blocks = _native_blocks(foreign)
    return [_with_blocks(turn, blocks, foreign.pointer) for turn in turns] if blocks else turns


def _with_blocks(
    turn: ComposedTurn, blocks: Mapping[int, JsonObject], pointer: str
) -> ComposedTurn:
    items: list[Item] = []
    for index, group in groupby(turn.items, lambda item: _index(item, pointer)):
        read, block = [*group], blocks.get(index)
        is_answer = turn.role == "tool"
        is_whole = len(read) == len(turn.items) if is_answer else not any(map(_is_kept, read))
        if block is not None and is_whole:
            native = NativeBlock(_ANTHROPIC, block, len(read), tuple(_unread(block)))
            items += (
                each if isinstance(each, DataItem | SyntheticNote) else replace(each, block=native)
                for each in read
            )
        else:
            items += read
    return replace(turn, items=tuple(items))


def _is_kept(item: Item) -> bool:
    """Return whether an item is a block as it came."""
    return isinstance(item, ProviderBlock)


def _native_blocks(foreign: ForeignMessage) -> Mapping[int, JsonObject]:
    """Return the blocks of a message that say more than is read of them, by their places."""
    sent: Mapping[str, Any] = foreign.sent if isinstance(foreign.sent, dict) else {}
    content = sent.get("content")
    dialect = foreign.dialect or foreign.reader or _ANTHROPIC
    if dialect != _ANTHROPIC or not isinstance(content, list):
        return {}
    return {index: block for index, block in enumerate(content) if _says_more(block)}


def _says_more(block: JsonValue) -> bool:
    """Return whether no item is read of something that a block says, or that it holds."""
    if not isinstance(block, dict) or text_member(block, "type") not in _KINDS:
        return False
    # Of a document without a file the words are read, and not that it is one.
    is_beside = block["type"] == "document" or next(_unread(block), None) is not None
    return is_beside or any(map(_says_more, _inner_blocks(block)))


def _unread(block: JsonObject) -> Iterator[str]:
    """Yield the members of a block, and of those that it holds, of which no item is read."""
    yield from (name for name in _MEMBERS if says_something(block.get(name)))
    for each in _inner_blocks(block):
        yield from _unread(each)


def _inner_blocks(block: JsonObject) -> Sequence[JsonObject]:
    """Return the blocks that a result holds."""
    content = block.get("content") if block.get("type") == "tool_result" else None
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else ()


def _index(item: Item, pointer: str) -> int:
    """Return the place in the content of the block that an item was read of; -1 for none."""
    if isinstance(item, SyntheticNote):
        return -1
    names: Sequence[str] = parse_json_pointer(item.pointer.removeprefix(pointer)) or ()
    is_inside = len(names) > 1 and names[0] == "content" and names[1].isdecimal()
    return int(names[1]) if is_inside else -1
