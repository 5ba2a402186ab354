"""The messages of `otel-genai`: `gen_ai.input.messages` of OpenTelemetry's semantic conventions.

A message is a role and parts. A result is a part with its text, or with its JSON value if it has
nothing else. Its media are parts after it in the same message.

Source: semantic conventions for generative AI, `gen-ai-input-messages.json`.
"""

import re
from collections.abc import Sequence

from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.conversation import (
    DataItem,
    MediaItem,
    ResolvedTurn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.render_options import ImageDetail
from pagefault_dialects.targets.base64_leaves import (
    JsonLeaf,
    Node,
    base64_leaf,
    blocks_of,
    join_texts,
    text_of,
)
from pagefault_dialects.targets.profile import Profile, media_class
from pagefault_dialects.targets.request_shapes import Shape, fits

_THOUGHT_SHAPE: Shape = {"type": re.compile("reasoning"), "content": str}


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages, without empty turns.

    `detail` is not used, since these messages have no member for it.
    """
    messages: list[Node] = []
    for turn in turns:
        if turn.role == "tool":
            parts = _write_result(turn, profile)
        else:
            calls = [_write_call(call, profile) for call in turn.calls]
            parts = [*blocks_of(turn.items, _write_medium, _write_text), *calls]
        if parts:
            messages.append({"role": turn.role, "parts": parts})
    return messages


def accepts_block(part: JsonObject, role: TurnRole) -> bool:
    """Return whether the conventions have such a part: only for thoughts of the assistant."""
    return role == "assistant" and fits(part, _THOUGHT_SHAPE)


def _write_result(turn: ResolvedTurn, profile: Profile) -> list[Node]:
    media = [_write_medium(item) for item in turn.items if isinstance(item, MediaItem)]
    response: Node = join_texts(map(text_of, turn.items))
    if len(turn.items) == 1 and isinstance(turn.items[0], DataItem):
        response = JsonLeaf(turn.items[0].value)
    call_id = profile.call_id.fit(turn.call_id)
    return [{"type": "tool_call_response", "id": call_id, "response": response}, *media]


def _write_call(call: TurnCall, profile: Profile) -> Node:
    return {
        "type": "tool_call",
        "id": profile.call_id.fit(call.call_id),
        "name": profile.tool_name.fit(call.name),
        "arguments": JsonLeaf(call.arguments),
    }


def _write_text(text: str) -> list[Node]:
    return [{"type": "text", "content": text}]


def _write_medium(attachment: MediaItem) -> Node:
    # The type of an image at a URL may be unknown; the modality says that it is an image.
    has_known_type = not attachment.mime_type.endswith("/*")
    described: dict[str, Node] = {
        "mime_type": attachment.mime_type if has_known_type else None,
        "modality": media_class(attachment.kind),
    }
    if attachment.url is not None:
        return {"type": "uri", **described, "uri": attachment.url}
    return {"type": "blob", **described, "content": base64_leaf(attachment)}
