"""Original messages and blocks, which turns keep beside their common form.

Items of a block do not have its citations, the context of a document or marks for the cache.
The items therefore refer to the block. A rewritten message of the same dialect has the block itself
if its items are unchanged.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.json.pointers import follow, parse_json_pointer
from pagefault_dialects.json.values import JsonObject, JsonValue, says_something, text_member
from pagefault_dialects.messages.message_faults import call_faults
from pagefault_dialects.messages.provider_blocks import forms_of_provider, is_signed, model_of
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Item,
    NativeBlock,
    NativeMessage,
    ProviderBlock,
    SyntheticNote,
    TextItem,
)
from pagefault_dialects.results.parts import is_undecodable_note

_COMPAT = "openai-compat"
_ANTHROPIC = "anthropic"
_KINDS = frozenset({"text", "image", "document", "tool_result"})
_MEMBERS = ("cache_control", "citations", "context", "title")


def native_message(foreign: ForeignMessage, turns: Sequence[ComposedTurn]) -> NativeMessage | None:
    """Return the original of a message; `None` if it is a part of one, or has faults."""
    is_sound = foreign.unknown_role is None and not any(call_faults(foreign))
    if not isinstance(foreign.sent, dict) or not is_sound or any(map(_has_no_medium, turns)):
        return None
    return NativeMessage(_dialect(foreign), foreign.sent, tuple(turns), model_of(foreign.sent))


def _has_no_medium(turn: ComposedTurn) -> bool:
    """Return whether a turn has undecodable data of a medium, which providers refuse."""
    texts = (item.text for item in turn.items if isinstance(item, TextItem))
    return any(map(is_undecodable_note, texts))


def keep_for_provider(
    block: ProviderBlock, foreign: ForeignMessage, *, is_in_answer: bool = False
) -> ProviderBlock:
    """Return a block with the forms that it has in the dialects of its provider.

    Args:
        block: A block, in common form.
        foreign: The message of the block.
        is_in_answer: Whether it is part of an answer, to which its pointer leads.
    """
    if _COMPAT in block.forms:
        return replace(block, model=model_of(foreign.message or {}))
    message: Mapping[str, Any] = foreign.sent if isinstance(foreign.sent, dict) else {}
    pointer = block.pointer.removeprefix(foreign.pointer)
    original = None if is_in_answer else _block_at(message, pointer)
    [common] = block.forms.values()
    sent = common if original is None else original
    owner = "mistral" if _is_of_mistral(sent) else _dialect(foreign) or _owner_of(sent)
    forms = {} if owner is None else {owner: sent}
    if block.code == "reasoning":
        forms |= forms_of_provider(sent, message)
        if not is_signed(forms.get("anthropic")):
            # Anthropic refuses thoughts without its signature.
            forms.pop("anthropic", None)
    return replace(block, forms=forms, model=model_of(message))


def _block_at(message: Mapping[str, Any], pointer: str) -> JsonObject | None:
    """Return the block at a pointer; the message itself, if that is an item."""
    names = parse_json_pointer(pointer)
    if names is None:
        return None
    found = follow(dict(message), names)
    return found.value if isinstance(found.value, dict) else None


def _dialect(foreign: ForeignMessage) -> str | None:
    return foreign.dialect or foreign.reader or None


def _is_of_mistral(block: JsonObject) -> bool:
    """Return whether a block is a thought of Mistral's, which is a list of texts."""
    return block.get("type") == "thinking" and isinstance(block.get("thinking"), list)


def _owner_of(block: JsonObject) -> str | None:
    """Return the dialect of a block in a plain message, or `None`."""
    kind = block.get("type")
    if kind == "reasoning":
        return "vercel"
    if isinstance(kind, str):
        return "anthropic"
    is_union = len(block) == 1 and all(isinstance(item, dict) for item in block.values())
    return "bedrock" if is_union else None


def with_native_blocks(
    turns: Sequence[ComposedTurn], foreign: ForeignMessage
) -> Sequence[ComposedTurn]:
    """Return turns whose items refer to their blocks, if these have more members.

    Args:
        turns: The turns of a message, with pointers into the original.
        foreign: The message.
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
                value
                if isinstance(value, DataItem | SyntheticNote)
                else replace(value, block=native)
                for value in read
            )
        else:
            items += read
    return replace(turn, items=tuple(items))


def _is_kept(item: Item) -> bool:
    """Return whether an item is an original block."""
    return isinstance(item, ProviderBlock)


def _native_blocks(foreign: ForeignMessage) -> Mapping[int, JsonObject]:
    """Return the blocks of a message with more members than their items have, by index."""
    sent: Mapping[str, Any] = foreign.sent if isinstance(foreign.sent, dict) else {}
    content = sent.get("content")
    dialect = foreign.dialect or foreign.reader or _ANTHROPIC
    if dialect != _ANTHROPIC or not isinstance(content, list):
        return {}
    return {index: block for index, block in enumerate(content) if _says_more(block)}


def _says_more(block: JsonValue) -> bool:
    """Return whether a block, or one in it, has members that are in no item."""
    if not isinstance(block, dict) or text_member(block, "type") not in _KINDS:
        return False
    # Items of a document without a file have only its words.
    is_beside = block["type"] == "document" or next(_unread(block), None) is not None
    return is_beside or any(map(_says_more, _inner_blocks(block)))


def _unread(block: JsonObject) -> Iterator[str]:
    """Yield the members of a block, and of those in it, that are in no item."""
    yield from (name for name in _MEMBERS if says_something(block.get(name)))
    for inner_block in _inner_blocks(block):
        yield from _unread(inner_block)


def _inner_blocks(block: JsonObject) -> Sequence[JsonObject]:
    content = block.get("content") if block.get("type") == "tool_result" else None
    return [item for item in content if isinstance(item, dict)] if isinstance(content, list) else ()


def _index(item: Item, pointer: str) -> int:
    """Return the index in the content of the block of an item, or -1."""
    if isinstance(item, SyntheticNote):
        return -1
    names: Sequence[str] = parse_json_pointer(item.pointer.removeprefix(pointer)) or ()
    is_inside = len(names) > 1 and names[0] == "content" and names[1].isdecimal()
    return int(names[1]) if is_inside else -1
