"""The messages of `openai-chat`, `openai-compat` and `openai-responses`.

`openai-chat`: a tool message holds nothing but text, since images in one are refused or overlooked.
Where an answer has a medium, its tool message has a line that says so, and one user message after
all tool messages of the turn holds the media, each behind a line that names the call it belongs to.
A turn in which nothing was said has no message, since many servers refuse an empty one; an answer
always has.

`openai-compat`: images stand in the tool message, as some servers take them. User, assistant and
system turns are those of `openai-chat`.

`openai-responses`: an answer holds its images and documents itself. A message that holds only text
is a string, which is the one form of an assistant's words that needs no id of the provider's. A
turn in which nothing was said has no item; an answer always has.

Source: `providers`, `openai-chat` and `openai-responses`; spec 000, "Multi-block Tool Results".
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby

from pagefault_dialects.json.values import json_text
from pagefault_dialects.media.types import canonical_mime_type
from pagefault_dialects.model.conversation import MediaItem, SettledTurn, TurnCall
from pagefault_dialects.model.render_options import ImageDetail
from pagefault_dialects.targets.base64_leaves import (
    Node,
    b64,
    content_of,
    data_uri_of,
    file_name_of,
    joined,
    text_block,
    text_of,
)
from pagefault_dialects.targets.media_lines import attached_line, frame_line
from pagefault_dialects.targets.profile import Profile

_WHERE = "attached after the tool messages"


def write_chat(turns: Sequence[SettledTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return settled turns as messages of `openai-chat`."""
    messages: list[Node] = []
    for are_answers, group in groupby(turns, key=lambda turn: turn.role == "tool"):
        if are_answers:
            messages += _answers(group, profile, detail)
            continue
        for turn in group:
            messages += _said(turn, profile, detail)
    return messages


def write_compat(turns: Sequence[SettledTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return settled turns as messages of `openai-compat`."""
    messages: list[Node] = []
    for turn in turns:
        if turn.role != "tool":
            messages += _said(turn, profile, detail)
            continue
        call_id = profile.call_id.fit(turn.call_id)
        content = content_of(turn.items, partial(_medium, detail=detail))
        messages.append({"role": "tool", "tool_call_id": call_id, "content": content})
    return messages


def write_responses(
    turns: Sequence[SettledTurn], profile: Profile, detail: ImageDetail
) -> list[Node]:
    """Return settled turns as input items of `openai-responses`."""
    items: list[Node] = []
    for turn in turns:
        content = content_of(turn.items, partial(_input, detail=detail), _input_text)
        if turn.role == "tool":
            call_id = profile.call_id.fit(turn.call_id)
            items.append({"type": "function_call_output", "call_id": call_id, "output": content})
        elif content:
            items.append({"type": "message", "role": turn.role, "content": content})
        for call in turn.calls:
            call_id = profile.call_id.fit(call.call_id)
            items.append({"type": "function_call", "call_id": call_id, **_called(call, profile)})
    return items


def _said(turn: SettledTurn, profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return the message of a turn that is no tool's; none where nothing was said."""
    content = content_of(turn.items, partial(_medium, detail=detail))
    if not turn.calls:
        return [{"role": turn.role, "content": content}] if content else []
    calls: list[Node] = []
    for call in turn.calls:
        call_id = profile.call_id.fit(call.call_id)
        calls.append({"id": call_id, "type": "function", "function": _called(call, profile)})
    return [{"role": turn.role, "content": content or None, "tool_calls": calls}]


def _called(call: TurnCall, profile: Profile) -> dict[str, Node]:
    return {"name": profile.tool_name.fit(call.name), "arguments": json_text(call.arguments)}


def _answers(group: Iterable[SettledTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    messages: list[Node] = []
    media: list[Node] = []
    for turn in group:
        call_id = profile.call_id.fit(turn.call_id)
        texts: list[str | None] = []
        for item in turn.items:
            if isinstance(item, MediaItem):
                texts.append(attached_line(item, _WHERE))
                media += [*text_block(frame_line(turn, item, call_id)), _medium(item, detail)]
            else:
                texts.append(text_of(item))
        messages.append({"role": "tool", "tool_call_id": call_id, "content": joined(texts)})
    return [*messages, {"role": "user", "content": media}] if media else messages


def _medium(attachment: MediaItem, detail: ImageDetail) -> Node:
    if attachment.kind == "image":
        image: Node = {"url": data_uri_of(attachment), "detail": attachment.detail or detail}
        return {"type": "image_url", "image_url": image}
    if attachment.kind == "audio":
        is_mp3 = canonical_mime_type(attachment.mime_type) == "audio/mpeg"
        audio: Node = {"data": b64(attachment), "format": "mp3" if is_mp3 else "wav"}
        return {"type": "input_audio", "input_audio": audio}
    file: Node = {"filename": file_name_of(attachment), "file_data": data_uri_of(attachment)}
    return {"type": "file", "file": file}


def _input(attachment: MediaItem, detail: ImageDetail) -> Node:
    if attachment.kind == "image":
        url, shown = data_uri_of(attachment), attachment.detail or detail
        return {"type": "input_image", "image_url": url, "detail": shown}
    if attachment.url is not None:
        return {"type": "input_file", "file_url": attachment.url}
    name = file_name_of(attachment)
    return {"type": "input_file", "filename": name, "file_data": data_uri_of(attachment)}


def _input_text(text: str) -> list[Node]:
    return [{"type": "input_text", "text": text}]
