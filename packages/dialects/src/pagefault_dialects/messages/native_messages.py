"""Adds sent messages and blocks to turns and items. Targets of the same dialect copy these.

`Turn.native_messages` has the sent message, which a target copies if its turns are unchanged.

If the turns have changed, the target writes the message anew from its items. Some blocks have
members that no item has, such as citations, the context of a document, and marks for the cache. The
items of these blocks refer to their block (`NativeBlock`), which the target copies if its items are
unchanged.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.json.pointers import follow, parse_json_pointer
from pagefault_dialects.json.values import JsonObject, JsonValue, has_content, text_member
from pagefault_dialects.messages.message_faults import find_call_faults
from pagefault_dialects.messages.provider_blocks import (
    find_anthropic_form,
    find_model,
    has_anthropic_signature,
)
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

_OPENAI_COMPAT = "openai-compat"
_ANTHROPIC = "anthropic"
# The types of blocks that may have members that no item has.
_BLOCK_TYPES = frozenset({"text", "image", "document", "tool_result"})
# The members of blocks that no item has.
_UNREAD_MEMBERS = ("cache_control", "citations", "context", "title")


def make_native_message(
    foreign: ForeignMessage, turns: Sequence[ComposedTurn]
) -> NativeMessage | None:
    """Return a message as it was sent, with the turns that were read from it.

    Args:
        foreign: The message.
        turns: The turns that were read from the message.

    Returns:
        `None` if the message was only a part of what was sent, or has faults, so that providers
        would refuse it.
    """
    is_valid = foreign.unknown_role is None and not any(find_call_faults(foreign))
    if not isinstance(foreign.sent, dict) or not is_valid or any(map(_has_undecodable, turns)):
        return None
    return NativeMessage(
        _find_dialect(foreign), foreign.sent, tuple(turns), find_model(foreign.sent)
    )


def _has_undecodable(turn: ComposedTurn) -> bool:
    """Return whether a turn has a note of a medium whose data could not be decoded."""
    texts = (item.text for item in turn.items if isinstance(item, TextItem))
    return any(map(is_undecodable_note, texts))


def add_provider_forms(
    block: ProviderBlock, foreign: ForeignMessage, *, is_in_result: bool = False
) -> ProviderBlock:
    """Return a block with the forms that it has in the dialects of its provider.

    Args:
        block: A block, in common form.
        foreign: The message of the block.
        is_in_result: Whether the block is in a tool result. Its pointer is then that of the result.
    """
    if _OPENAI_COMPAT in block.forms:
        # A thought that is a member of the message has its forms already.
        return replace(block, model=find_model(foreign.message or {}))
    message: Mapping[str, Any] = foreign.sent if isinstance(foreign.sent, dict) else {}
    pointer = block.pointer.removeprefix(foreign.pointer)
    original = None if is_in_result else _find_block(message, pointer)
    [common_form] = block.forms.values()
    sent_block = common_form if original is None else original
    is_mistral = _is_mistral_thought(sent_block)
    dialect = "mistral" if is_mistral else _find_dialect(foreign) or _guess_dialect(sent_block)
    forms = {} if dialect is None else {dialect: sent_block}
    if block.code == "reasoning":
        forms |= find_anthropic_form(sent_block, message)
        if not has_anthropic_signature(forms.get("anthropic")):
            # Anthropic refuses thoughts without its signature.
            forms.pop("anthropic", None)
    return replace(block, forms=forms, model=find_model(message))


def _find_block(message: Mapping[str, Any], pointer: str) -> JsonObject | None:
    """Return the object at a pointer: a block, or the message itself for an empty pointer.

    `None` if there is no object at the pointer.
    """
    names = parse_json_pointer(pointer)
    if names is None:
        return None
    found = follow(dict(message), names)
    is_whole = found.steps == len(names)
    return found.value if is_whole and isinstance(found.value, dict) else None


def _find_dialect(foreign: ForeignMessage) -> str | None:
    """Return the dialect of a message; `None` if it could be of any dialect."""
    return foreign.dialect or foreign.dialect_name or None


def _is_mistral_thought(block: JsonObject) -> bool:
    """Return whether a block is a thought of Mistral's, which is a list of texts."""
    return block.get("type") == "thinking" and isinstance(block.get("thinking"), list)


def _guess_dialect(block: JsonObject) -> str | None:
    """Return the dialect of a block by its shape; `None` if the shape is that of no dialect."""
    kind = block.get("type")
    if kind == "reasoning":
        return "vercel"
    if isinstance(kind, str):
        return "anthropic"
    # A block of Bedrock has one member, such as `{"cachePoint": {…}}`.
    has_one_object = len(block) == 1 and all(isinstance(item, dict) for item in block.values())
    return "bedrock" if has_one_object else None


def link_native_blocks(
    turns: Sequence[ComposedTurn], foreign: ForeignMessage
) -> Sequence[ComposedTurn]:
    """Return turns whose items refer to their block, if the block has members that no item has.

    Args:
        turns: The turns of a message, with pointers into the message as it was sent.
        foreign: The message.
    """
    blocks = _find_native_blocks(foreign)
    return [_link_items(turn, blocks, foreign.pointer) for turn in turns] if blocks else turns


def _link_items(turn: ComposedTurn, blocks: Mapping[int, JsonObject], pointer: str) -> ComposedTurn:
    """Return a turn whose items refer to their block.

    Args:
        turn: The turn.
        blocks: The blocks to refer to, by their index in the content of the message.
        pointer: The pointer to the message.
    """
    items: list[Item] = []
    for index, group in groupby(turn.items, lambda item: _find_block_index(item, pointer)):
        block_items, block = [*group], blocks.get(index)
        # The target replaces all items of a block by the block, so none of them may be missing.
        if turn.role == "tool":
            is_whole = len(block_items) == len(turn.items)
        else:
            is_whole = not any(isinstance(item, ProviderBlock) for item in block_items)
        if block is not None and is_whole:
            native = NativeBlock(
                _ANTHROPIC, block, len(block_items), tuple(_find_unread_members(block))
            )
            items += (
                item if isinstance(item, DataItem | SyntheticNote) else replace(item, block=native)
                for item in block_items
            )
        else:
            items += block_items
    return replace(turn, items=tuple(items))


def _find_native_blocks(foreign: ForeignMessage) -> Mapping[int, JsonObject]:
    """Return the blocks of a message with members that their items lack, by index."""
    sent: Mapping[str, Any] = foreign.sent if isinstance(foreign.sent, dict) else {}
    content = sent.get("content")
    dialect = _find_dialect(foreign) or _ANTHROPIC
    if dialect != _ANTHROPIC or not isinstance(content, list):
        return {}
    return {index: block for index, block in enumerate(content) if _has_unread_members(block)}


def _has_unread_members(block: JsonValue) -> bool:
    """Return whether a block, or a block inside it, has members that are in no item."""
    if not isinstance(block, dict) or text_member(block, "type") not in _BLOCK_TYPES:
        return False
    # The items of a document may be texts, which lack the document around them.
    is_unread = block["type"] == "document" or next(_find_unread_members(block), None) is not None
    return is_unread or any(map(_has_unread_members, _list_inner_blocks(block)))


def _find_unread_members(block: JsonObject) -> Iterator[str]:
    """Yield the names of members that are in no item, of a block and of the blocks inside it."""
    yield from (name for name in _UNREAD_MEMBERS if has_content(block.get(name)))
    for inner_block in _list_inner_blocks(block):
        yield from _find_unread_members(inner_block)


def _list_inner_blocks(block: JsonObject) -> Sequence[JsonObject]:
    """Return the blocks in the content of a tool result."""
    content = block.get("content") if block.get("type") == "tool_result" else None
    return [item for item in content if isinstance(item, dict)] if isinstance(content, list) else ()


def _find_block_index(item: Item, pointer: str) -> int:
    """Return the index of the block of an item in the content of its message; -1 without a block.

    Args:
        item: The item, whose pointer begins with that of the message.
        pointer: The pointer to the message.
    """
    if isinstance(item, SyntheticNote):
        return -1
    names: Sequence[str] = parse_json_pointer(item.pointer.removeprefix(pointer)) or ()
    is_inside = len(names) > 1 and names[0] == "content" and names[1].isdecimal()
    return int(names[1]) if is_inside else -1
