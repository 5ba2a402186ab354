"""The messages of `mistral`: messages like those of Chat Completions, in a stricter order.

Tool messages have only text, and have to be followed by a tool or assistant message. So the media
of results are sent in a user message after a line of the assistant, each after a line that names
its call. If a user message follows a tool message, `opening_turns.py` inserts a line of the
assistant. System messages come first.

Source: mistralai 3.7; `mistral-common`, `MistralRequestValidatorV3`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from pagefault_dialects.json.values import JsonObject, json_text
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn, TurnCall, TurnRole
from pagefault_dialects.model.render_options import ImageDetail
from pagefault_dialects.targets.base64_leaves import (
    Node,
    base64_leaf,
    content_of,
    data_uri_of,
    file_name_of,
    join_texts,
    text_block,
    text_of,
)
from pagefault_dialects.targets.media_lines import format_attachment_line, format_origin_line
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.request_shapes import Shape, fits, has_known_shape

_THINKING: Shape = {"type": re.compile("thinking"), "thinking": list}
_THINKING_ITEMS: Mapping[str, Shape] = {
    "text": {"text": str},
    "reference": {"reference_ids": list},
    "tool_reference": {"tool": str, "title": str},
}
_MEDIA_LOCATION = "attached after the tool messages"
MEDIA_FOLLOW = "[The media of these results follow.]"


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages, without empty turns.

    `detail` is written only for media that differ from the provider's default.
    """
    messages: list[Node] = []
    for are_results, group in groupby(turns, key=lambda turn: turn.role == "tool"):
        if are_results:
            messages += _write_results(group, profile)
            continue
        for turn in group:
            content = content_of(turn.items, _write_medium)
            if turn.calls:
                calls: list[Node] = [_write_call(call, profile) for call in turn.calls]
                messages.append({"role": turn.role, "content": content, "tool_calls": calls})
            elif content:
                messages.append({"role": turn.role, "content": content})
    return messages


def accepts_block(block: JsonObject, role: TurnRole) -> bool:
    """Return whether a block is a thought of the assistant, the only block that is accepted."""
    is_thought = role == "assistant" and fits(block, _THINKING)
    return is_thought and all(has_known_shape(item, _THINKING_ITEMS) for item in block["thinking"])


def _write_call(call: TurnCall, profile: Profile) -> Node:
    return {
        "id": profile.call_id.fit(call.call_id),
        "type": "function",
        "function": {
            "name": profile.tool_name.fit(call.name),
            "arguments": json_text(call.arguments),
        },
    }


def _write_results(group: Iterable[ResolvedTurn], profile: Profile) -> list[Node]:
    messages: list[Node] = []
    media: list[Node] = []
    for turn in group:
        call_id = profile.call_id.fit(turn.call_id)
        texts: list[str | None] = []
        for item in turn.items:
            if isinstance(item, MediaItem):
                texts.append(format_attachment_line(item, _MEDIA_LOCATION))
                media += [*text_block(format_origin_line(turn, item, call_id)), _write_medium(item)]
            else:
                texts.append(text_of(item))
        name = profile.tool_name.fit(turn.tool_name)
        messages.append(
            {"role": "tool", "tool_call_id": call_id, "name": name, "content": join_texts(texts)}
        )
    if media:
        messages.append({"role": "assistant", "content": MEDIA_FOLLOW})
        messages.append({"role": "user", "content": media})
    return messages


def _write_medium(attachment: MediaItem) -> Node:
    if attachment.kind == "image":
        url = data_uri_of(attachment)
        image: Node = (
            url if attachment.detail is None else {"url": url, "detail": attachment.detail}
        )
        return {"type": "image_url", "image_url": image}
    if attachment.kind == "audio":
        return {"type": "input_audio", "input_audio": base64_leaf(attachment)}
    return {
        "type": "document_url",
        "document_url": data_uri_of(attachment),
        "document_name": file_name_of(attachment),
    }
