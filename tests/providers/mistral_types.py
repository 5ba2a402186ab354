"""Messages of Mistral: the types of its own SDK, and the rules of `mistral-common`."""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import pybase64
from mistralai.client.models import (
    AssistantMessage,
    ChatCompletionRequestMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from pydantic import TypeAdapter

from pagefault_dialects.media.types import sniff
from tests.providers.answers import Step, check_answers
from tests.providers.encoded import check_encoded, is_reference

Json: TypeAlias = dict[str, Any]

_MESSAGE: TypeAdapter[SystemMessage | UserMessage | AssistantMessage | ToolMessage] = TypeAdapter(
    ChatCompletionRequestMessage
)
_ID = re.compile(r"[a-zA-Z0-9]{9}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_URL = re.compile(r"https://[^\s/]+\S*")
_DATA_URI = re.compile(r"data:([^;,]+);base64,([A-Za-z0-9+/=]+)")
_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_AUDIO = ("audio/wav", "audio/mpeg")
_MAX_IMAGES = 8
# Who may speak behind whom.
_NEXT = {
    "system": ("system", "user", "assistant"),
    "user": ("system", "user", "assistant"),
    "assistant": ("user", "assistant", "tool"),
    "tool": ("assistant", "tool"),
}


def check_mistral(messages: list[Json]) -> None:
    """Raise unless Mistral takes the messages."""
    for message in messages:
        taken = _MESSAGE.validate_python(message).model_dump(exclude_unset=True, by_alias=True)
        assert taken == message, f"the types know only {taken} of {message}"
        _check_said(message)
        if isinstance(message["content"], list):
            for chunk in message["content"]:
                _check_chunk(chunk)
    _check_order(messages)
    check_answers(_steps(messages))
    images = sum(
        chunk["type"] == "image_url"
        for message in messages
        if isinstance(message["content"], list)
        for chunk in message["content"]
    )
    assert images <= _MAX_IMAGES, f"{images} images"


def _check_said(message: Json) -> None:
    role, content = message["role"], message["content"]
    assert content or role == "tool" or "tool_calls" in message, "nothing is said"
    assert role != "tool" or isinstance(content, str), "media in an answer"
    if role == "tool":
        assert _ID.fullmatch(message["tool_call_id"]), f"the id {message['tool_call_id']!r}"
        assert _NAME.fullmatch(message["name"]), f"the name {message['name']!r}"
    if "tool_calls" in message:
        assert message["tool_calls"], "an empty list of calls"
        for call in message["tool_calls"]:
            assert _ID.fullmatch(call["id"]), f"the id {call['id']!r}"
            assert _NAME.fullmatch(call["function"]["name"]), "the name of a tool"
            arguments = json.loads(call["function"]["arguments"])
            assert isinstance(arguments, dict), "arguments that are no object"


def _check_chunk(chunk: Json) -> None:
    match chunk:
        case {"type": "text", "text": text}:
            assert text, "an empty text"
        case {"type": "thinking", "thinking": [*texts]}:
            assert texts, "an empty thought"
        case {"type": "image_url", "image_url": str(url) | {"url": str(url)}}:
            _check_address(url, _IMAGES)
        case {"type": "document_url", "document_url": str(url), "document_name": str(name)}:
            assert name.endswith(".pdf"), f"a name {name!r}"
            _check_address(url, ("application/pdf",))
        case {"type": "input_audio", "input_audio": str(data)}:
            if not is_reference(data):
                mime_type = sniff(pybase64.b64decode(data, validate=True)) or ""
                assert mime_type in _AUDIO, f"sound of type {mime_type!r}"
        case _:
            raise AssertionError(f"no chunk: {chunk}")


def _check_address(text: str, types: tuple[str, ...]) -> None:
    if is_reference(text) or _URL.fullmatch(text):
        return
    parts = _DATA_URI.fullmatch(text)
    assert parts, f"neither a URL nor a data URI: {text[:80]}"
    assert parts[1] in types, f"a medium of type {parts[1]}"
    check_encoded(parts[2], parts[1])


def _check_order(messages: list[Json]) -> None:
    before = None
    for message in messages:
        role = message["role"]
        assert before is None or role in _NEXT[before], f"the {role} behind the {before}"
        before = role


def _steps(messages: list[Json]) -> Iterator[Step]:
    for message in messages:
        if message["role"] == "tool":
            yield "answers", message["tool_call_id"]
            continue
        yield "says", ""
        for call in message.get("tool_calls", ()):
            yield "calls", call["id"]
