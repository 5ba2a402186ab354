"""Messages that look like those of a target, but are not valid in its requests."""

from typing import Any

import pytest

from pagefault_dialects import render
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.reading import read_messages
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.table import TARGETS


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
def test_message_that_is_invalid_in_requests_is_rewritten(
    target: str, message: dict[str, Any]
) -> None:
    assert message not in render(read_messages([message]).turns, target).messages


def test_address_of_a_resource_has_only_characters_of_uris() -> None:
    resource = {"uri": "file:///a b\r\nSystem: ä", "mimeType": "text/plain", "text": "words"}
    sent = {"role": "user", "content": {"type": "resource", "resource": resource}}
    rendered = render(read_messages([sent]).turns, "mcp")
    written = resource | {"uri": "file:///a%20b%0D%0ASystem:%20ä"}
    assert rendered.messages == [
        {"role": "user", "content": {"type": "resource", "resource": written}}
    ]


_NAMED_BY_ID = {"type": "search_result", "source": "https://a.example", "title": "T", "content": 7}
_CONTAINER = {"type": "container_upload", "file_id": 7}
_HALF_SOUND_BLOCKS = [
    ("openai-chat", _user({"type": "file", "file": {"file_id": 7}})),
    ("openai-chat", _assistant({"type": "file", "file": {"file_id": "file-abc"}})),
    ("openai-responses", {"type": "reasoning"}),
    ("openai-responses", _user({"type": "input_file", "file_id": 7})),
    ("anthropic", _user({"type": "image", "source": {"type": "file", "file_id": 7}})),
    ("anthropic", _user({"type": "document", "source": {"type": "file", "file_id": 7}})),
    ("anthropic", _user(_NAMED_BY_ID)),
    ("anthropic", _user(_CONTAINER)),
    ("gemini", {"role": "user", "parts": [{"fileData": {}}]}),
    ("gemini", {"role": "user", "parts": [{"fileData": {"fileUri": 7}}]}),
    ("bedrock", _user({"video": {"format": "mp4", "source": {"s3Location": 7}}})),
    ("mistral", _assistant({"type": "thinking", "thinking": [7]})),
    ("langchain", {"type": "human", "content": [{"type": "file", "file_id": 7}]}),
    ("vercel", _user({"type": "data-weather", "data": {"n": 1}})),
    ("mcp", _user({"type": "file", "file_id": "file-abc"})),
]
_KINDS: list[JsonValue] = [7, True, None, [], ["text"], {}, {"type": "text"}]


def _holds(value: JsonValue, block: JsonValue) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value == block or any(_holds(item, block) for item in inner)


@pytest.mark.parametrize(("target", "message"), _HALF_SOUND_BLOCKS)
def test_block_that_is_invalid_in_requests_is_in_no_rewritten_message(
    target: str, message: dict[str, Any]
) -> None:
    content = message.get("content", message.get("parts", message))
    block = content[0] if isinstance(content, list) else content
    question = {"type": "human", "content": "q"} if target == "langchain" else {"role": "user"}
    words = {"parts": [{"text": "q"}]} if target == "gemini" else {"content": "q"}
    rendered = render(read_messages([question | words, message]).turns, target)
    assert not any(_holds(item, block) for item in rendered.messages)
    assert rendered.loss


def test_thought_without_text_is_in_no_message_of_compatible_servers() -> None:
    thought = {"role": "assistant", "content": "Hi.", "reasoning_content": 7}
    turns = read_messages([{"role": "user", "content": "q"}, thought]).turns
    rendered = render(turns, "openai-compat")
    assert rendered.messages[1] == {"role": "assistant", "content": "Hi."}
    assert [(item.to, item.code) for item in rendered.loss] == [("nothing", "reasoning")]


def test_link_is_described_for_a_revision_without_links() -> None:
    link = {"type": "resource_link", "uri": "ui://a/b", "name": "app"}
    turns = read_messages([_user(link)]).turns
    rendered = render(turns, "mcp", RenderOptions(protocol_version="2025-03-26"))
    assert "resource_link" not in str(rendered.messages)
    assert "app" in str(rendered.messages)


@pytest.mark.parametrize("target", TARGETS)
def test_blocks_of_odd_types_are_rendered(target: str) -> None:
    histories = []
    for kind in _KINDS:
        block: JsonValue = {"type": kind, "file_id": "file-abc", "file": {"file_id": "a"}}
        odd_role: JsonValue = {"role": kind, "content": "x"}
        histories.append([_user(block), {"role": "user", "parts": [block]}, odd_role])
    empty = [
        history
        for history in histories
        if not render(read_messages(history).turns, target).messages
    ]
    assert empty == []
