"""The messages of `openai-chat`, `openai-compat` and `openai-responses`.

`openai-chat`: a tool message has only text, since images in it are refused or ignored. If a result
has a medium, its tool message has a note instead. One user message after all tool messages of the
turn has the media, each after a line that names its call. An empty turn is left out, since many
servers refuse an empty message; a result always has a message.

`openai-compat`: images are in the tool message, since some servers accept them. Other turns are
written as for `openai-chat`.

`openai-responses`: a result includes its images and documents. A message with only text is a
string, since the text of an assistant in blocks needs an id of the provider. An empty turn is left
out; a result always has an item.

Source: design document `providers.md`, `openai-chat` and `openai-responses`; spec 000,
"Multi-block Tool Results".
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, groupby

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
from pagefault_dialects.targets.media_lines import format_attachment_line, format_origin_line
from pagefault_dialects.targets.native_messages import (
    select_request_members,
    write_or_copy_turns,
)
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.request_shapes import (
    ADDRESS,
    NON_EMPTY_TEXT,
    Shape,
    fits,
    fits_members,
    fits_type,
)

_MEDIA_LOCATION = "attached after the tool messages"
_TEXT_ONLY = frozenset({"text"})
_BLOCK_TYPES = {
    "system": _TEXT_ONLY,
    "developer": _TEXT_ONLY,
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
    "tool": _TEXT_ONLY,
}
_MESSAGE_MEMBERS = frozenset({"role", "content", "name"})
_REQUEST_MEMBERS = {
    "system": _MESSAGE_MEMBERS,
    "developer": _MESSAGE_MEMBERS,
    "user": _MESSAGE_MEMBERS,
    "assistant": _MESSAGE_MEMBERS | {"refusal", "audio", "tool_calls", "function_call"},
    "tool": frozenset({"role", "content", "tool_call_id"}),
}
_BLOCK_SHAPES: Mapping[str, Shape] = {
    "text": {"text": NON_EMPTY_TEXT},
    "refusal": {"refusal": NON_EMPTY_TEXT},
    "image_url": {"image_url": {"url": ADDRESS}},
    "input_audio": {"input_audio": {"data": str, "format": str}},
    "file": {
        "file": (
            {"file_id": str, "file_data?": str, "filename?": str},
            {"file_id?": str, "file_data": str, "filename?": str},
        )
    },
}
_THOUGHT_SHAPES: Mapping[str, Shape] = {
    "reasoning": str,
    "reasoning_content": str,
    "thinking": str,
    "reasoning_details": list,
}
_MESSAGE_SHAPE: Shape = {"content?": (str, list), "name?": str, "refusal?": str}
_TOOL_MESSAGE_SHAPE: Shape = {"content": (str, list), "tool_call_id": str}
_FUNCTION_SHAPE: dict[str, Shape] = {"name": str, "arguments": str}
_RESPONSE_MEMBERS = frozenset({"annotations", "parsed"})
_CALL_MEMBERS = frozenset({"id", "type", "function", "custom"})
_TEXT_ITEM_MEMBERS = frozenset({"type", "role", "content", "id", "status", "phase"})
_RESPONSE_ITEM_MEMBERS = frozenset({"parsed_arguments", "created_by"})
_ITEM_SHAPES: Mapping[str, Shape] = {
    "function_call": {"call_id": str, **_FUNCTION_SHAPE},
    "function_call_output": {"call_id": str, "output": (str, list)},
    "reasoning": {"id?": str, "summary": list},
    "input_text": {"text": str},
    "output_text": {"text": str},
    # The Realtime API has `input_audio` and `output_audio` of another shape. Requests have no
    # `output_audio`: no value has an empty shape.
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
_CONTENT_TYPES = ("input_text", "input_image", "input_file", "input_audio", "output_text")


def write_chat(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages of `openai-chat`."""
    messages: list[Node] = []
    for are_results, group in groupby(turns, key=lambda turn: turn.role == "tool"):
        if are_results:
            messages += _write_results(group, profile, detail)
            continue
        for turn in group:
            messages += (
                _write_turn(turn, profile, detail)
                if turn.copied_messages is None
                else turn.copied_messages
            )
    return messages


def write_compat(
    turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail
) -> list[Node]:
    """Return resolved turns as messages of `openai-compat`."""
    messages: list[Node] = []
    for turn in turns:
        if turn.role != "tool":
            messages += map(_replace_null_content, _write_turn(turn, profile, detail))
            continue
        call_id = profile.call_id.fit(turn.call_id)
        content = content_of(turn.items, partial(_write_medium, detail=detail))
        messages.append({"role": "tool", "tool_call_id": call_id, "content": content})
    return messages


def write_responses(
    turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail
) -> list[Node]:
    """Return resolved turns as input items of `openai-responses`."""
    return write_or_copy_turns(turns, partial(_write_items, profile=profile, detail=detail))


def _write_items(
    turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail
) -> list[Node]:
    items: list[Node] = []
    for turn in turns:
        if turn.role == "tool":
            content = content_of(
                turn.items, partial(_write_input_medium, detail=detail), _write_input_text
            )
            call_id = profile.call_id.fit(turn.call_id)
            items.append({"type": "function_call_output", "call_id": call_id, "output": content})
            continue
        for is_item, group in groupby(turn.items, _is_input_item):
            if is_item:
                items += (
                    copy_provider_block(item) for item in group if isinstance(item, ProviderBlock)
                )
            elif content := content_of(
                [*group], partial(_write_input_medium, detail=detail), _write_input_text
            ):
                items.append({"type": "message", "role": turn.role, "content": content})
        for call in turn.calls:
            call_id = profile.call_id.fit(call.call_id)
            items.append(
                {"type": "function_call", "call_id": call_id, **_write_function(call, profile)}
            )
    return items


def _is_input_item(item: ResolvedItem) -> bool:
    """Return whether an item is an input item of its own, and not a part of a message."""
    if not isinstance(item, ProviderBlock):
        return False
    [form] = item.forms.values()
    return text_member(form, "type") not in _CONTENT_TYPES


def _replace_null_content(message: Node) -> Node:
    """Return a message with an empty text instead of `null`, which some servers refuse."""
    if isinstance(message, dict) and message.get("content") is None:
        return {**message, "content": ""}
    return message


def _write_turn(turn: ResolvedTurn, profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return the message of a turn that is not a result; no message for an empty turn."""
    thoughts: dict[str, Node] = {}
    items: list[ResolvedItem] = []
    for item in turn.items:
        if isinstance(item, ProviderBlock) and item.code == "reasoning":
            thoughts |= copy_provider_block(item)
        else:
            items.append(item)
    content = content_of(items, partial(_write_medium, detail=detail))
    if not turn.calls:
        message: dict[str, Node] = {"role": turn.role, "content": content, **thoughts}
        return [message] if content or thoughts else []
    calls: list[Node] = []
    for call in turn.calls:
        call_id = profile.call_id.fit(call.call_id)
        signed = _write_signature(call) if profile.dialect == "openai-compat" else {}
        function = {"function": _write_function(call, profile)}
        calls.append({"id": call_id, "type": "function", **function, **signed})
    return [{"role": turn.role, "content": content or None, **thoughts, "tool_calls": calls}]


def _write_signature(call: TurnCall) -> dict[str, Node]:
    """Return the member with a call's signature, which Gemini's compatible endpoint requires."""
    if call.thought_signature is None:
        return {}
    return {"extra_content": {"google": {"thought_signature": call.thought_signature}}}


def _write_function(call: TurnCall, profile: Profile) -> dict[str, Node]:
    return {"name": profile.tool_name.fit(call.name), "arguments": json_text(call.arguments)}


def _write_results(
    group: Iterable[ResolvedTurn], profile: Profile, detail: ImageDetail
) -> list[Node]:
    messages: list[Node] = []
    media: list[Node] = []
    for turn in group:
        if turn.copied_messages is not None:
            messages += turn.copied_messages
            continue
        call_id = profile.call_id.fit(turn.call_id)
        texts: list[str | None] = []
        for item in turn.items:
            if isinstance(item, MediaItem):
                texts.append(format_attachment_line(item, _MEDIA_LOCATION))
                media += [
                    *text_block(format_origin_line(turn, item, call_id)),
                    _write_medium(item, detail),
                ]
            elif isinstance(item, ProviderBlock):
                media += [*text_block(f"From the call {call_id}:"), copy_provider_block(item)]
            else:
                texts.append(text_of(item))
        messages.append({"role": "tool", "tool_call_id": call_id, "content": join_texts(texts)})
    return [*messages, {"role": "user", "content": media}] if media else messages


def _write_medium(attachment: MediaItem, detail: ImageDetail) -> Node:
    if attachment.kind == "image":
        image: Node = {"url": data_uri_of(attachment), "detail": attachment.detail or detail}
        return {"type": "image_url", "image_url": image}
    if attachment.kind == "audio":
        is_mp3 = canonical_mime_type(attachment.mime_type) == "audio/mpeg"
        audio: Node = {"data": base64_leaf(attachment), "format": "mp3" if is_mp3 else "wav"}
        return {"type": "input_audio", "input_audio": audio}
    file: Node = {"filename": file_name_of(attachment), "file_data": data_uri_of(attachment)}
    return {"type": "file", "file": file}


def _write_input_medium(attachment: MediaItem, detail: ImageDetail) -> Node:
    if attachment.kind == "image":
        url, image_detail = data_uri_of(attachment), attachment.detail or detail
        return {"type": "input_image", "image_url": url, "detail": image_detail}
    if attachment.url is not None:
        return {"type": "input_file", "file_url": attachment.url}
    name = file_name_of(attachment)
    return {"type": "input_file", "filename": name, "file_data": data_uri_of(attachment)}


def as_chat_request(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return a message as requests of `openai-chat` have it; `None` if they do not accept it."""
    sent = native.message
    role = text_member(sent, "role")
    blocks = _BLOCK_TYPES.get(role)
    if blocks is None or native.dialect not in (None, "openai-chat"):
        return None
    request = select_request_members(sent, _REQUEST_MEMBERS[role], _RESPONSE_MEMBERS)
    shape = _TOOL_MESSAGE_SHAPE if role == "tool" else _MESSAGE_SHAPE
    if request is None or not fits(request, shape):
        return None
    if isinstance(audio := request.get("audio"), dict):
        request["audio"] = {"id": audio.get("id")}
    content, calls = request.get("content"), request.get("tool_calls")
    if isinstance(content, list):
        has_valid_content = bool(content) and all(
            _is_chat_block(block, blocks) for block in content
        )
    else:
        has_valid_content = bool(content) or (
            not blocks.isdisjoint(("refusal",)) and content in (None, "")
        )
    if calls is None:
        request.pop("tool_calls", None)
        has_more = request.get("refusal") or request.get("audio")
        return request if has_valid_content and (content or has_more) else None
    has_valid_content = has_valid_content and isinstance(calls, list) and bool(calls)
    return request if has_valid_content and all(map(_is_call, calls)) else None


def accepts_chat_block(block: JsonObject, role: TurnRole) -> bool:
    """Return whether requests of `openai-chat` accept a block in a rewritten message.

    A block of a result is accepted if a user message may have it: a block that the tool message
    cannot have is sent in a user message after it.
    """
    return _is_chat_block(block, _BLOCK_TYPES["user" if role == "tool" else role])


def accepts_compat_block(block: JsonObject, role: TurnRole) -> bool:
    """Return whether servers of `openai-compat` accept members: only those with thoughts."""
    return block.keys() <= _THOUGHT_SHAPES.keys() and fits_members(block, _THOUGHT_SHAPES)


def accepts_item(block: JsonObject, role: TurnRole) -> bool:
    """Return whether requests of `openai-responses` accept an item, or a part of a message."""
    return text_member(block, "type") != "" and fits_type(block, _ITEM_SHAPES)


def _is_chat_block(block: JsonValue, kinds: frozenset[str]) -> bool:
    """Return whether a block has one of these types, and the members that OpenAI requires.

    The members are checked since blocks of Mistral have the same types, but other members.
    """
    is_of_kind = isinstance(block, dict) and text_member(block, "type") in kinds
    return is_of_kind and fits_type(block, _BLOCK_SHAPES)


def _is_call(call: JsonValue) -> bool:
    """Return whether a call has only the members of requests."""
    if not isinstance(call, dict) or not call.keys() <= _CALL_MEMBERS:
        return False
    function = call.get("function")
    if not isinstance(function, dict):
        return call.get("type") == "custom" and isinstance(call.get("custom"), dict)
    return call.get("type") == "function" and fits(function, _FUNCTION_SHAPE)


def as_responses_request(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return an item as requests of `openai-responses` have it; `None` if they do not accept it."""
    sent = native.message
    if native.dialect not in (None, "openai-responses"):
        return None
    content = sent.get("content")
    if sent.get("type", "message") == "message":
        is_text = isinstance(content, str) and bool(content) and sent.keys() <= _TEXT_ITEM_MEMBERS
        is_list = native.dialect is not None and isinstance(content, list) and bool(content)
        if not is_text and not is_list:
            return None
    elif "role" in sent and sent["type"] != "additional_tools":
        return None
    output = sent.get("output")
    blocks = (value for value in (content, output) if isinstance(value, list))
    if not all(map(_fits_its_type, chain([sent], *blocks))):
        return None
    return {name: value for name, value in sent.items() if name not in _RESPONSE_ITEM_MEMBERS}


def _fits_its_type(value: JsonValue) -> bool:
    return isinstance(value, dict) and fits_type(value, _ITEM_SHAPES)


def _write_input_text(text: str) -> list[Node]:
    return [{"type": "input_text", "text": text}]
