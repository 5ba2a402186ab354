"""The messages of `pydantic-ai`: input of `ModelMessagesTypeAdapter.validate_python`.

All results of a turn are in one request. A system or user turn is a request of its own; the
framework merges consecutive requests. Media in a response are bytes, never URLs.

Source: pydantic-ai 2.68, `pydantic_ai.messages`.
"""

import re
from collections.abc import Sequence
from itertools import groupby

from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.conversation import (
    MediaItem,
    ResolvedItem,
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

_THOUGHT_SHAPE: Shape = {"part_kind": re.compile("thinking"), "content": str}


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages, without empty turns.

    `detail` is written only for media that have a detail of their own, since its member depends on
    the provider.
    """
    messages: list[Node] = []
    for role, group in groupby(turns, lambda turn: turn.role):
        if role == "tool":
            results: list[Node] = [_write_result(turn, profile) for turn in group]
            messages.append({"parts": results, "kind": "request"})
            continue
        for turn in group:
            if role == "assistant":
                calls = [_write_call(call, profile) for call in turn.calls]
                parts = [*blocks_of(turn.items, _write_file, _write_text), *calls]
                kind = "response"
            else:
                content = _write_content(turn.items)
                part_kind = "system-prompt" if role == "system" else "user-prompt"
                parts = [{"content": content, "part_kind": part_kind}] if content else []
                kind = "request"
            if parts:
                messages.append({"parts": parts, "kind": kind})
    return messages


def accepts_block(part: JsonObject, role: TurnRole) -> bool:
    """Return whether Pydantic AI accepts a part: only thoughts of the assistant."""
    return role == "assistant" and fits(part, _THOUGHT_SHAPE)


def _write_result(turn: ResolvedTurn, profile: Profile) -> Node:
    return {
        "tool_name": profile.tool_name.fit(turn.tool_name),
        "content": _write_content(turn.items),
        "tool_call_id": profile.call_id.fit(turn.call_id),
        "outcome": "failed" if turn.is_error else "success",
        "part_kind": "tool-return",
    }


def _write_call(call: TurnCall, profile: Profile) -> Node:
    return {
        "tool_name": profile.tool_name.fit(call.name),
        "args": JsonLeaf(call.arguments),
        "tool_call_id": profile.call_id.fit(call.call_id),
        "part_kind": "tool-call",
    }


def _write_content(items: Sequence[ResolvedItem]) -> str | list[Node]:
    if any(isinstance(item, MediaItem) for item in items):
        return blocks_of(items, _write_medium, lambda text: [text])
    return join_texts(map(text_of, items))


def _write_text(text: str) -> list[Node]:
    return [{"content": text, "part_kind": "text"}]


def _write_file(attachment: MediaItem) -> Node:
    return {"content": _write_medium(attachment), "part_kind": "file"}


def _write_medium(attachment: MediaItem) -> Node:
    medium: dict[str, Node]
    if attachment.url is None:
        medium = {"data": base64_leaf(attachment), "kind": "binary"}
    else:
        medium = {"url": attachment.url, "kind": f"{media_class(attachment.kind)}-url"}
    # The type of an image at a URL may be unknown; the kind says that it is an image.
    if not attachment.mime_type.endswith("/*"):
        medium["media_type"] = attachment.mime_type
    if attachment.detail is not None and attachment.kind == "image":
        medium["vendor_metadata"] = {"detail": attachment.detail}
    return medium
