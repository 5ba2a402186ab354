"""The input items of `openai-responses`: an answer holds its images and documents itself.

A message that holds only text is a string, which is the one form of an assistant's words that
needs no id of the provider's. A turn in which nothing was said has no item; an answer always has.

Source: `providers`, `openai-responses`.
"""

from collections.abc import Sequence

from app.models.conversation import Attachment, Call, SettledItem, SettledTurn
from app.models.json_value import json_text
from app.models.rendering import ImageDetail
from app.rendering.targets.leaves import Node, data_uri_of, file_name_of, joined, text_of
from app.rendering.targets.profile import Profile


def write(turns: Sequence[SettledTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Settled turns as input items."""
    items: list[Node] = []
    for turn in turns:
        content = _content(turn.items, detail)
        if turn.role == "tool":
            call_id = profile.call_id.fit(turn.call_id)
            items.append({"type": "function_call_output", "call_id": call_id, "output": content})
        elif content:
            items.append({"type": "message", "role": turn.role, "content": content})
        items += [_call(call, profile) for call in turn.calls]
    return items


def _content(items: Sequence[SettledItem], detail: ImageDetail) -> str | list[Node]:
    if not any(isinstance(item, Attachment) for item in items):
        return joined(map(text_of, items))
    blocks: list[Node] = []
    for item in items:
        if isinstance(item, Attachment):
            blocks.append(_medium(item, detail))
        elif text := text_of(item):
            blocks.append({"type": "input_text", "text": text})
    return blocks


def _medium(attachment: Attachment, detail: ImageDetail) -> Node:
    if attachment.kind == "image":
        return {"type": "input_image", "image_url": data_uri_of(attachment), "detail": detail}
    if attachment.url is not None:
        return {"type": "input_file", "file_url": attachment.url}
    name = file_name_of(attachment)
    return {"type": "input_file", "filename": name, "file_data": data_uri_of(attachment)}


def _call(call: Call, profile: Profile) -> Node:
    return {
        "type": "function_call",
        "call_id": profile.call_id.fit(call.call_id),
        "name": profile.tool_name.fit(call.name),
        "arguments": json_text(call.arguments),
    }
