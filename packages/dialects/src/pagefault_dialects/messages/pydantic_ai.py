"""Messages of Pydantic AI: requests and responses, whose parts each have a role of their own."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeGuard

from pagefault_dialects.json.values import JsonValue

_CALLS = ("tool-call", "builtin-tool-call")
_RETURNS = ("tool-return", "builtin-tool-return", "retry-prompt")


class PartMessage(NamedTuple):
    """A message that parts are, where they stand in theirs, and where its blocks do."""

    pointer: str
    message: dict[str, Any]
    places: dict[str, str]


def is_pydantic_ai(value: JsonValue) -> TypeGuard[dict[str, Any]]:
    """Return whether a value is such a message."""
    if not isinstance(value, dict) or value.get("kind") not in ("request", "response"):
        return False
    parts = value.get("parts")
    return isinstance(parts, list) and all(
        isinstance(part, dict) and isinstance(part.get("part_kind"), str) for part in parts
    )


def part_messages(value: dict[str, Any]) -> Iterator[PartMessage]:
    """Yield the messages that one is: all of a response, and each part of a request."""
    parts = value["parts"]
    if value["kind"] == "response":
        blocks = [*map(_said, parts)]
        places = {f"/content/{index}": f"/parts/{index}" for index in range(len(parts))}
        yield PartMessage("", {"role": "assistant", "content": blocks}, places)
        return
    for index, part in enumerate(parts):
        pointer, content = f"/parts/{index}", part.get("content")
        if part["part_kind"] in _RETURNS and part.get("tool_name"):
            message = {"role": "tool", "content": [_returned(part)]}
            yield PartMessage(pointer, message, {"/content/0": ""})
            continue
        role = "system" if part["part_kind"] == "system-prompt" else "user"
        told = [*map(_shown, content)] if isinstance(content, list) else content
        yield PartMessage(pointer, {"role": role, "content": told}, {})


def _said(part: dict[str, Any]) -> JsonValue:
    kind, content = part["part_kind"], part.get("content")
    if kind in _CALLS:
        named = {"id": part.get("tool_call_id"), "name": part.get("tool_name")}
        return {"type": "tool_use", **named, "input": part.get("args") or {}}
    if kind in _RETURNS:
        return _returned(part)
    if kind == "thinking":
        return {"type": "thinking", "thinking": content}
    return {"type": "text", "text": content} if kind == "text" else _shown(content)


def _returned(part: dict[str, Any]) -> JsonValue:
    content = part.get("content")
    failed = part["part_kind"] == "retry-prompt" or part.get("outcome") in ("failed", "retried")
    return {
        "type": "tool_result",
        "tool_use_id": part.get("tool_call_id"),
        "name": part.get("tool_name"),
        "content": [*map(_shown, content)] if isinstance(content, list) else _shown(content),
        "is_error": failed,
    }


def _shown(content: JsonValue) -> JsonValue:
    """Return something that is said as a block that other dialects have."""
    if isinstance(content, str):
        return {"type": "text", "text": content}
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(kind, str):
        return content
    media_type = content.get("media_type")
    if kind == "binary":
        return {"data": content.get("data"), "mimeType": media_type}
    if kind == "image-url":
        return {"type": "image_url", "image_url": {"url": content.get("url")}}
    if kind.endswith("-url"):
        link = {"type": "resource_link", "uri": content.get("url"), "name": kind}
        return {**link, "mimeType": media_type} if media_type else link
    return content
