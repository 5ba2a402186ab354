"""Messages of LangChain: its classes, its standard content blocks, and its rules for both."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from langchain_core.messages import (
    AnyMessage,
    BaseMessage,
    convert_to_messages,
    is_data_content_block,
)
from langchain_core.messages import content as blocks
from pydantic import TypeAdapter

from tests.providers.answers import Step, check_answers
from tests.providers.encoded import check_encoded

Json: TypeAlias = dict[str, Any]

_MESSAGE: TypeAdapter[AnyMessage] = TypeAdapter(AnyMessage)
_BLOCKS: dict[str, TypeAdapter[Any]] = {
    "text": TypeAdapter(blocks.TextContentBlock),
    "image": TypeAdapter(blocks.ImageContentBlock),
    "audio": TypeAdapter(blocks.AudioContentBlock),
    "video": TypeAdapter(blocks.VideoContentBlock),
    "file": TypeAdapter(blocks.FileContentBlock),
}
_CALL: TypeAdapter[Any] = TypeAdapter(blocks.ToolCall)


def check_langchain_types(messages: list[Json]) -> None:
    """Raise unless the messages are of the types of LangChain, and these know all in them."""
    for message in messages:
        _converted(message)


def _converted(message: Json) -> BaseMessage:
    shallow = _without_arguments(message)
    (converted,) = convert_to_messages([shallow])
    for read in (converted, _MESSAGE.validate_python(shallow)):
        dumped = read.model_dump()
        known = {key: dumped.pop(key, None) for key in shallow}
        assert known == shallow, f"the types know only {known} of {shallow}"
        assert not any(dumped.values()), f"the types add {dumped} to {shallow}"
    return converted


def check_langchain(messages: list[Json]) -> None:
    """Raise unless LangChain reads the messages, and reads all that is in them."""
    for message in messages:
        converted = _converted(message)
        _check_content(message)
        if isinstance(message["content"], list):
            calls = message.get("tool_calls", [])
            standard = converted.content_blocks[: -len(calls) or None]
            assert standard == message["content"], f"read as {standard}"
        if message["type"] == "tool":
            assert message["name"], "a tool without a name"
    check_answers(_steps(messages))


def _without_arguments(message: Json) -> Json:
    """The message with no arguments in its calls: they may be deeper than can be dumped."""
    calls = message.get("tool_calls")
    if calls is None:
        return dict(message)
    assert message["type"] == "ai", f"calls in a message of type {message['type']}"
    assert calls, "an empty list of calls"
    for call in calls:
        _check_typed(_CALL, call)
        assert call["name"], "a call of no tool"
    return message | {"tool_calls": [call | {"args": {}} for call in calls]}


def _check_typed(adapter: TypeAdapter[Any], value: Json) -> None:
    taken = adapter.validate_python(value, strict=True)
    assert taken == value, f"the types know only {taken} of {value}"


def _check_content(message: Json) -> None:
    content = message["content"]
    may_be_empty = message["type"] == "tool" or "tool_calls" in message
    assert content or (may_be_empty and content == ""), "nothing is said"
    if isinstance(content, str):
        return
    assert message["type"] != "system", "blocks in the words of the system"
    for block in content:
        assert block["type"] in _BLOCKS, f"a block of type {block['type']}"
        _check_typed(_BLOCKS[block["type"]], block)
        _check_block(block)
    assert any(block["type"] != "text" for block in content), "blocks where a string would do"


def _check_block(block: Json) -> None:
    if block["type"] == "text":
        assert block["text"], "an empty text"
        return
    assert is_data_content_block(block)
    assert "mime_type" in block or "url" in block, "bytes without a type"
    mime_type = block.get("mime_type", f"{block['type']}/*")
    assert block["type"] in ("file", mime_type.partition("/")[0]), f"{mime_type} as {block['type']}"
    assert ("url" in block) != ("base64" in block), "neither bytes nor a URL, or both"
    if "base64" in block:
        check_encoded(block["base64"], mime_type)
    else:
        assert not block.get("mime_type", "").endswith("/*"), f"the type {mime_type}"
        assert block["url"].startswith(("https://", "http://")), f"no URL: {block['url'][:80]}"
    if block["type"] == "file":
        assert block["extras"]["filename"], "a file without a name"


def _steps(messages: list[Json]) -> Iterator[Step]:
    for message in messages:
        if message["type"] == "tool":
            yield "answers", message["tool_call_id"]
            continue
        yield "says", ""
        for call in message.get("tool_calls", ()):
            yield "calls", call["id"]
