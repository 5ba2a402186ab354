"""The messages of `openai-chat`, `openai-compat` and `openai-responses`.

`openai-chat`: a tool message has only text, since images in one are refused or ignored. If an
answer has a medium, its tool message has a note, and one user message after all tool messages of
the turn has the media, each after a line that names its call. An empty turn has no message, since
many servers refuse an empty one; an answer always has one.

`openai-compat`: images are in the tool message, as some servers accept them. User, assistant and
system turns are those of `openai-chat`.

`openai-responses`: an answer includes its images and documents. A message with only text is a
string, the only form of an assistant's text that does not need an id of the provider's. An empty
turn has no item; an answer always has one.

Source: `providers`, `openai-chat` and `openai-responses`; spec 000, "Multi-block Tool Results".
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby

from pagefault_dialects.json.values import JsonObject, JsonValue, json_text, text_member
from pagefault_dialects.media.types import canonical_mime_type
from pagefault_dialects.model.conversation import (
    MediaItem,
    NativeMessage,
    ProviderBlock,
    ResolvedItem,
    ResolvedTurn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.render_options import ImageDetail, RenderOptions
from pagefault_dialects.targets.base64_leaves import (
    Node,
    base64_leaf,
    content_of,
    copy_provider_block,
    data_uri_of,
    file_name_of,
    join_texts,
    text_block,
    text_of,
)
from pagefault_dialects.targets.media_lines import attached_line, frame_line
from pagefault_dialects.targets.native_messages import (
    select_request_members,
    write_runs,
)
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.request_shapes import (
    ADDRESS,
    WORDS,
    Shape,
    fits,
    fits_members,
    fits_type,
)

_WHERE = "attached after the tool messages"
_TEXT = frozenset({"text"})
_BLOCKS = {
    "system": _TEXT,
    "developer": _TEXT,
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
    "tool": _TEXT,
}
_SAID = frozenset({"role", "content", "name"})
_MEMBERS = {
    "system": _SAID,
    "developer": _SAID,
    "user": _SAID,
    "assistant": _SAID | {"refusal", "audio", "tool_calls", "function_call"},
    "tool": frozenset({"role", "content", "tool_call_id"}),
}
_SHAPES: Mapping[str, Shape] = {
    "text": {"text": WORDS},
    "refusal": {"refusal": WORDS},
    "image_url": {"image_url": {"url": ADDRESS}},
    "input_audio": {"input_audio": {"data": str, "format": str}},
    "file": {
        "file": (
            {"file_id": str, "file_data?": str, "filename?": str},
            {"file_id?": str, "file_data": str, "filename?": str},
        )
    },
}
_THOUGHTS: Mapping[str, Shape] = {
    "reasoning": str,
    "reasoning_content": str,
    "thinking": str,
    "reasoning_details": list,
}
_MESSAGE: Shape = {"content?": (str, list), "name?": str, "refusal?": str}
_ANSWER: Shape = {"content": (str, list), "tool_call_id": str}
_FUNCTION: dict[str, Shape] = {"name": str, "arguments": str}
_OF_RESPONSES = frozenset({"annotations", "parsed"})
_MEMBERS_OF_CALLS = frozenset({"id", "type", "function", "custom"})
_MEMBERS_OF_TEXTS = frozenset({"type", "role", "content", "id", "status", "phase"})
_OF_PARSED = frozenset({"parsed_arguments", "created_by"})
_ITEMS: Mapping[str, Shape] = {
    "function_call": {"call_id": str, **_FUNCTION},
    "function_call_output": {"call_id": str, "output": (str, list)},
    "reasoning": {"id?": str, "summary": list},
    "input_text": {"text": str},
    "output_text": {"text": str},
    # Items of the Realtime API have both, in another form; requests have no `output_audio`.
    "input_audio": {"input_audio": {"data": str, "format": str}},
    "output_audio": (),
    "input_image": (
        {"image_url": ADDRESS, "file_id?": str},
        {"image_url?": ADDRESS, "file_id": str},
    ),
    "input_file": (
        {"file_id": str, "filename?": str},
        {"file_data": str, "filename?": str},
        {"file_url": ADDRESS, "filename?": str},
    ),
}
_PARTS_OF_ITEMS = ("input_text", "input_image", "input_file", "input_audio", "output_text")


def write_chat(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages of `openai-chat`."""
    messages: list[Node] = []
    for are_answers, group in groupby(turns, key=lambda turn: turn.role == "tool"):
        if are_answers:
            messages += _answers(group, profile, detail)
            continue
        for turn in group:
            messages += _messages(turn, profile, detail) if turn.written is None else turn.written
    return messages


def write_compat(
    turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail
) -> list[Node]:
    """Return resolved turns as messages of `openai-compat`."""
    messages: list[Node] = []
    for turn in turns:
        if turn.role != "tool":
            messages += map(_for_any_server, _messages(turn, profile, detail))
            continue
        call_id = profile.call_id.fit(turn.call_id)
        content = content_of(turn.items, partial(_medium, detail=detail))
        messages.append({"role": "tool", "tool_call_id": call_id, "content": content})
    return messages


def write_responses(
    turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail
) -> list[Node]:
    """Return resolved turns as input items of `openai-responses`."""
    return write_runs(turns, partial(_items, profile=profile, detail=detail))


def _items(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    items: list[Node] = []
    for turn in turns:
        if turn.role == "tool":
            content = content_of(turn.items, partial(_input, detail=detail), _input_text)
            call_id = profile.call_id.fit(turn.call_id)
            items.append({"type": "function_call_output", "call_id": call_id, "output": content})
            continue
        for is_item, group in groupby(turn.items, _is_item):
            if is_item:
                items += (
                    copy_provider_block(item) for item in group if isinstance(item, ProviderBlock)
                )
            elif content := content_of([*group], partial(_input, detail=detail), _input_text):
                items.append({"type": "message", "role": turn.role, "content": content})
        for call in turn.calls:
            call_id = profile.call_id.fit(call.call_id)
            items.append({"type": "function_call", "call_id": call_id, **_called(call, profile)})
    return items


def _is_item(item: ResolvedItem) -> bool:
    """Return whether an item is an input item of its own, rather than a part of a message."""
    if not isinstance(item, ProviderBlock):
        return False
    [form] = item.forms.values()
    return text_member(form, "type") not in _PARTS_OF_ITEMS


def _for_any_server(message: Node) -> Node:
    """Return a message without the `null` next to calls, which some servers refuse."""
    if isinstance(message, dict) and message.get("content") is None:
        return {**message, "content": ""}
    return message


def _messages(turn: ResolvedTurn, profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return the message of a turn of another role than the tool; empty for an empty turn."""
    thoughts: dict[str, Node] = {}
    items: list[ResolvedItem] = []
    for item in turn.items:
        if isinstance(item, ProviderBlock) and item.code == "reasoning":
            thoughts |= copy_provider_block(item)
        else:
            items.append(item)
    content = content_of(items, partial(_medium, detail=detail))
    if not turn.calls:
        message: dict[str, Node] = {"role": turn.role, "content": content, **thoughts}
        return [message] if content or thoughts else []
    calls: list[Node] = []
    for call in turn.calls:
        call_id = profile.call_id.fit(call.call_id)
        signed = _signature(call) if profile.home == "openai-compat" else {}
        function = {"function": _called(call, profile)}
        calls.append({"id": call_id, "type": "function", **function, **signed})
    return [{"role": turn.role, "content": content or None, **thoughts, "tool_calls": calls}]


def _signature(call: TurnCall) -> dict[str, Node]:
    """Return the member that Gemini's OpenAI-compatible endpoint requires back."""
    if call.thought_signature is None:
        return {}
    return {"extra_content": {"google": {"thought_signature": call.thought_signature}}}


def _called(call: TurnCall, profile: Profile) -> dict[str, Node]:
    return {"name": profile.tool_name.fit(call.name), "arguments": json_text(call.arguments)}


def _answers(group: Iterable[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    messages: list[Node] = []
    media: list[Node] = []
    for turn in group:
        if turn.written is not None:
            messages += turn.written
            continue
        call_id = profile.call_id.fit(turn.call_id)
        texts: list[str | None] = []
        for item in turn.items:
            if isinstance(item, MediaItem):
                texts.append(attached_line(item, _WHERE))
                media += [*text_block(frame_line(turn, item, call_id)), _medium(item, detail)]
            elif isinstance(item, ProviderBlock):
                media += [*text_block(f"From the call {call_id}:"), copy_provider_block(item)]
            else:
                texts.append(text_of(item))
        messages.append({"role": "tool", "tool_call_id": call_id, "content": join_texts(texts)})
    return [*messages, {"role": "user", "content": media}] if media else messages


def _medium(attachment: MediaItem, detail: ImageDetail) -> Node:
    if attachment.kind == "image":
        image: Node = {"url": data_uri_of(attachment), "detail": attachment.detail or detail}
        return {"type": "image_url", "image_url": image}
    if attachment.kind == "audio":
        is_mp3 = canonical_mime_type(attachment.mime_type) == "audio/mpeg"
        audio: Node = {"data": base64_leaf(attachment), "format": "mp3" if is_mp3 else "wav"}
        return {"type": "input_audio", "input_audio": audio}
    file: Node = {"filename": file_name_of(attachment), "file_data": data_uri_of(attachment)}
    return {"type": "file", "file": file}


def _input(attachment: MediaItem, detail: ImageDetail) -> Node:
    if attachment.kind == "image":
        url, image_detail = data_uri_of(attachment), attachment.detail or detail
        return {"type": "input_image", "image_url": url, "detail": image_detail}
    if attachment.url is not None:
        return {"type": "input_file", "file_url": attachment.url}
    name = file_name_of(attachment)
    return {"type": "input_file", "filename": name, "file_data": data_uri_of(attachment)}


def chat_request(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return a message as requests of `openai-chat` have it; `None` if it has no such form."""
    sent = native.message
    role = text_member(sent, "role")
    blocks = _BLOCKS.get(role)
    if blocks is None or native.dialect not in (None, "openai-chat"):
        return None
    request = select_request_members(sent, _MEMBERS[role], _OF_RESPONSES)
    shape = _ANSWER if role == "tool" else _MESSAGE
    if request is None or not fits(request, shape):
        return None
    if isinstance(audio := request.get("audio"), dict):
        request["audio"] = {"id": audio.get("id")}
    content, calls = request.get("content"), request.get("tool_calls")
    if isinstance(content, list):
        is_own = bool(content) and all(_is_block(block, blocks) for block in content)
    else:
        is_own = bool(content) or (not blocks.isdisjoint(("refusal",)) and content in (None, ""))
    if calls is None:
        request.pop("tool_calls", None)
        has_more = request.get("refusal") or request.get("audio")
        return request if is_own and (content or has_more) else None
    is_own = is_own and isinstance(calls, list) and bool(calls)
    return request if is_own and all(map(_is_call, calls)) else None


def accepts_block(block: JsonObject, role: TurnRole) -> bool:
    """Return whether requests of `openai-chat` accept a block in a rewritten message.

    Blocks that an answer cannot have follow in a user message.
    """
    return _is_block(block, _BLOCKS["user" if role == "tool" else role])


def has_thought(block: JsonObject, role: TurnRole) -> bool:
    """Return whether `openai-compat` servers accept members with the model's thoughts."""
    return block.keys() <= _THOUGHTS.keys() and fits_members(block, _THOUGHTS)


def has_item(block: JsonObject, role: TurnRole) -> bool:
    """Return whether requests of `openai-responses` accept an item, or a part of one."""
    return text_member(block, "type") != "" and fits_type(block, _ITEMS)


def _is_block(block: JsonValue, kinds: frozenset[str]) -> bool:
    """Return whether a block has one of these types, in OpenAI's form: Mistral has bare URLs."""
    is_of_kind = isinstance(block, dict) and text_member(block, "type") in kinds
    return is_of_kind and fits_type(block, _SHAPES)


def _is_call(call: JsonValue) -> bool:
    """Return whether a call has only the members of requests."""
    if not isinstance(call, dict) or not call.keys() <= _MEMBERS_OF_CALLS:
        return False
    function = call.get("function")
    if not isinstance(function, dict):
        return call.get("type") == "custom" and isinstance(call.get("custom"), dict)
    return call.get("type") == "function" and fits(function, _FUNCTION)


def responses_request(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return an item as requests of `openai-responses` have it; `None` if it has no such form."""
    sent = native.message
    if native.dialect not in (None, "openai-responses"):
        return None
    content = sent.get("content")
    if sent.get("type", "message") == "message":
        is_text = isinstance(content, str) and bool(content) and sent.keys() <= _MEMBERS_OF_TEXTS
        is_list = native.dialect is not None and isinstance(content, list) and bool(content)
        if not is_text and not is_list:
            return None
    elif "role" in sent and sent["type"] != "additional_tools":
        return None
    if not all(map(_is_of_its_type, [sent, *_blocks(content), *_blocks(sent.get("output"))])):
        return None
    return {name: value for name, value in sent.items() if name not in _OF_PARSED}


def _blocks(content: JsonValue) -> list[JsonValue]:
    return content if isinstance(content, list) else []


def _is_of_its_type(value: JsonValue) -> bool:
    return isinstance(value, dict) and fits_type(value, _ITEMS)


def _input_text(text: str) -> list[Node]:
    return [{"type": "input_text", "text": text}]
