"""Calls and answers in messages, and what of them no other dialect has a place for."""

from typing import Any

import pytest

from pagefault_dialects.messages.message_calls import (
    ToolResultBlock,
    is_reasoning,
    list_calls,
    note_unread_call_members,
    note_unread_listed_call_members,
    note_unread_result_members,
    read_call,
    read_tool_result,
)
from pagefault_dialects.model.conversation import TurnCall
from tests.unit.services.renders.stored_messages import homeless, thought


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
        {"type": "tool_call", "id": "c", "name": "f", "args": {"a": 1}},
        {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {"a": 1}},
        {"type": "function_call", "id": "x", "call_id": "c", "name": "f", "arguments": '{"a":1}'},
        {"toolUse": {"toolUseId": "c", "name": "f", "input": {"a": 1}}},
        {"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}},
        {"function_call": {"id": "c", "name": "f", "args": {"a": 1}}, "text": None},
    ],
)
def test_a_call_is_known_by_its_shape(block: dict[str, Any]) -> None:
    assert read_call(block, 5, 0) == TurnCall("c", "f", {"a": 1})
    assert list(note_unread_call_members(block, "/p")) == []


@pytest.mark.parametrize(
    "block",
    [{"type": "text", "text": "f"}, {"toolUse": "f"}, {"type": ["tool_use"]}, "tool_use", 5, None],
)
def test_anything_else_is_no_call_and_no_answer(block: object) -> None:
    assert read_call(block, 5, 0) is None
    assert read_tool_result(block) is None
    assert not is_reasoning(block)


def test_a_call_without_an_id_gets_one_of_its_place() -> None:
    assert read_call({"functionCall": {"name": "f"}}, 5, 2) == TurnCall("call_5_3", "f", {})


@pytest.mark.parametrize(
    ("block", "answer"),
    [
        (
            {"type": "tool_result", "tool_use_id": "c", "content": "x", "is_error": True},
            ToolResultBlock("c", "", "x", is_error=True),
        ),
        (
            {"toolResult": {"toolUseId": "c", "content": [{"text": "x"}], "status": "success"}},
            ToolResultBlock("c", "", [{"text": "x"}]),
        ),
        (
            {"functionResponse": {"name": "f", "response": {"output": "x"}, "parts": [{"a": 1}]}},
            ToolResultBlock("", "f", "x", parts=({"a": 1},)),
        ),
        (
            {"functionResponse": {"name": "f", "response": {"value": 5, "unit": "C"}}},
            ToolResultBlock("", "f", {"value": 5, "unit": "C"}),
        ),
        (
            {"type": "tool-result", "toolCallId": "c", "toolName": "f", "result": {"value": 5}},
            ToolResultBlock("c", "f", {"value": 5}),
        ),
        (
            {
                "functionResponse": {
                    "name": "f",
                    "response": {
                        "result": {"content": [], "structuredContent": None, "isError": True}
                    },
                }
            },
            ToolResultBlock("", "f", [], is_error=True),
        ),
        (
            {"type": "tool_result", "tool_use_id": "c", "content": {"content": [], "b": 1}},
            ToolResultBlock("c", "", {"content": [], "b": 1}),
        ),
    ],
)
def test_an_answer_is_known_by_its_shape(block: dict[str, Any], answer: ToolResultBlock) -> None:
    assert read_tool_result(block) == answer
    assert list(note_unread_result_members(block, "/p")) == []


BOOM = [{"type": "text", "text": "boom"}]


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (
            {"content": BOOM, "isError": True, "resultType": "complete", "_meta": None},
            ToolResultBlock("c", "", BOOM, is_error=True),
        ),
        (
            {"content": BOOM, "is_error": True, "structured_content": {"result": "boom"}},
            ToolResultBlock("c", "", BOOM, is_error=True, structured=({"result": "boom"},)),
        ),
        (
            {"content": BOOM, "structured_content": {"a": 1}, "is_error": False, "data": {"a": 1}},
            ToolResultBlock("c", "", BOOM, structured=({"a": 1},)),
        ),
        ({"content": BOOM, "took": 5}, ToolResultBlock("c", "", BOOM, parts=({"took": 5},))),
        ({"toolResult": 5}, ToolResultBlock("c", "", None, parts=(5,))),
    ],
)
def test_mcp_result_in_an_answer_is_known_in_every_spelling(
    value: dict[str, Any], answer: ToolResultBlock
) -> None:
    for output in ({"type": "json", "value": value}, value):
        block = {"type": "tool-result", "toolCallId": "c", "output": output}
        assert read_tool_result(block) == answer
        assert list(note_unread_result_members(block, "/p")) == []


def test_what_a_call_says_besides_is_named_where_it_stands() -> None:
    held = {"name": "f", "args": {}, "a/b": 1}
    block = {"functionCall": held, "thoughtSignature": "s"}
    assert list(note_unread_call_members(block, "/p")) == [
        thought("/p/thoughtSignature"),
        homeless("/p/functionCall/a~1b", "a/b"),
    ]


def test_what_an_answer_says_besides_is_named_where_it_stands() -> None:
    output = {
        "type": "json",
        "value": {"content": [], "_display": {"a": 1}, "_meta": {"b": 2}},
        "providerOptions": {"c": 3},
    }
    block = {"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": output, "x": 1}
    assert list(note_unread_result_members(block, "/p")) == [
        homeless("/p/x", "x"),
        homeless("/p/output/providerOptions", "providerOptions"),
        homeless("/p/output/value/_display", "_display"),
    ]


def test_calls_are_listed_beside_the_content_in_two_ways() -> None:
    one = {"id": "c", "type": "function", "function": {"name": "f", "strict": True}, "extra": 1}
    old = {"name": "g", "arguments": "{}"}
    message = {"tool_calls": [one, "x"], "function_call": old}
    assert list_calls(message) == [("/tool_calls/0", one), ("/function_call", old)]
    assert list(note_unread_listed_call_members(one, "/tool_calls/0")) == [
        homeless("/tool_calls/0/extra", "extra"),
        homeless("/tool_calls/0/function/strict", "strict"),
    ]
    assert list(note_unread_listed_call_members(old, "/function_call")) == []


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "redacted_thinking", "data": "s"},
        {"type": "reasoning", "summary": []},
        {"reasoningContent": {"redactedContent": "s"}},
        {"text": "Hm.", "thought": True},
        {"inlineData": {"mimeType": "image/png", "data": ""}, "thought": True},
    ],
)
def test_thoughts_are_known_by_their_shape(block: dict[str, Any]) -> None:
    assert is_reasoning(block)
