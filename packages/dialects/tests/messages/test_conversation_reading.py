"""Reading of whole conversations: requests, responses and lists."""

from dataclasses import replace
from typing import Any

import pytest

from pagefault_dialects.errors import Fault, InvalidPayloadError
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


def test_prompt_has_the_members_beside_the_messages_as_they_were_sent() -> None:
    prompt = {
        name: [name]
        for name in (
            *("system", "instructions", "systemInstruction", "system_instruction"),
            *("systemPrompt", "system_prompt", "tools", "toolConfig", "tool_config"),
            *("model", "modelId"),
        )
    }
    read = read_conversation({"messages": [SAID], **prompt, "temperature": 1, "stream": None})
    assert (read.prompt, read.continues, read.skipped_count) == (prompt, False, 0)
    assert read_conversation({"messages": [SAID], "model": None, "tools": []}).prompt == {
        "tools": []
    }
    # A response has no prompt.
    answer = {"choices": [{"index": 0, "message": ANSWERED}], "model": "m"}
    assert read_conversation(answer).prompt == {}
    assert read_conversation({**ANSWERED, "model": "m"}).prompt == {}


def test_request_continues_a_conversation_at_the_provider_that_it_names() -> None:
    rows: list[tuple[Json, bool]] = [
        ({"previous_response_id": "r"}, True),
        ({"conversation": {"id": "c"}}, True),
        ({"previous_response_id": None, "conversation": ""}, False),
        ({}, False),
    ]
    assert [read_conversation({"input": "hi", **more}).continues for more, _ in rows] == [
        continues for _, continues in rows
    ]


def test_body_has_the_dialect_of_most_of_its_messages_and_so_have_its_plain_messages() -> None:
    # Dialects of messages that are no targets.
    otel = {"role": "user", "parts": [{"type": "text", "content": "hi"}]}
    llama = {"role": "user", "blocks": [{"block_type": "text", "text": "hi"}]}
    part = {"role": "user", "parts": [{"text": "hi"}]}
    rows: list[tuple[Json, str | None, list[str]]] = [
        ([SAID, ANSWERED], None, ["openai-chat", "openai-chat"]),
        ([SAID, part], "gemini", ["gemini", "gemini"]),
        ({"input": [SAID]}, "openai-responses", ["openai-responses"]),
        ([SAID, otel], "otel-genai", ["otel-genai", "otel-genai"]),
        ([llama, otel, otel], "otel-genai", ["llama-index", "otel-genai", "otel-genai"]),
        ([otel, otel, part], "gemini", ["otel-genai", "otel-genai", "gemini"]),
    ]
    found = [read_conversation(body) for body, *_ in rows]
    assert [(read.dialect, [entry.dialect for *_, entry in read.entries]) for read in found] == [
        (dialect, dialects) for _, dialect, dialects in rows
    ]


def test_items_of_a_transcript_that_are_no_messages_are_counted() -> None:
    lines: Json = [
        {"type": "summary", "summary": "s", "leafUuid": "l"},
        {"type": "user", "uuid": "u", "sessionId": "s", "message": SAID},
        {"type": "assistant", "uuid": "a", "sessionId": "s", "message": ANSWERED},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    ]
    read = read_conversation(lines)
    in_member = read_conversation({"messages": lines})
    assert (in_member.dialect, in_member.skipped_count) == (read.dialect, read.skipped_count)
    assert ([place for place, *_ in read.entries], read.dialect, read.skipped_count) == (
        ["/1/message", "/2/message"],
        "claude-code",
        2,
    )


def test_refusal_of_a_body_says_what_is_wrong_in_it() -> None:
    rows: list[tuple[Json, str, Fault]] = [
        (
            {"rows": 3},
            "There is no conversation in this: send a list of messages, the request of a provider, "
            "or its response.",
            Fault("", "holds no messages that any dialect has"),
        ),
        (
            {"messages": [SAID, {"role": "narrator", "content": "hi"}]},
            "There is something among the messages that no dialect knows; `errors` says where. "
            "Send the messages as the model gets them, each with its role.",
            Fault("/messages/1/role", "is the role of no dialect"),
        ),
    ]
    for body, detail, fault in rows:
        with pytest.raises(InvalidPayloadError) as caught:
            read_conversation(body)
        assert (caught.value.detail, caught.value.faults) == (detail, (fault,))
