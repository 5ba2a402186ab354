"""Original messages and blocks, which turns keep beside their common form."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.json.pointers import follow, parse_json_pointer
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.messages.message_faults import call_faults
from pagefault_dialects.messages.provider_blocks import forms_of_provider, is_signed, model_of
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    NativeMessage,
    ProviderBlock,
    TextItem,
)
from pagefault_dialects.results.parts import is_undecodable_note

_COMPAT = "openai-compat"


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
