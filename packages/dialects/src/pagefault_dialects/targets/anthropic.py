"""The messages of `anthropic`.

All results of a turn come first in one user message. A result includes its media, unless the tool
failed: a result with `is_error` has to have text, and may not have anything else. Its media then
follow all results, each after a line that names its call. The service refuses blank texts, and
white space at the end of a last message of the assistant, so both are left out. Consecutive
messages of one role are not merged here, since the service merges them.

Source: design document `providers.md`, `anthropic`; types of anthropic 2.12.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby

from pagefault_dialects.dialects.anthropic import BLOCK_TYPES
from pagefault_dialects.json.values import JsonObject, JsonValue, text_member
from pagefault_dialects.media.types import canonical_mime_type
from pagefault_dialects.model.conversation import (
    MediaItem,
    NativeMessage,
    ResolvedTurn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.render_options import ImageDetail, RenderOptions
from pagefault_dialects.targets.base64_leaves import (
    JsonLeaf,
    Node,
    base64_leaf,
    blocks_of,
    native_block_of,
    text_block,
    visible_text_block,
)
from pagefault_dialects.targets.media_lines import (
    ERROR_LINE,
    format_attachment_line,
    format_origin_line,
)
from pagefault_dialects.targets.native_messages import select_request_members, write_or_copy_turns
from pagefault_dialects.targets.profile import Profile, make_tool_use_block
from pagefault_dialects.targets.request_shapes import (
    ADDRESS,
    NON_EMPTY_TEXT,
    Shape,
    fits_type,
    has_known_shape,
)

_ROLES = ("user", "assistant")
_REQUEST_MEMBERS = frozenset({"role", "content"})
_RESPONSE_MEMBERS = frozenset(
    {
        *("id", "type", "model", "stop_reason", "stop_sequence", "stop_details", "usage"),
        *("container", "context_management"),
    }
)
_SOURCE_SHAPES: Mapping[str, Shape] = {
    # The service refuses a medium without bytes.
    "base64": {"media_type": str, "data": NON_EMPTY_TEXT},
    "url": {"url": ADDRESS},
    "text": {"data": str},
    "file": {"file_id": str},
    "content": {"content": (str, list)},
}
_BLOCK_SHAPES: Mapping[str, Shape] = {
    "text": {"text": str},
    "image": {"source": {"type": str}},
    "document": {"source": {"type": str}},
    "thinking": {"thinking": str, "signature": str},
    "redacted_thinking": {"data": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "server_tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str, "content?": (str, list)},
    "search_result": {"source": str, "title": str, "content": list},
    "container_upload": {"file_id": str},
}
# Types of blocks of other dialects. Anthropic's own types are many, and have no common prefix.
_FOREIGN_BLOCK_TYPES = frozenset(
    {
        *("image_url", "input_audio", "file", "refusal", "input_text", "output_text"),
        *("input_image", "input_file", "tool-call", "tool-result", "resource", "resource_link"),
        *("audio", "video", "function_call", "tool_call", "reasoning"),
    }
)
# Other dialects have blocks of these types too, but without an object as `source`.
_TYPES_WITH_SOURCE = frozenset({"image", "document"})
_MEDIA_LOCATION = "attached after the tool results"
_THOUGHT_TYPES = ("thinking", "redacted_thinking")
_MAX_TITLE_CHARS = 500


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages, without empty turns.

    `detail` is not used, since these messages have no member for it.
    """
    messages = write_or_copy_turns(turns, partial(_write_turns, profile=profile), content="content")
    if messages:
        messages[-1] = _without_trailing_space(messages[-1])
    return messages


def _write_turns(turns: Sequence[ResolvedTurn], profile: Profile) -> list[Node]:
    messages: list[Node] = []
    for are_results, group in groupby(turns, lambda turn: turn.role == "tool"):
        if are_results:
            messages.append({"role": "user", "content": _write_results(group, profile)})
            continue
        for turn in group:
            calls = [_write_call(call, profile) for call in turn.calls]
            if content := [*blocks_of(turn.items, _write_medium, visible_text_block), *calls]:
                messages.append({"role": turn.role, "content": content})
    return messages


def as_request(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return a message as requests have it; `None` if they do not accept it."""
    sent = native.message
    role = sent.get("role")
    if role not in _ROLES or native.dialect not in (None, "anthropic"):
        return None
    request = select_request_members(sent, _REQUEST_MEMBERS, _RESPONSE_MEMBERS)
    content = None if request is None else request.get("content")
    if isinstance(content, list):
        is_valid = (
            bool(content)
            and all(map(_is_anthropic_block, content))
            and _may_have_blocks(role, content)
            and _are_results_valid(content)
        )
        return request if is_valid else None
    return request if isinstance(content, str) else None


def accepts_block(block: JsonObject, role: TurnRole) -> bool:
    """Return whether requests accept a block in a rewritten message."""
    return (
        _is_anthropic_block(block)
        and _may_have_blocks(role, [block])
        and _are_results_valid([block])
        and _has_known_types(block)
    )


def _has_known_types(block: JsonValue) -> bool:
    """Return whether a block, its source and each block in it have a known type.

    A message that is written as it was sent may have newer types. A rewritten message has only
    types that requests are known to accept.
    """
    if not isinstance(block, dict):
        return False
    kind = text_member(block, "type") or ""
    if kind not in BLOCK_TYPES and not kind.endswith("_tool_result"):
        return False
    source = block.get("source")
    if isinstance(source, dict) and not has_known_shape(source, _SOURCE_SHAPES):
        return False
    parent = source if isinstance(source, dict) else block if kind == "tool_result" else {}
    content = parent.get("content")
    return not isinstance(content, list) or all(map(_has_known_types, content))


def _may_have_blocks(role: JsonValue, blocks: Sequence[JsonValue]) -> bool:
    """Return whether a role may have these blocks: only the assistant has thoughts."""
    kinds = {block.get("type") for block in blocks if isinstance(block, dict)}
    return role == "assistant" or kinds.isdisjoint(_THOUGHT_TYPES)


def _is_anthropic_block(block: JsonValue) -> bool:
    """Return whether a block has no type of another dialect, and the members its type requires."""
    if not isinstance(block, dict) or not isinstance(kind := block.get("type"), str):
        return False
    if kind in _TYPES_WITH_SOURCE and not isinstance(block.get("source"), dict):
        return False
    return kind not in _FOREIGN_BLOCK_TYPES and _has_required_members(block)


def _has_required_members(block: JsonValue) -> bool:
    """Return whether a block, and each block of a result, has the members its type requires."""
    if not isinstance(block, dict) or not fits_type(block, _BLOCK_SHAPES):
        return False
    content = block.get("content") if block.get("type") == "tool_result" else None
    if isinstance(content, list) and not all(map(_has_required_members, content)):
        return False
    source = block.get("source")
    return not isinstance(source, dict) or fits_type(source, _SOURCE_SHAPES)


def _are_results_valid(content: Sequence[JsonValue]) -> bool:
    """Return whether results come first, and results of failed calls have only text."""
    has_other_block = False
    for block in content:
        if not isinstance(block, dict) or block.get("type") != "tool_result":
            has_other_block = True
            continue
        result = block.get("content")
        blocks = result if isinstance(result, list) else []
        is_text = all(isinstance(item, dict) and item.get("type") == "text" for item in blocks)
        if has_other_block or (block.get("is_error") and not (is_text and result)):
            return False
    return True


def _without_trailing_space(message: Node) -> Node:
    """Return a message without white space at its end, if it is a message of the assistant."""
    match message:
        case {"role": "assistant", "content": str(text_before)}:
            return {"role": "assistant", "content": text_before.rstrip()}
        case {"role": "assistant", "content": [*before, last]} if isinstance(last, dict):
            text = last.get("text")
            if last.get("type") == "text" and isinstance(text, str) and text != text.rstrip():
                cut: Node = {**last, "text": text.rstrip()}
                return {"role": "assistant", "content": [*before, cut]}
    return message


def mark_cached(message: Node) -> Node:
    """Return a message whose last block has the member `cache_control`."""
    if not isinstance(message, dict):
        return message
    content = message["content"]
    if isinstance(content, str):
        content = text_block(content)
    if not isinstance(content, list) or not content:
        return message
    last = content[-1]
    if not isinstance(last, dict):
        return message
    marked: Node = {**last, "cache_control": {"type": "ephemeral"}}
    return {**message, "content": [*content[:-1], marked]}


def _write_results(group: Iterable[ResolvedTurn], profile: Profile) -> list[Node]:
    results: list[Node] = []
    media: list[Node] = []
    for turn in group:
        native = native_block_of(turn.items[0]) if turn.items else None
        if native is not None:
            results.append(native.node)
            continue
        call_id = profile.call_id.fit(turn.call_id)
        result: dict[str, Node] = {"type": "tool_result", "tool_use_id": call_id}
        if turn.is_error:
            error_blocks = blocks_of(
                turn.items, _write_media_line, visible_text_block
            ) or text_block(ERROR_LINE)
            result |= {"content": error_blocks, "is_error": True}
            for item in turn.items:
                if isinstance(item, MediaItem):
                    media += [
                        *text_block(format_origin_line(turn, item, call_id)),
                        _write_medium(item),
                    ]
        elif content := blocks_of(turn.items, _write_medium, visible_text_block):
            result["content"] = content
        results.append(result)
    return [*results, *media]


def _write_call(call: TurnCall, profile: Profile) -> Node:
    block = make_tool_use_block(call, profile)
    if call.cache_control is not None:
        block["cache_control"] = JsonLeaf(call.cache_control)
    return block


def _write_media_line(attachment: MediaItem) -> Node:
    return text_block(format_attachment_line(attachment, _MEDIA_LOCATION))[0]


def _write_medium(attachment: MediaItem) -> Node:
    mime_type = canonical_mime_type(attachment.mime_type) or attachment.mime_type
    source: Node
    if attachment.url is not None:
        source = {"type": "url", "url": attachment.url}
    else:
        source = {"type": "base64", "media_type": mime_type, "data": base64_leaf(attachment)}
    if mime_type.startswith("image/"):
        return {"type": "image", "source": source}
    document: dict[str, Node] = {"type": "document", "source": source}
    if title := (attachment.filename or "").strip()[:_MAX_TITLE_CHARS]:
        document["title"] = title
    return document
