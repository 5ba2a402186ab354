"""Messages, tasks and sampling requests of MCP are read from their JSON-RPC envelopes."""

from typing import Any

import pytest

from packages.dialects.tests.results.samples import result_of, text
from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.messages.conversation_reading import read_conversation
from pagefault_dialects.messages.entry_reading import read_entry

Json = dict[str, Any]

WORDS = {"content": [{"type": "text", "text": "x"}]}
ASKED: Json = {"role": "user", "content": {"type": "text", "text": "a"}}
ANSWERED: Json = {"role": "assistant", "content": {"type": "text", "text": "b"}, "model": "m"}
TASK = {"taskId": "t", "status": "failed", "createdAt": "x", "lastUpdatedAt": "y"}


def rpc(**members: object) -> Json:
    return {"jsonrpc": "2.0", "id": 7, **members}


def read_message(value: Json) -> ForeignMessage:
    (message,) = read_entry(value).messages
    return message


def make_result(result: Json, call_id: str | None, name: str | None) -> Json:
    block = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "name": name,
        "content": result,
        "is_error": False,
    }
    return {"role": "tool", "content": [block]}


@pytest.mark.parametrize(
    ("params", "name", "arguments"),
    [({"name": "f", "arguments": {"a": 1}}, "f", {"a": 1}), ({}, "", {})],
)
def test_request_for_a_tool_is_a_call(params: Json, name: str, arguments: Json) -> None:
    message = read_message(rpc(method="tools/call", params=params))
    call = {"type": "tool_use", "id": "7", "name": name, "input": arguments}
    assert (message.pointer, message.message) == ("", {"role": "assistant", "content": [call]})
    assert (message.original_pointers, message.continues_turn) == ({"/content/0": "/params"}, True)


def test_response_with_content_is_the_result_of_its_request() -> None:
    result = {**WORDS, "isError": True}
    message = read_message(rpc(result=result))
    assert (message.pointer, message.message) == ("/result", make_result(result, "7", None))
    assert message.original_pointers == {"/content/0": ""}


def test_result_without_its_response_has_the_call_of_its_meta() -> None:
    meta = {"pagefault/toolCallId": "c", "pagefault/toolName": "f"}
    result = {**WORDS, "isError": False, "_meta": meta}
    assert read_message(result).message == make_result(result, "c", "f")
    assert read_message(rpc(result=result)).message == make_result(result, "7", "f")
    bare = {**WORDS, "isError": False, "_meta": []}
    assert read_message(bare).message == make_result(bare, None, None)


def test_request_for_sampling_has_messages_and_a_prompt() -> None:
    params = {"messages": [ASKED, ANSWERED], "systemPrompt": "be", "tools": [{"name": "f"}]}
    found = read_conversation(rpc(method="sampling/createMessage", params=params))
    assert [(pointer, message) for pointer, message, _ in found.entries] == [
        ("/params/messages/0", ASKED),
        ("/params/messages/1", ANSWERED),
    ]
    prompt = {"systemPrompt": "be", "tools": [{"name": "f"}]}
    assert (found.dialect, found.prompt) == ("mcp", prompt)
    empty = {"messages": [ASKED], "systemPrompt": "", "tools": []}
    assert read_conversation(rpc(method="sampling/createMessage", params=empty)).prompt == {}


def test_response_to_a_request_for_sampling_is_one_message() -> None:
    found = read_conversation(rpc(result=ANSWERED))
    entries = [(pointer, message) for pointer, message, _ in found.entries]
    assert (found.dialect, entries) == ("mcp", [("/result", ANSWERED)])
    assert found.prompt == {}


def test_failed_task_is_the_message_and_the_data_of_its_error() -> None:
    failed = result_of({**TASK, "error": {"code": -1, "message": "no", "data": "why"}})
    silent = result_of({**TASK, "error": {"code": -1, "message": "no", "data": None}})
    assert (failed.parts, failed.is_error) == ((text("no"), text("why")), True)
    assert (silent.parts, silent.is_error) == ((text("no"),), True)


def test_completed_task_is_its_result() -> None:
    done = result_of({**TASK, "status": "completed", "result": WORDS})
    assert (done.parts, done.is_error) == ((text("x"),), None)


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        ({"code": -1, "message": "no", "data": "why"}, (text("no"), text("why"))),
        ({"code": -1, "message": "no"}, (text("no"),)),
        ("broken", (text("broken"),)),
    ],
)
def test_error_of_a_response_is_its_message_and_data(error: object, parts: tuple[Any]) -> None:
    for value in (rpc(error=error), rpc(result=rpc(error=error)), rpc(error=error, result=None)):
        found = result_of(value)
        assert (found.parts, found.is_error) == (parts, True)
