"""Reading of whole conversations: requests, responses and lists."""

from dataclasses import replace
from typing import Any

import pytest

from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.messages.conversation_reading import read_conversation
from pagefault_dialects.messages.entry_reading import read_entry

Json = Any

SAID = {"role": "user", "content": "hi"}
ASKED_OF_MCP = {"role": "user", "content": {"type": "text", "text": "hi"}}
ANSWERED = {"role": "assistant", "content": "hello"}


@pytest.mark.parametrize(
    ("body", "expected_messages", "continues"),
    [
        ([SAID, ANSWERED], [("/0", SAID), ("/1", ANSWERED)], False),
        ({"messages": [SAID], "model": "m"}, [("/messages/0", SAID)], False),
        ({"input": "hi", "model": "m"}, [("/input", SAID)], False),
        ({"input": [SAID], "previous_response_id": "r"}, [("/input/0", SAID)], True),
        (
            {"choices": [{"index": 0, "message": ANSWERED}], "model": "m"},
            [("/choices/0/message", ANSWERED)],
            True,
        ),
        (
            {"candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]}}]},
            [("/candidates/0/content", {"role": "model", "parts": [{"text": "hello"}]})],
            True,
        ),
        ({"output": {"message": ANSWERED}}, [("/output/message", ANSWERED)], True),
        (
            {"object": "response", "output": [{"type": "message", **ANSWERED}]},
            [("/output/0", {"type": "message", **ANSWERED})],
            True,
        ),
        ({"type": "message", **ANSWERED}, [("", {"type": "message", **ANSWERED})], True),
    ],
)
def test_messages_are_found_in_their_envelopes(
    body: Json, expected_messages: list[tuple[str, Json]], continues: bool
) -> None:
    read = read_conversation(body)
    assert [(pointer, entry) for pointer, entry, _ in read.entries] == expected_messages
    entries = [
        replace(read_entry(expected_message), dialect=read.dialect or "openai-chat")
        for _, expected_message in expected_messages
    ]
    assert [entry for _, _, entry in read.entries] == entries
    assert read.continues is continues


def test_envelope_of_messages_is_kept_as_it_was_sent() -> None:
    read = read_conversation({"system": "be brief", "max_tokens": 9, "messages": [SAID]})
    assert (read.dialect, read.prompt) == ("anthropic", {"system": "be brief"})


def test_system_messages_of_mastra_are_kept_as_they_were_sent() -> None:
    brief = {"role": "system", "content": "Be brief.", "providerOptions": {}}
    prompt = {"systemMessages": [brief], "taggedSystemMessages": {"memory": [brief]}}
    read = read_conversation({"messages": [SAID], **prompt, "memoryMessages": []})
    assert (read.dialect, read.prompt) == (None, prompt)


@pytest.mark.parametrize(
    ("body", "pointer", "prompt"),
    [
        (
            {"contents": "hi", "config": {"system_instruction": "be brief", "temperature": 1}},
            "/contents",
            {"system_instruction": "be brief"},
        ),
        ({"contents": ["hi"], "model": "m"}, "/contents/0", {"model": "m"}),
        ({"contents": {"parts": [{"text": "hi"}]}}, "/contents", {}),
        (
            {"messages": [ASKED_OF_MCP], "systemPrompt": "be brief", "maxTokens": 9},
            "/messages/0",
            {"systemPrompt": "be brief"},
        ),
        (
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "sampling/createMessage",
                "params": {"messages": [ASKED_OF_MCP], "systemPrompt": "be brief"},
            },
            "/params/messages/0",
            {"systemPrompt": "be brief"},
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "result": {"messages": [ASKED_OF_MCP]}},
            "/result/messages/0",
            {},
        ),
    ],
)
def test_requests_of_gemini_and_mcp_are_read_in_every_form(
    body: Json, pointer: str, prompt: Json
) -> None:
    read = read_conversation(body)
    assert [(place, entry.role) for place, _, entry in read.entries] == [(pointer, "user")]
    assert (read.prompt, read.dialect) == (prompt, "gemini" if "contents" in body else "mcp")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"rows": 3}, ""),
        ("hi", ""),
        ([SAID, {"rows": 3}], "/1"),
        ({"messages": [3]}, "/messages/0"),
    ],
)
def test_body_without_a_conversation_is_refused(body: Json, pointer: str) -> None:
    with pytest.raises(InvalidPayloadError) as caught:
        read_conversation(body)
    assert [fault.pointer for fault in caught.value.faults] == [pointer]
