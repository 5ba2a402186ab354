"""Thoughts (reasoning), which may be sent only to the model that wrote them.

If that model or the model of the request is unknown, thoughts are sent.
"""

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

# On Bedrock, a region and a provider precede the name of a model, and a version follows it.
_MODEL = re.compile(
    r"(?:[a-z-]+\.)*(?P<name>.+?)"
    r"(?:[-@](?P<snapshot>\d{3,8}|\d{4}-\d{2}-\d{2}|latest))?(?:-v\d+:\d+)?",
    re.DOTALL,
)
# A name without a date, or with `latest`, means the newest snapshot.
_NEWEST_SNAPSHOT = (None, "latest")


def is_same_model(name: str, other: str) -> bool:
    """Return whether two names are names of the same model.

    A request may name a model as `claude-sonnet-4-5`, and the response names its dated snapshot.
    The name of a provider before a slash is ignored.
    """
    match, other_match = (_MODEL.fullmatch(item.rpartition("/")[2]) for item in (name, other))
    if match is None or other_match is None or match["name"] != other_match["name"]:
        return name == other
    snapshots = (match["snapshot"], other_match["snapshot"])
    return snapshots[0] == snapshots[1] or not set(snapshots).isdisjoint(_NEWEST_SNAPSHOT)


def may_send_thought(model: str | None, options: RenderOptions) -> bool:
    """Return whether a thought may be sent to the model of the request."""
    return model is None or options.model is None or is_same_model(model, options.model)


def may_send_thoughts(native_messages: Iterable[NativeMessage], options: RenderOptions) -> bool:
    """Return whether the thoughts in messages may be sent to the model of the request."""
    return all(may_send_thought(native.model, options) for native in native_messages)


def has_thoughts(turn: ComposedTurn) -> bool:
    """Return whether a turn has thoughts, or signed calls."""
    thoughts = (Omission, ProviderBlock)
    return any(call.thought_signature for call in turn.calls) or any(
        isinstance(item, thoughts) and item.code == "reasoning" for item in turn.items
    )


def without_signature(call: TurnCall) -> TurnCall:
    """Return a call without its signature, for another model."""
    return replace(call, thought_signature=None)
