"""Thoughts, and the model that takes them back: the one that thought them, as far as is known."""

import re
from collections.abc import Iterable
from dataclasses import replace

from pagefault_dialects.model.conversation import (
    ComposedTurn,
    NativeMessage,
    Omission,
    ProviderBlock,
    TurnCall,
)
from pagefault_dialects.model.render_options import RenderOptions

# Bedrock's regions and providers stand in front of a name, and its versions behind it.
_MODEL = re.compile(
    r"(?:[a-z-]+\.)*(?P<name>.+?)"
    r"(?:[-@](?P<snapshot>\d{3,8}|\d{4}-\d{2}-\d{2}|latest))?(?:-v\d+:\d+)?",
    re.DOTALL,
)
_NEWEST = (None, "latest")


def is_same_model(name: str, other: str) -> bool:
    """Return whether two names are of one model.

    Requests name a model as `claude-sonnet-4-5`, and responses its snapshot. What stands in front
    names who serves it.
    """
    found, others = (_MODEL.fullmatch(each.rpartition("/")[2]) for each in (name, other))
    if found is None or others is None or found["name"] != others["name"]:
        return name == other
    snapshots = (found["snapshot"], others["snapshot"])
    return snapshots[0] == snapshots[1] or not set(snapshots).isdisjoint(_NEWEST)


def takes_thought(model: str | None, options: RenderOptions) -> bool:
    """Return whether a thought of a model is for the one that the messages are for."""
    return model is None or options.model is None or is_same_model(model, options.model)


def takes_thoughts(natives: Iterable[NativeMessage], options: RenderOptions) -> bool:
    """Return whether the thoughts in messages are for the model that the messages are for."""
    return all(takes_thought(native.model, options) for native in natives)


def holds_thoughts(turn: ComposedTurn) -> bool:
    """Return whether a model thought something of a turn, or signed a call of it."""
    thoughts = (Omission, ProviderBlock)
    return any(call.thought_signature for call in turn.calls) or any(
        isinstance(item, thoughts) and item.code == "reasoning" for item in turn.items
    )


def without_signature(call: TurnCall) -> TurnCall:
    """Return a call as another model takes it."""
    return replace(call, thought_signature=None)
