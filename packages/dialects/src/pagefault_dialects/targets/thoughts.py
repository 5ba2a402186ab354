"""Thoughts, which are returned only to the model that wrote them, as far as it is known."""

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

# A Bedrock name has a region and a provider before the model's name, and a version after it.
_MODEL = re.compile(
    r"(?:[a-z-]+\.)*(?P<name>.+?)"
    r"(?:[-@](?P<snapshot>\d{3,8}|\d{4}-\d{2}-\d{2}|latest))?(?:-v\d+:\d+)?",
    re.DOTALL,
)
_NEWEST = (None, "latest")


def is_same_model(name: str, other: str) -> bool:
    """Return whether two names are of one model.

    Requests name a model as `claude-sonnet-4-5`, responses name its snapshot. A prefix is the
    provider's name.
    """
    found, other_match = (_MODEL.fullmatch(item.rpartition("/")[2]) for item in (name, other))
    if found is None or other_match is None or found["name"] != other_match["name"]:
        return name == other
    snapshots = (found["snapshot"], other_match["snapshot"])
    return snapshots[0] == snapshots[1] or not set(snapshots).isdisjoint(_NEWEST)


def takes_thought(model: str | None, options: RenderOptions) -> bool:
    """Return whether a thought may be sent to the model of the request."""
    return model is None or options.model is None or is_same_model(model, options.model)


def takes_thoughts(natives: Iterable[NativeMessage], options: RenderOptions) -> bool:
    """Return whether the thoughts in messages may be sent to the model of the request."""
    return all(takes_thought(native.model, options) for native in natives)


def holds_thoughts(turn: ComposedTurn) -> bool:
    """Return whether a turn has thoughts, or signed calls."""
    thoughts = (Omission, ProviderBlock)
    return any(call.thought_signature for call in turn.calls) or any(
        isinstance(item, thoughts) and item.code == "reasoning" for item in turn.items
    )


def without_signature(call: TurnCall) -> TurnCall:
    """Return a call without its signature, for another model."""
    return replace(call, thought_signature=None)
