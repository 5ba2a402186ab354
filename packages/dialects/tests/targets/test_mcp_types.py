from typing import Any

import pytest
from pydantic import ValidationError

from packages.dialects.tests.targets.resolved_turns import PDF, PNG, REFERENCE, base64
from pagefault_dialects.json.values import JsonValue
from tests.providers.mcp_types import check_mcp

META = {"pagefault/toolCallId": "call_1", "pagefault/toolName": "shoot"}
USE = {"type": "tool_use", "id": "call_1", "name": "shoot", "input": {}}
CALLS = {"role": "assistant", "content": [USE]}


def result(*content: JsonValue, **members: JsonValue) -> dict[str, Any]:
    whole = {"resultType": "complete", "content": list(content), "isError": False, "_meta": META}
    return {key: member for key, member in (whole | members).items() if member is not ...}


def image(**members: str) -> dict[str, Any]:
    return {"type": "image", "data": base64(PNG), "mimeType": "image/png"} | members


def resource(**members: str) -> dict[str, Any]:
    whole = {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": base64(PDF)}
    return {"type": "resource", "resource": whole | members}


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [result(image(), resource(), structuredContent=None)],
        [{"role": "user", "content": {"type": "text", "text": "a"}}, CALLS, result()],
    ],
)
def test_valid_messages_are_accepted(messages: list[Any]) -> None:
    check_mcp(messages)


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([result(resultType=...)], "resultType"),
        ([result(resultType="input_required")], "a result of type input_required"),
        ([result(isError="no")], "isError"),
        ([result(content="a text")], "content"),
        ([result(role=None, isError=...)], "role|members"),
        ([result(note="unknown")], "the types know only"),
        ([result({"type": "text", "text": "a", "note": "unknown"})], "the types know only"),
        ([result(_meta={"pagefault/toolCallId": "call_1"})], "_meta has"),
        ([result(_meta=META | {"pagefault/toolName": ""})], "empty"),
        ([result({"type": "text", "text": ""})], "an empty text"),
        ([result({"type": "video", "data": "", "mimeType": "video/mp4"})], "video"),
        ([result(image(mimeType="image/jpeg"))], "bytes of image/png as image/jpeg"),
        ([result(image(mimeType="audio/wav"))], "audio/wav as image"),
        ([result(image(data="data:image/png;base64,AAAA"))], "base64"),
        ([result(resource(uri="@blob:" + "ab" * 16))], "a resource at"),
        ([result(resource(blob=base64(PNG)))], "bytes of image/png as application/pdf"),
        (
            [
                result(
                    {
                        "type": "resource_link",
                        "uri": REFERENCE,
                        "name": "a",
                        "mimeType": "image/png",
                    }
                )
            ],
            "a link to",
        ),
        ([{"role": "tool", "content": {"type": "text", "text": "a"}}], "role"),
        ([{"role": "user", "content": "a text"}], "content"),
        ([{"role": "user", "content": [USE]}, result()], "calls of the user"),
        ([{"role": "assistant", "content": []}], "no calls"),
        ([{"role": "assistant", "content": [USE | {"input": "{}"}]}, result()], "input"),
        ([CALLS], "calls without an answer"),
        ([CALLS, result(), result()], "two answers"),
        (
            [{"role": "user", "content": {"type": "text", "text": "a"}}, result()],
            "an answer to no call",
        ),
    ],
)
def test_invalid_messages_are_refused(messages: list[Any], why: str) -> None:
    with pytest.raises((AssertionError, ValidationError, ValueError, KeyError), match=why):
        check_mcp(messages)
