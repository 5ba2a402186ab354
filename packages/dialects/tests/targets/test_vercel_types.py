from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import PNG, URL, base64
from pagefault_dialects.json.values import JsonValue
from tests.providers.vercel_types import check_vercel

ASKED = {
    "role": "assistant",
    "content": [{"type": "tool-call", "toolCallId": "call_1", "toolName": "shoot", "input": {}}],
}


def user(*parts: JsonValue) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def image(**members: JsonValue) -> dict[str, Any]:
    return {"type": "file", "mediaType": "image/png", "data": base64(PNG)} | members


def answer(output: JsonValue, **members: JsonValue) -> dict[str, Any]:
    whole = {"type": "tool-result", "toolCallId": "call_1", "toolName": "shoot", "output": output}
    return {"role": "tool", "content": [whole | members]}


def content(*parts: JsonValue) -> dict[str, Any]:
    return answer({"type": "content", "value": list(parts)})


SAID = {"type": "text", "value": "a"}
TAGGED = image(data={"type": "data", "data": base64(PNG)})


@pytest.mark.parametrize("messages", [[], [user(image()), ASKED, content(TAGGED)]])
def test_valid_messages_are_accepted(messages: list[Any]) -> None:
    check_vercel(messages)


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([{"role": "system", "content": "a"}], "System messages are not allowed"),
        ([{"role": "user", "content": "a", "note": "unknown"}], "note"),
        ([user()], "an empty message"),
        ([user({"type": "text", "text": ""}, image())], "an empty text"),
        ([user({"type": "image", "image": base64(PNG)})], "image/png"),
        ([user(image(mediaType="image/jpeg"))], "image/jpeg"),
        ([user(image(mediaType="audio/wav"))], "audio/wav"),
        ([user(image(data=f"data:image/png;base64,{base64(PNG)}"))], "Non-base64 digit found"),
        ([content({"type": "text", "text": "a"})], "only texts"),
        ([content(image())], "invalid_union"),
        ([content(image(data={"type": "url", "url": URL}))], "invalid_union"),
        ([content({"type": "file-url", "url": "a.png", "mediaType": "image/png"})], "Invalid URL"),
        ([answer({"type": "error-content", "value": []})], "error-content|invalid_union"),
        ([answer("a")], "invalid_union"),
        ([answer(SAID, isError=True)], "isError"),
        ([answer(SAID, toolName="")], "a tool without a name"),
        ([answer(SAID, toolCallId="")], "a call without an id"),
        ([ASKED], "Tool result is missing"),
        ([ASKED, user(image())], "Tool result is missing"),
        ([user(image()), answer(SAID)], r"\['call_1'\] answer \[\]"),
        ([answer(SAID), answer(SAID)], r"\['call_1'\] answer \[\]"),
    ],
)
def test_invalid_messages_are_refused(messages: list[Any], why: str) -> None:
    with pytest.raises((AssertionError, ValueError), match=why):
        check_vercel(messages)
