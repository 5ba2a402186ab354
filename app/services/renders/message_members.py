"""What stands in messages and blocks beside what they say: frames, and what has to be left out.

Frames are of the dialect and the host: kinds, ids, states, counts, times. No rendering shows them,
and nothing is lost with them. Every other member that says something is told as left out.
"""

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from app.models.conversation import LeftOut
from app.models.json_pointer import child_pointer
from app.models.json_value import JsonValue

_FRAMES = frozenset(
    {
        *("type", "id", "object", "index", "role", "status", "phase", "example", "annotations"),
        *("created", "created_at", "createdAt", "timestamp", "model", "container", "logprobs"),
        *("finish_reason", "stop_reason", "stop_sequence", "stop_details", "stopReason"),
        *("usage", "usage_metadata", "usageMetadata", "response_metadata", "_meta"),
        *("cache_control", "cachePoint", "caller", "partial_json", "providerExecuted", "dynamic"),
        *("detail", "is_error", "isError", "willContinue", "will_continue", "scheduling"),
    }
)
_THOUGHTS = frozenset(
    {
        *("thoughtSignature", "thought_signature", "signature", "encrypted_content"),
        *("reasoning", "reasoning_content", "reasoning_details", "thinking"),
    }
)


def left_beside(
    members: Mapping[str, JsonValue], known: frozenset[str], pointer: str
) -> Iterator[LeftOut]:
    """What a message, or a block at a pointer, says beside the members that are read.

    Args:
        members: The message, or the block.
        known: The members that are read.
        pointer: Where it stands.
    """
    for name, value in members.items():
        if name in known or not says_something(value):
            continue
        if name in _THOUGHTS:
            yield reasoning(child_pointer(pointer, name))
        elif name not in _FRAMES or (name == "annotations" and isinstance(value, list)):
            yield without_a_place(child_pointer(pointer, name), name)


def says_something(value: JsonValue) -> bool:
    """Whether a member says anything; SDKs write every field that was not given as nothing."""
    return not (value is None or value is False or value in ("", [], {}))


def reasoning(pointer: str) -> LeftOut:
    """What a model thought, left out."""
    return LeftOut(
        pointer, "reasoning", "reasoning", "Only the model that thought it takes it back."
    )


def without_a_place(pointer: str, what: str) -> LeftOut:
    """Something that belongs to one dialect, left out."""
    return LeftOut(pointer, what, "no-place", f"Other dialects have no place for `{what}`.")


def is_block(value: JsonValue) -> TypeGuard[dict[str, JsonValue]]:
    """Whether a value has members."""
    return isinstance(value, dict)
