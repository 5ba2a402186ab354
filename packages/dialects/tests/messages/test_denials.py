"""Denials: a user did not approve a call, and the model reads the reason."""

from typing import Any

import pytest

from pagefault_dialects import heal
from pagefault_dialects.messages.reading import read_messages

Json = Any
USER = {"role": "user", "content": "pay"}
ON = {"role": "user", "content": "ok"}
CALL = {"type": "tool-call", "toolCallId": "w7", "toolName": "pay", "input": {}}
ASKED = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "w7"}
SAID = "[The user denied this call: too expensive]"
NO_REASON = "The tool was not allowed to run."


def answered(**response: Json) -> Json:
    block = {"type": "tool-approval-response", "approvalId": "a", **response}
    return {"role": "tool", "content": [block]}


def result(output: Json) -> Json:
    block = {"type": "tool-result", "toolCallId": "w7", "toolName": "pay", "output": output}
    return {"role": "tool", "content": [block]}


def part(**members: Json) -> Json:
    tool_part = {"type": "tool-pay", "toolCallId": "w7", "input": {}, **members}
    return {"role": "assistant", "parts": [tool_part]}


DENIAL = {"id": "a", "approved": False, "reason": "too expensive"}
ASSISTANT = {"role": "assistant", "content": [CALL, ASKED]}
PYDANTIC_CALL = {"part_kind": "tool-call", "tool_call_id": "w7", "tool_name": "pay", "args": {}}
PYDANTIC_DENIAL = {
    "part_kind": "tool-return",
    "tool_call_id": "w7",
    "tool_name": "pay",
    "content": SAID,
    "outcome": "denied",
}
DENIED: dict[str, list[Json]] = {
    "response": [ASSISTANT, answered(approved=False, reason="too expensive")],
    "response and result": [
        ASSISTANT,
        answered(approved=False, reason="too expensive"),
        result({"type": "execution-denied"}),
    ],
    "output-denied": [part(state="output-denied", approval=DENIAL)],
    "approval-responded": [part(state="approval-responded", approval=DENIAL)],
    "outcome of Pydantic AI": [
        {"kind": "response", "parts": [PYDANTIC_CALL]},
        {"kind": "request", "parts": [PYDANTIC_DENIAL]},
    ],
}


@pytest.mark.parametrize("name", DENIED)
def test_denial_is_rendered_with_its_reason(name: str) -> None:
    healed = heal({"messages": [USER, *DENIED[name], ON]}, "anthropic")
    text = [{"type": "text", "text": SAID}]
    block = {"type": "tool_result", "tool_use_id": "w7", "content": text, "is_error": True}
    use = {"type": "tool_use", "id": "w7", "name": "pay", "input": {}}
    assert healed.messages == [
        USER,
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [block]},
        ON,
    ]
    assert {item.code for item in healed.loss} <= {"no-place"}


@pytest.mark.parametrize(
    ("output", "expected_reason"),
    [
        ({"type": "execution-denied", "reason": "too expensive"}, "too expensive"),
        ({"type": "execution-denied"}, NO_REASON),
    ],
)
def test_denied_result_has_its_reason(output: Json, expected_reason: str) -> None:
    history = [USER, {"role": "assistant", "content": [CALL]}, result(output), ON]
    (_, _, answer, _) = read_messages({"messages": history}).turns
    assert (answer.is_error, [item.text for item in answer.items]) == (True, [expected_reason])  # type: ignore[union-attr]


def test_call_that_was_approved_waits_for_its_result() -> None:
    history = [USER, ASSISTANT, answered(approved=True)]
    read = read_messages({"messages": history})
    assert [turn.role for turn in read.turns] == ["user", "assistant"]
    paid = result({"type": "text", "value": "paid"})
    (_, _, answer) = read_messages({"messages": [*history, paid]}).turns
    assert (answer.call_id, answer.is_error) == ("w7", False)


def test_denial_of_an_mcp_tool_is_rendered_with_its_reason() -> None:
    request = {"type": "mcp_approval_request", "id": "m1", "name": "delete", "server_label": "fs"}
    denied = {"type": "mcp_approval_response", "approval_request_id": "m1", "approve": False}
    history: Json = {
        "input": [USER, {**request, "arguments": "{}"}, {**denied, "reason": "too expensive"}]
    }
    healed = heal(history, "openai-chat")
    assert healed.messages[-1] == {"role": "user", "content": SAID}
    assert heal(history).messages == history["input"]


@pytest.mark.parametrize("name", ["response", "response and result"])
def test_history_with_a_denial_is_healthy_for_its_own_sdk(name: str) -> None:
    history = {"messages": [USER, *DENIED[name], ON]}
    assert heal(history, "vercel").messages == history["messages"]
