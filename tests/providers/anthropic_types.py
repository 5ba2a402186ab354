"""Messages of Anthropic: the types of its own SDK, and the rules that types do not state."""

import re
from collections.abc import Iterable
from typing import Any, TypeAlias

from anthropic.types import MessageParam
from pydantic import BaseModel, TypeAdapter

from tests.providers.encoded import check_encoded
from tests.providers.pairs import check_pairs

Json: TypeAlias = dict[str, Any]

_MESSAGE: TypeAdapter[Any] = TypeAdapter(MessageParam)

_CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_URL = re.compile(r"https://[^\s/]+\S*")
_BLOCKS = {
    "user": {"text", "image", "document", "tool_result", "search_result", "container_upload"},
    "assistant": {
        *("text", "tool_use", "thinking", "redacted_thinking", "server_tool_use"),
        *("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"),
        *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
        *("tool_search_tool_result", "container_upload"),
    },
}
_HELD = {"text", "image", "document", "search_result", "tool_reference"}
_MAX_TITLE_CHARS = 500
_MAX_IMAGE_BASE64 = 5_000_000
_MAX_BASE64 = 32_000_000


def check_anthropic_types(messages: list[Json]) -> None:
    """Raise unless the messages are of the types of the Messages API."""
    for message in messages:
        taken = _whole(_MESSAGE.validate_python(message, strict=True))
        assert taken == message, f"the types know only {taken} of {message}"


def check_anthropic(messages: list[Json]) -> None:
    """Raise unless the Messages API takes the messages."""
    check_anthropic_types(messages)
    for message in messages:
        _check_message(message)
    check_pairs(map(_step, messages))
    assert sum(map(_check_medium, _media(messages))) <= _MAX_BASE64, "too much base64"


def _whole(value: object) -> object:
    # Blocks of responses, which requests may repeat, are models.
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    # An `Iterable` of the types is validated while it is read, and not before.
    if isinstance(value, dict):
        return {key: _whole(member) for key, member in value.items()}
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return [_whole(member) for member in value]


def _check_message(message: Json) -> None:
    role, blocks = message["role"], _blocks(message["content"])
    assert role in _BLOCKS, f"a message of the {role}"
    assert blocks, "nothing is said"
    kinds = [block["type"] for block in blocks]
    assert _BLOCKS[role] >= set(kinds), f"the {role} says {kinds}"
    results = kinds.count("tool_result")
    assert set(kinds[:results]) <= {"tool_result"}, f"results that are not first: {kinds}"
    for block in blocks:
        _check_block(block)


def _check_block(block: Json) -> None:
    match block["type"]:
        case "text":
            assert block["text"].strip(), "a blank text"
        case "tool_use":
            assert _CALL_ID.fullmatch(block["id"]), f"the id {block['id']!r} of a call"
            assert _NAME.fullmatch(block["name"]), f"the name {block['name']!r} of a tool"
        case "tool_result":
            _check_result(block)


def _check_result(result: Json) -> None:
    call_id = result["tool_use_id"]
    assert _CALL_ID.fullmatch(call_id), f"the id {call_id!r} of an answer"
    content = _blocks(result.get("content", []))
    kinds = {block["type"] for block in content}
    assert kinds <= _HELD, f"an answer holds {kinds}"
    if result.get("is_error"):
        assert kinds == {"text"}, f"an error holds {kinds or 'nothing'}"
    for block in content:
        _check_block(block)


def _step(message: Json) -> tuple[list[str], list[str]]:
    blocks = _blocks(message["content"])
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    return calls, answers


def _media(messages: list[Json]) -> list[Json]:
    blocks = [block for message in messages for block in _blocks(message["content"])]
    results = [block for block in blocks if block["type"] == "tool_result"]
    held = [inner for result in results for inner in _blocks(result.get("content", []))]
    return [block for block in (*blocks, *held) if block["type"] in ("image", "document")]


def _blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _check_medium(block: Json) -> int:
    """Raise unless a medium can be read; how much base64 it is."""
    source = block["source"]
    title = block.get("title")
    assert title is None or 1 <= len(title) <= _MAX_TITLE_CHARS, f"a title {title!r}"
    if source["type"] in ("file", "text", "content"):
        return 0
    if source["type"] == "url":
        assert _URL.fullmatch(source["url"]), f"no URL: {source['url'][:80]}"
        return 0
    assert source["type"] == "base64", f"a source {source['type']}"
    length = check_encoded(source["data"], source["media_type"])
    assert block["type"] != "image" or length <= _MAX_IMAGE_BASE64, f"an image of {length}"
    return length
