from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import PDF, PNG, URL, base64
from pagefault_dialects.json.values import JsonValue
from tests.providers.langchain_types import check_langchain

CALL = {"name": "shoot", "args": {}, "id": "call_1", "type": "tool_call"}
ASKED = {"type": "ai", "content": "", "tool_calls": [CALL]}


def human(*blocks: JsonValue) -> dict[str, Any]:
    return {"type": "human", "content": list(blocks)}


def result(content: JsonValue = "a", **members: JsonValue) -> dict[str, Any]:
    whole = {"type": "tool", "tool_call_id": "call_1", "name": "shoot", "status": "success"}
    return whole | {"content": content} | members


def image(**members: JsonValue) -> dict[str, Any]:
    return {"type": "image", "mime_type": "image/png", "base64": base64(PNG)} | members


def file(**members: JsonValue) -> dict[str, Any]:
    whole = {"type": "file", "mime_type": "application/pdf", "base64": base64(PDF)}
    return whole | {"extras": {"filename": "a.pdf"}} | members


@pytest.mark.parametrize(
    "messages",
    [[], [result([image(), file()])], [{"type": "system", "content": "a"}, ASKED, result()]],
)
def test_valid_messages_are_accepted(messages: list[Any]) -> None:
    check_langchain(messages)


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([{"type": "user", "content": "a"}], "user"),
        ([{"type": "robot", "content": "a"}], "robot"),
        ([{"type": "human", "content": "a", "note": "unknown"}], "the types know only"),
        ([{"type": "human", "content": ""}], "nothing is said"),
        ([result([])], "nothing is said|the types know only"),
        ([{"type": "system", "content": [image()]}], "the words of the system"),
        ([human({"type": "text", "text": "a"})], "a string would do"),
        ([human({"type": "text", "text": ""}, image())], "an empty text"),
        ([human({"type": "image_url", "image_url": {"url": URL}})], "image_url"),
        ([human(image(note="unknown"))], "the types know only"),
        ([human(image(base64=3))], "base64"),
        ([human(image(url=URL))], "or both"),
        ([human(image(mime_type="image/gif"))], "bytes of image/png as image/gif"),
        ([human(image(type="audio"))], "image/png as audio"),
        ([human(image(base64=f"data:image/png;base64,{base64(PNG)}"))], "base64"),
        ([human(file(extras={"filename": ""}))], "a file without a name"),
        ([human({"type": "file", "mime_type": "application/pdf", "url": "blob:ab"})], "no URL"),
        ([result(status="failed")], "status"),
        ([result(name="")], "a tool without a name"),
        ([result(is_error=True)], "the types know only"),
        ([ASKED | {"tool_calls": []}], "an empty list of calls"),
        ([ASKED | {"type": "human"}], "calls in a message of type human"),
        ([ASKED | {"tool_calls": [CALL | {"args": "{}"}]}, result()], "args"),
        ([ASKED | {"tool_calls": [CALL | {"note": 1}]}, result()], "the types know only"),
        ([ASKED], "calls without an answer"),
        ([ASKED, {"type": "human", "content": "a"}], "calls without an answer"),
        ([{"type": "human", "content": "a"}, result()], "an answer to no call"),
        ([result(), result()], "two answers"),
    ],
)
def test_invalid_messages_are_refused(messages: list[Any], why: str) -> None:
    with pytest.raises((AssertionError, ValueError), match=why):
        check_langchain(messages)
