"""The messages of `anthropic`.

All results of a turn come first in one user message. A result includes its media, unless the tool
failed: a result with `is_error` has to have text, and may not have anything else. Its media then
follow all results, each after a line that names its call. Blank texts are refused, so they are left
out, and so is white space at the end of a last message of the assistant. Consecutive messages of
one role are not merged here, since the service merges them.

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
from pagefault_dialects.targets.media_lines import ERROR_LINE, attached_line, frame_line
from pagefault_dialects.targets.native_messages import (
    has_only_own_blocks,
    select_request_members,
    write_or_copy_turns,
)
from pagefault_dialects.targets.profile import Profile, tool_use
from pagefault_dialects.targets.request_shapes import ADDRESS, WORDS, Shape, fits_type, is_listed

_ROLES = ("user", "assistant")
_REQUEST_MEMBERS = frozenset({"role", "content"})
_RESPONSE_MEMBERS = frozenset(
    {
        *("id", "type", "model", "stop_reason", "stop_sequence", "stop_details", "usage"),
        *("container", "context_management"),
    }
)
_SOURCE_SHAPES: Mapping[str, Shape] = {
    # A medium without bytes is refused.
    "base64": {"media_type": str, "data": WORDS},
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
        is_own = (
            bool(content)
            and all(map(_is_anthropic_block, content))
            and _are_blocks_of(role, content)
        )
        return request if is_own and _are_results_valid(content) else None
    return request if isinstance(content, str) else None


def accepts_block(block: JsonObject, role: TurnRole) -> bool:
    """Return whether requests accept a block in a rewritten message."""
    is_accepted = (
        _is_anthropic_block(block) and _are_blocks_of(role, [block]) and _are_results_valid([block])
    )
    return is_accepted and _is_known(block)


def _is_known(block: JsonValue) -> bool:
    """Return whether a block, and each block in it, has a known type and a known source.

    A message that is written as it was sent may have newer types. In a rewritten message, only
    types are written of which it is known that requests accept them.
    """
    if not isinstance(block, dict):
        return False
    kind = text_member(block, "type") or ""
    if kind not in BLOCK_TYPES and not kind.endswith("_tool_result"):
        return False
    source = block.get("source")
    if isinstance(source, dict) and not is_listed(source, _SOURCE_SHAPES):
        return False
    holder = source if isinstance(source, dict) else block if kind == "tool_result" else {}
    content = holder.get("content")
    return not isinstance(content, list) or all(map(_is_known, content))


def _are_blocks_of(role: JsonValue, blocks: Sequence[JsonValue]) -> bool:
    """Return whether a role may have these blocks: only the assistant has thoughts."""
    kinds = {block.get("type") for block in blocks if isinstance(block, dict)}
    return role == "assistant" or kinds.isdisjoint(_THOUGHT_TYPES)


def _is_anthropic_block(block: JsonValue) -> bool:
    return has_only_own_blocks([block]) and _is_block(block)


def _is_block(block: JsonValue) -> bool:
    """Return whether a block, and each block of a result, has the members its type requires."""
    if not isinstance(block, dict) or not fits_type(block, _BLOCK_SHAPES):
        return False
    content = block.get("content") if block.get("type") == "tool_result" else None
    if isinstance(content, list) and not all(map(_is_block, content)):
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
        answer = block.get("content")
        blocks = answer if isinstance(answer, list) else []
        is_text = all(isinstance(item, dict) and item.get("type") == "text" for item in blocks)
        if has_other_block or (block.get("is_error") and not (is_text and answer)):
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
    """Return a message whose last block has the mark for the cache."""
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
                    media += [*text_block(frame_line(turn, item, call_id)), _write_medium(item)]
        elif content := blocks_of(turn.items, _write_medium, visible_text_block):
            result["content"] = content
        results.append(result)
    return [*results, *media]


def _write_call(call: TurnCall, profile: Profile) -> Node:
    mark: dict[str, Node] = {}
    if call.cache_control is not None:
        mark["cache_control"] = JsonLeaf(call.cache_control)
    return {**tool_use(call, profile), **mark}


def _write_media_line(attachment: MediaItem) -> Node:
    return text_block(attached_line(attachment, _MEDIA_LOCATION))[0]


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
