"""Messages of OpenAI: the types of its own SDK, and the rules that types do not state."""

import binascii
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import pybase64
from openai.types.chat import (
    ChatCompletionContentPartImageParam,
    ChatCompletionContentPartTextParam,
    ChatCompletionMessageParam,
)
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from pagefault_dialects.media.types import sniff
from tests.providers.answers import Does, Step, check_answers

Json: TypeAlias = dict[str, Any]

_MESSAGE: TypeAdapter[Any] = TypeAdapter(ChatCompletionMessageParam)
_ITEM: TypeAdapter[Any] = TypeAdapter(ResponseInputItemParam)
_COMPAT_BLOCK: TypeAdapter[Any] = TypeAdapter(
    ChatCompletionContentPartTextParam | ChatCompletionContentPartImageParam
)

_ANY_ID = re.compile(r".{1,512}", re.DOTALL)
_CHAT_ID = re.compile(r"[A-Za-z0-9_.:-]{1,40}")
_RESPONSES_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REFERENCE = re.compile(r"@blob:[0-9a-f]{32}")
_URL = re.compile(r"https://[^\s/]+\S*")
_DATA_URI = re.compile(r"data:([^;,]+);base64,([A-Za-z0-9+/=]+)")
_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_PDF = ("application/pdf",)
_AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_THOUGHTS = frozenset({"reasoning_content", "reasoning_details"})
_MAX_IMAGES = 500
_MAX_IMAGE_BASE64 = 20_000_000
_MAX_BASE64 = 50_000_000


def check_openai_compat(messages: list[Json]) -> None:
    """Raise unless the messages are those of specification 000, all else as OpenAI has it."""
    for message in messages:
        if message["role"] == "tool":
            _check_wide_answer(message)
        else:
            _check_typed(_MESSAGE, _without_signatures(message))
            _check_said(message)
            assert message["content"] is not None, "null, which many servers refuse"
    _check_calls(_chat_steps(messages), _ANY_ID)
    media = _media(messages)
    assert all("image_url" in block for block in media), "there are media other than images"
    _check_media(media)


def _without_signatures(message: Json) -> Json:
    """Return a message without the members that Gemini's endpoint for OpenAI's clients adds."""
    calls = [
        {name: value for name, value in call.items() if name != "extra_content"}
        for call in message.get("tool_calls", ())
    ]
    return {**message, "tool_calls": calls} if calls else message


def check_openai_compat_types(messages: list[Json]) -> None:
    """Raise unless the messages are those of OpenAI, beside the thoughts that servers add."""
    check_openai_compat([_without_thoughts(message) for message in messages])


def _without_thoughts(message: Json) -> Json:
    known = {name: message[name] for name in message.keys() - _THOUGHTS}
    if "tool_calls" in known:
        calls = known["tool_calls"]
        known["tool_calls"] = [{k: call[k] for k in call if k != "extra_content"} for call in calls]
    return known


def check_openai_chat_types(messages: list[Json]) -> None:
    """Raise unless the messages are of the types of Chat Completions."""
    for message in messages:
        _check_typed(_MESSAGE, message)


def check_openai_responses_types(items: list[Json]) -> None:
    """Raise unless the items are of the types of the Responses API."""
    for item in items:
        _check_typed(_ITEM, item)


def check_openai_chat(messages: list[Json]) -> None:
    """Raise unless Chat Completions takes the messages."""
    check_openai_chat_types(messages)
    for message in messages:
        if message["role"] == "tool":
            _check_blocks(message["content"], may_be_empty=True)
        else:
            _check_said(message)
    _check_calls(_chat_steps(messages), _CHAT_ID)
    _check_media(_media(messages))


def check_openai_responses(messages: list[Json]) -> None:
    """Raise unless the Responses API takes the items."""
    check_openai_responses_types(messages)
    for item in messages:
        kind = item.get("type", "message")
        if kind == "function_call":
            _check_call(item)
        elif kind == "function_call_output":
            _check_blocks(item["output"], may_be_empty=True)
        elif kind == "message":
            is_output = "id" in item
            assert item["role"] == "user" or is_output or isinstance(item["content"], str), (
                f"blocks in the words of the {item['role']}"
            )
            _check_blocks(item["content"])
    _check_calls(_response_steps(messages), _RESPONSES_ID)
    _check_media(_media(messages))


def _check_typed(adapter: TypeAdapter[Any], value: object) -> None:
    taken = _whole(adapter.validate_python(value, strict=True))
    assert taken == value, f"the types know only {taken} of {value}"


def _whole(value: object) -> object:
    # An `Iterable` of the types is validated while it is read, and not before.
    if isinstance(value, dict):
        return {key: _whole(member) for key, member in value.items()}
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return [_whole(member) for member in value]


def _check_wide_answer(message: Json) -> None:
    content = message["content"]
    assert message.keys() == {"role", "tool_call_id", "content"}, f"members {list(message)}"
    _check_blocks(content, may_be_empty=True)
    if isinstance(content, str):
        return
    for block in content:
        _check_typed(_COMPAT_BLOCK, block)
    assert any("image_url" in block for block in content), "blocks where a string would do"


def _check_said(message: Json) -> None:
    calls = message.get("tool_calls")
    if calls is None:
        _check_blocks(message["content"])
        return
    assert calls, "an empty list of calls"
    for call in calls:
        _check_call(call["function"])


def _check_call(function: Json) -> None:
    assert _NAME.fullmatch(function["name"]), f"the name {function['name']!r} of a tool"
    assert isinstance(json.loads(function["arguments"]), dict), "arguments that are no object"


def _check_blocks(content: str | list[Json], *, may_be_empty: bool = False) -> None:
    assert content or (may_be_empty and content == ""), "nothing is said"
    if isinstance(content, list):
        assert all(block.get("text") != "" for block in content), "an empty text block"


def _chat_steps(messages: list[Json]) -> Iterator[Step]:
    for message in messages:
        if message["role"] == "tool":
            yield "answers", message["tool_call_id"]
            continue
        yield "says", ""
        for call in message.get("tool_calls", ()):
            yield "calls", call["id"]


def _response_steps(items: list[Json]) -> Iterator[Step]:
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            yield "says", ""
        elif "call_id" in item or kind.startswith("function_call"):
            does: Does = "answers" if kind.endswith("_output") else "calls"
            yield does, item.get("call_id", "")


def _check_calls(steps: Iterable[Step], ids: re.Pattern[str]) -> None:
    done = list(steps)
    for does, call_id in done:
        assert does == "says" or ids.fullmatch(call_id), f"the id {call_id!r} of a call"
    check_answers(done)


def _media(messages: list[Json]) -> list[Json]:
    contents = [message.get("content", message.get("output")) for message in messages]
    return [
        block
        for content in contents
        if isinstance(content, list)
        for block in content
        if "text" not in block
    ]


def _check_media(blocks: list[Json]) -> None:
    images = [block for block in blocks if "image_url" in block]
    assert len(images) <= _MAX_IMAGES, f"{len(images)} images"
    assert sum(map(_check_medium, blocks)) <= _MAX_BASE64, "too much base64"


def _check_medium(block: Json) -> int:
    """Raise unless a medium can be read; how much base64 it is."""
    match block:
        case {"type": "image_url", "image_url": {"url": str(url)}} | {"image_url": str(url)}:
            length = _check_address(url, _IMAGES, may_be_url=True)
            assert length <= _MAX_IMAGE_BASE64, f"an image of {length} characters"
        case {"input_audio": {"data": data, "format": spelled}}:
            length = _check_base64(data, _AUDIO[spelled])
        case {"file_url": url}:
            assert "file_data" not in block, "a file given twice"
            assert _URL.fullmatch(url), f"no URL: {url[:80]}"
            length = 0
        case {"file": file} | ({"type": "input_file"} as file):
            assert {"filename", "file_data"} <= file.keys(), f"a file of {sorted(file)} alone"
            assert file["filename"].lower().endswith(".pdf"), f"a name {file['filename']!r}"
            length = _check_address(file["file_data"], _PDF, may_be_url=False)
        case _:
            raise AssertionError(f"no medium: {block}")
    return length


def _check_address(text: str, types: tuple[str, ...], *, may_be_url: bool) -> int:
    if _REFERENCE.fullmatch(text) or (may_be_url and _URL.fullmatch(text)):
        return 0
    parts = _DATA_URI.fullmatch(text)
    assert parts, f"neither a URL nor a data URI: {text[:80]}"
    assert parts[1] in types, f"a medium of type {parts[1]}"
    return _check_base64(parts[2], parts[1])


def _check_base64(text: str, mime_type: str) -> int:
    if _REFERENCE.fullmatch(text):
        return 0
    try:
        shown = sniff(pybase64.b64decode(text, validate=True))
    except binascii.Error as exc:
        raise AssertionError(f"no base64: {text[:80]}") from exc
    assert shown == mime_type, f"bytes of {shown} as {mime_type}"
    return len(text)
