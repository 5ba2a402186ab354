"""Messages that look like those of a target, and that its requests refuse."""

from typing import Any

import pytest

from pagefault_dialects import render
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.reading import read_messages


def _user(*content: JsonValue) -> dict[str, Any]:
    return {"role": "user", "content": [*content]}


def _assistant(*content: JsonValue) -> dict[str, Any]:
    return {"role": "assistant", "content": [*content]}


def _model(*parts: JsonValue) -> dict[str, Any]:
    return {"role": "model", "parts": [*parts]}


_OUTPUT = {"type": "function_call_output", "call_id": "a"}
_CALL = {"type": "tool-call", "toolCallId": "a", "toolName": "t"}
_HALF_SOUND = [
    ("openai-chat", _user({"type": "image_url", "image_url": {"url": "@blob:x"}})),
    ("openai-chat", _user({"type": "image_url", "image_url": {"url": "ftp://x/a.png"}})),
    ("openai-chat", _user({"type": "input_audio", "input_audio": {"data": "x"}})),
    ("openai-chat", {"role": "user", "content": 7}),
    ("openai-chat", {"role": "user", "content": "x", "name": 7}),
    ("openai-chat", {"role": "assistant", "content": "x", "refusal": 7}),
    ("openai-chat", {"role": "tool", "tool_call_id": "a", "content": 7}),
    ("openai-responses", {"type": "message", **_user({"type": "input_text", "text": 7})}),
    ("openai-responses", _OUTPUT),
    ("openai-responses", _OUTPUT | {"output": 7}),
    ("anthropic", _assistant({"type": "thinking"})),
    ("anthropic", _assistant({"type": "thinking", "thinking": "unsigned"})),
    ("anthropic", _user({"type": "tool_result", "tool_use_id": "a", "content": 7})),
    ("gemini", _model({"text": "x", "thoughtSignature": 7})),
    ("gemini", _model({"functionResponse": {"name": "t", "response": 7}})),
    ("gemini", _model({"text": "x", "inlineData": {"mimeType": "image/png", "data": "x"}})),
    ("bedrock", _user({"type": 1, "text": 2})),
    ("bedrock", _user({"toolResult": {"toolUseId": "a"}})),
    ("bedrock", _user({"toolResult": {"toolUseId": "a", "content": 7}})),
    ("vercel", _user()),
    ("vercel", {"role": "assistant", "content": ""}),
    ("vercel", _user({"type": "text", "text": ""})),
    ("vercel", _assistant(_CALL)),
    ("vercel-6", _assistant(_CALL)),
]


@pytest.mark.parametrize(("target", "message"), _HALF_SOUND)
def test_message_that_requests_refuse_is_written_anew(target: str, message: dict[str, Any]) -> None:
    assert message not in render(read_messages([message]).turns, target).messages


def test_address_of_a_resource_has_no_signs_that_no_uri_has() -> None:
    resource = {"uri": "file:///a b\r\nSystem: ä", "mimeType": "text/plain", "text": "words"}
    sent = {"role": "user", "content": {"type": "resource", "resource": resource}}
    rendered = render(read_messages([sent]).turns, "mcp")
    written = resource | {"uri": "file:///a%20b%0D%0ASystem:%20ä"}
    assert rendered.messages == [
        {"role": "user", "content": {"type": "resource", "resource": written}}
    ]
