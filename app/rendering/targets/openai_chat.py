"""The messages of `openai-chat`: a tool message holds nothing but text, its media come behind.

Images in a tool message are refused or overlooked. Where an answer has a medium, its tool message
has a line that says so, and one user message after all tool messages of the turn holds the media,
each behind a line that names the call it belongs to. A turn in which nothing was said has no
message, since many servers refuse an empty one; an answer always has.

Source: `providers`, `openai-chat`.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby

from app.media.types import canonical_mime_type
from app.models.conversation import Attachment, Call, SettledItem, SettledTurn
from app.models.json_value import json_text
from app.models.rendering import ImageDetail
from app.rendering.targets.leaves import (
    Node,
    b64,
    content_of,
    data_uri_of,
    file_name_of,
    joined,
    text_of,
)
from app.rendering.targets.lines import attached_line, frame_line
from app.rendering.targets.profile import Profile

_WHERE = "attached after the tool messages"


def write(turns: Sequence[SettledTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Settled turns as messages."""
    messages: list[Node] = []
    for are_answers, group in groupby(turns, key=lambda turn: turn.role == "tool"):
        if are_answers:
            messages += _answers(group, profile, detail)
            continue
        for turn in group:
            messages += said(turn, profile, detail)
    return messages


def said(turn: SettledTurn, profile: Profile, detail: ImageDetail) -> list[Node]:
    """The message of a turn that is no tool's; none where nothing was said."""
    content = shown(turn.items, detail)
    if turn.calls:
        calls: list[Node] = [_call(call, profile) for call in turn.calls]
        return [{"role": turn.role, "content": content or None, "tool_calls": calls}]
    return [{"role": turn.role, "content": content}] if content else []


def shown(items: Sequence[SettledItem], detail: ImageDetail) -> str | list[Node]:
    """One string where there is only text; else a block for each text and each medium."""
    return content_of(items, partial(_medium, detail=detail))


def _answers(
    group: Iterable[SettledTurn],
    profile: Profile,
    detail: ImageDetail,
) -> list[Node]:
    messages: list[Node] = []
    media: list[Node] = []
    for turn in group:
        call_id = profile.call_id.fit(turn.call_id)
        texts: list[str | None] = []
        for item in turn.items:
            if isinstance(item, Attachment):
                texts.append(attached_line(item, _WHERE))
                media.append(_text(frame_line(turn, item, call_id)))
                media.append(_medium(item, detail))
            else:
                texts.append(text_of(item))
        messages.append({"role": "tool", "tool_call_id": call_id, "content": joined(texts)})
    if media:
        messages.append({"role": "user", "content": media})
    return messages


def _call(call: Call, profile: Profile) -> Node:
    return {
        "id": profile.call_id.fit(call.call_id),
        "type": "function",
        "function": {
            "name": profile.tool_name.fit(call.name),
            "arguments": json_text(call.arguments),
        },
    }


def _text(text: str) -> Node:
    return {"type": "text", "text": text}


def _medium(attachment: Attachment, detail: ImageDetail) -> Node:
    if attachment.kind == "image":
        image: Node = {"url": data_uri_of(attachment), "detail": detail}
        return {"type": "image_url", "image_url": image}
    if attachment.kind == "audio":
        is_mp3 = canonical_mime_type(attachment.mime_type) == "audio/mpeg"
        audio: Node = {"data": b64(attachment), "format": "mp3" if is_mp3 else "wav"}
        return {"type": "input_audio", "input_audio": audio}
    file: Node = {"filename": file_name_of(attachment), "file_data": data_uri_of(attachment)}
    return {"type": "file", "file": file}
