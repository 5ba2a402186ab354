"""Calls and results in the shapes of all dialects, and the members of them that are not read."""

from collections.abc import Sequence
from typing import Any

from pagefault_dialects.messages.message_calls import (
    ToolResultBlock,
    has_error_mark,
    has_id,
    is_reasoning,
    list_calls,
    note_unread_call_members,
    note_unread_listed_call_members,
    note_unread_result_members,
    read_call,
    read_listed_call,
    read_tool_result,
)
from pagefault_dialects.messages.message_content import note_no_place
from pagefault_dialects.model.conversation import TurnCall

Json = Any

MCP: Json = {"content": [{"type": "text", "text": "A cat."}], "isError": False}


def call(*, name: str = "look", arguments: Json = None, **more: Json) -> TurnCall:
    return TurnCall("c1", name, arguments or {}, **more)


def test_call_is_read_from_a_block_of_every_dialect() -> None:
    mark = {"type": "ephemeral"}
    rows: Sequence[tuple[Json, TurnCall | None]] = [
        *(
            ({"type": kind, "id": "c1", "name": "look"}, call())
            for kind in (
                *("tool_use", "tool_call", "tool-call", "function_call", "custom_tool_call"),
            )
        ),
        *(
            ({member: {"id": "c1", "name": "look", "args": {"a": 1}}}, call(arguments={"a": 1}))
            for member in ("toolUse", "functionCall", "function_call")
        ),
        *(
            ({"type": "tool_use", name: "c1", "name": "look"}, call())
            for name in (
                *("toolCallId", "tool_use_id", "toolUseId", "tool_call_id", "call_id", "id"),
            )
        ),
        # The first name with a value is read.
        (
            {"type": "tool-call", "toolCallId": "c1", "id": "x", "toolName": "look", "name": "y"},
            call(),
        ),
        ({"type": "function_call", "call_id": None, "id": "c1", "name": "look"}, call()),
        ({"type": "tool_use", "id": "c1"}, call(name="")),
        ({"type": "tool_use", "id": 7, "name": ["look"]}, TurnCall("7", "", {})),
        # Without an id, it is made of the numbers of the entry and the call.
        ({"type": "tool_use", "id": "", "name": "look"}, TurnCall("call_3_2", "look", {})),
        ({"type": "tool_use", "id": True, "name": "look"}, TurnCall("call_3_2", "look", {})),
        (
            {"type": "tool_use", "id": "c1", "name": "look", "cache_control": mark},
            call(cache_control=mark),
        ),
        ({"type": "tool_use", "id": "c1", "name": "look", "cache_control": "x"}, call()),
        (
            {"functionCall": {"id": "c1", "name": "look"}, "thoughtSignature": "c2ln"},
            call(thought_signature="c2ln"),
        ),
        ({"type": "text", "text": "Look."}, None),
        ({"type": ["tool_use"], "id": "c1"}, None),
        ({"toolUse": "c1"}, None),
        ("tool_use", None),
        ([], None),
        (None, None),
    ]
    found = [read_call(block, 3, 1) for block, _ in rows]
    assert found == [expected for _, expected in rows]
    # The mark for the cache is not compared by `TurnCall`.
    assert [item and item.cache_control for item in found] == [
        expected and expected.cache_control for _, expected in rows
    ]


def test_arguments_of_a_call_are_an_object_or_become_its_member_input() -> None:
    rows: Sequence[tuple[Json, Json]] = [
        ({"input": {"a": 1}, "args": {"b": 2}}, {"a": 1}),
        ({"input": None, "args": {"b": 2}, "arguments": "{}"}, {"b": 2}),
        ({"arguments": '{"c": 3}'}, {"c": 3}),
        ({"arguments": ""}, {}),
        ({"arguments": " \n"}, {}),
        ({"arguments": "null"}, {}),
        ({"arguments": '{"c": 3'}, {"input": '{"c": 3'}),
        ({"arguments": "[1]"}, {"input": [1]}),
        ({"arguments": "7"}, {"input": 7}),
        ({"input": ["a"]}, {"input": ["a"]}),
        ({"input": 0}, {"input": 0}),
        ({}, {}),
        # Halves of surrogate pairs are replaced.
        ({"arguments": '{"a": "\\ud83d", "b": 1e2}'}, {"a": "\ufffd", "b": 100}),
        ({"arguments": '{"a": "\\uD83D\\uDE00"}'}, {"a": "\U0001f600"}),
    ]
    blocks = [{"type": "tool_use", "id": "c1", "name": "look", **members} for members, _ in rows]
    assert [read_call(block, 1, 0) for block in blocks] == [
        TurnCall("c1", "look", arguments) for _, arguments in rows
    ]


def test_arguments_of_too_many_levels_or_values_stay_a_text() -> None:
    texts = ["[" * depth + "]" * depth for depth in (500, 1_025)]
    texts += [f"[{'0,' * count}0]" for count in (249_998, 250_001)]
    blocks = [{"type": "tool_use", "arguments": text} for text in texts]
    calls = [read_call(block, 1, 0) for block in blocks]
    assert [found and type(found.arguments["input"]) for found in calls] == [list, str, list, str]


def test_calls_beside_the_content_are_listed_and_read() -> None:
    function = {"name": "look", "arguments": '{"a": 1}'}
    spelled = {"id": "c1", "type": "function", "function": function}
    custom = {"id": "c1", "type": "custom", "custom": {"name": "look", "input": "1+1"}}
    chained = {"id": "c1", "name": "look", "args": {"a": 1}}
    message = {"tool_calls": [spelled, 7, custom, chained], "function_call": function}
    assert list_calls(message) == [
        ("/tool_calls/0", spelled),
        ("/tool_calls/2", custom),
        ("/tool_calls/3", chained),
        ("/function_call", function),
    ]
    assert [list_calls(other) for other in ({}, {"tool_calls": {}, "function_call": "look"})] == [
        [],
        [],
    ]
    one = call(arguments={"a": 1})
    assert [read_listed_call(block, 3, 1) for _, block in list_calls(message)] == [
        one,
        call(arguments={"input": "1+1"}),
        one,
        TurnCall("call_3_2", "look", {"a": 1}),
    ]
    assert read_listed_call({"id": "c1", "function": "look", "name": "look"}, 1, 0) == call()
    # Members of the function replace those of the call.
    both = {**chained, "name": "see", "function": {"name": "look"}}
    assert read_listed_call(both, 1, 0) == one


def result(content: Json, *, name: str = "", **more: Json) -> ToolResultBlock:
    return ToolResultBlock("c1", name, content, **more)


def test_result_is_read_from_a_block_of_every_dialect() -> None:
    text = MCP["content"]
    typed: Json = {"type": "tool-result", "toolCallId": "c1", "toolName": "look"}
    result_block: Json = {"type": "tool_result", "tool_use_id": "c1"}
    responded: Json = {"id": "c1", "name": "look"}

    def gemini(response: Json, **more: Json) -> Json:
        return {"functionResponse": {**responded, "response": response, **more}}

    rows: Sequence[tuple[Json, ToolResultBlock | None]] = [
        *(
            ({"type": kind, "call_id": "c1", "output": "A cat."}, result("A cat."))
            for kind in (
                *("tool_result", "tool-result", "function_call_output"),
                "custom_tool_call_output",
            )
        ),
        *(
            ({member: {"id": "c1", "name": "look", "content": 7}}, result(7, name="look"))
            for member in ("toolResult", "functionResponse", "function_response")
        ),
        *(
            ({**result_block, name: "A cat."}, result("A cat."))
            for name in ("content", "output", "result", "response")
        ),
        ({**result_block, "content": None, "output": "A cat.", "result": "x"}, result("A cat.")),
        (result_block, result(None)),
        ({**result_block, "content": "", "is_error": True}, result("", is_error=True)),
        ({**result_block, "content": "", "isError": True}, result("", is_error=True)),
        ({**result_block, "content": "", "status": "error"}, result("", is_error=True)),
        ({**result_block, "content": "", "is_error": "yes", "status": "success"}, result("")),
        ({**result_block, "content": [], "parts": [7]}, result([], parts=(7,))),
        ({**result_block, "content": [], "parts": {"a": 1}}, result([])),
        # The output of the Vercel AI SDK has a type of its own.
        ({**typed, "output": {"type": "text", "value": "A."}}, result("A.", name="look")),
        ({**typed, "output": {"type": "json", "value": None}}, result(None, name="look")),
        (
            {**typed, "output": {"type": "error-text", "value": "No."}},
            result("No.", name="look", is_error=True),
        ),
        (
            {**typed, "output": {"type": "text"}},
            result({"type": "text"}, name="look"),
        ),
        (
            {**typed, "output": {"type": "execution-denied", "reason": "Too dear."}},
            result("Too dear.", name="look", is_error=True),
        ),
        (
            {**typed, "output": {"type": "execution-denied"}},
            result("The tool was not allowed to run.", name="look", is_error=True),
        ),
        (
            {**typed, "output": {"value": "A."}},
            result({"value": "A."}, name="look"),
        ),
        (
            {**typed, "result": {"type": "text", "value": "A."}},
            result({"type": "text", "value": "A."}, name="look"),
        ),
        (
            {**result_block, "output": {"type": "text", "value": "A."}},
            result({"type": "text", "value": "A."}),
        ),
        # The response of Gemini is an object around the content, if it has no other member.
        *(
            (gemini({name: "A."}), result("A.", name="look", is_error=name == "error"))
            for name in ("output", "result", "error")
        ),
        (gemini({"output": "A.", "b": 1}), result({"output": "A.", "b": 1}, name="look")),
        (gemini({"b": 1}), result({"b": 1}, name="look")),
        (gemini("A."), result("A.", name="look")),
        ({**result_block, "content": {"output": "A."}}, result({"output": "A."})),
        # A result of MCP.
        (gemini(MCP), result(text, name="look")),
        (gemini({"output": {**MCP, "isError": True}}), result(text, name="look", is_error=True)),
        (
            gemini({**MCP, "structuredContent": {"a": 1}, "_display": "Shown."}, parts=[7]),
            result(text, name="look", structured=({"a": 1},), parts=(7,)),
        ),
        ({"type": "text", "text": "A cat."}, None),
        ({"toolResult": "c1"}, None),
        ("tool_result", None),
    ]
    assert [read_tool_result(block) for block, _ in rows] == [expected for _, expected in rows]


def test_error_marks_ids_and_thoughts_are_recognized() -> None:
    marks = [{"is_error": True}, {"isError": True}, {"status": "error"}]
    others: Json = [{}, {"is_error": False}, {"isError": 1.5}, {"status": "success"}]
    assert [has_error_mark(members) for members in (*marks, *others)] == [True] * 3 + [False] * 4
    assert [has_id(members) for members in ({"id": "a"}, {"call_id": 7}, {"id": ""}, {})] == [
        *(True, True, False, False),
    ]
    thoughts: Json = [
        *(
            {"type": kind}
            for kind in (
                *("thinking", "redacted_thinking", "reasoning", "reasoning_content"),
                "redacted-reasoning",
            )
        ),
        {"reasoningContent": {}},
        *({"thought": True, name: "Hm."} for name in ("text", "inlineData", "inline_data")),
    ]
    contents: Json = [
        {"type": "text", "text": "Hm."},
        {"thought": True},
        {"thought": True, "text": None},
        {"thought": False, "text": "Hm."},
        {"thought": "yes", "text": "Hm."},
        {"reasoningContent": None},
        "thinking",
        None,
    ]
    assert [is_reasoning(block) for block in thoughts] == [True] * len(thoughts)
    assert [is_reasoning(block) for block in contents] == [False] * len(contents)


def notes(*pointers: str) -> list[Json]:
    """Return the notes of members without a place; each has the last name of its pointer."""
    return [note_no_place(pointer, pointer.rpartition("/")[2]) for pointer in pointers]


def test_members_of_a_call_that_are_not_read_are_noted() -> None:
    rows: Sequence[tuple[Json, list[str]]] = [
        ({"type": "tool_use", "id": "c1", "name": "look", "input": {}, "args": [1]}, ["/b/args"]),
        (
            {"type": "tool_use", "call_id": "c1", "id": "x", "toolName": "a", "name": "b"},
            ["/b/name"],
        ),
        ({"type": "tool_use", "call_id": ["c1"], "name": "look"}, ["/b/call_id"]),
        ({"toolUse": {"name": "look", "more": 1}, "else": 2}, ["/b/else", "/b/toolUse/more"]),
        ({"functionCall": {"a/b~": 1}}, ["/b/functionCall/a~1b~0"]),
        ({"text": "Look.", "more": 1}, ["/b/text", "/b/more"]),
    ]
    found = [[*note_unread_call_members(block, "/b")] for block, _ in rows]
    assert [[note.pointer for note in row] for row in found] == [row for _, row in rows]
    assert found[3] == notes(*rows[3][1])


def test_members_of_a_listed_call_that_are_not_read_are_noted() -> None:
    function = {"name": "look", "arguments": "{}", "strict": True}
    rows: Sequence[tuple[Json, list[str]]] = [
        ({"id": "c1", "type": "function", "function": function}, ["/c/function/strict"]),
        ({"id": "c1", "function": function, "extra": 1}, ["/c/extra", "/c/function/strict"]),
        # Members of the function replace those of the call.
        ({"id": "c1", "name": "x", "function": function}, ["/c/name", "/c/function/strict"]),
        ({"id": "c1", "custom": {"name": "py", "input": "1", "b": 1}}, ["/c/custom/b"]),
        ({"id": "c1", "name": "look", "args": {"a": 1}, "more": 1}, ["/c/more"]),
    ]
    found = [[*note_unread_listed_call_members(block, "/c")] for block, _ in rows]
    assert found == [notes(*row) for _, row in rows]


def test_members_of_a_result_that_are_not_read_are_noted() -> None:
    result_block: Json = {"type": "tool_result", "tool_use_id": "c1"}
    typed: Json = {"type": "tool-result", "toolCallId": "c1", "toolName": "look"}
    rows: Sequence[tuple[Json, list[str]]] = [
        ({**result_block, "content": "A.", "output": "B."}, ["/b/output"]),
        ({**result_block, "content": "A.", "parts": [7]}, []),
        ({**result_block, "content": "A.", "parts": {"a": 1}}, ["/b/parts"]),
        ({"toolResult": {"id": "c1", "content": 7, "b": 1}, "c": 1}, ["/b/c", "/b/toolResult/b"]),
        # The object around the content.
        (
            {**typed, "output": {"type": "text", "value": "A.", "reason": "x", "b": 1}},
            ["/b/output/b"],
        ),
        (
            {
                "functionResponse": {
                    "name": "look",
                    "response": {"output": {**MCP, "_display": "x"}},
                }
            },
            ["/b/functionResponse/response/output/_display"],
        ),
        # A result of MCP, of which all members are read but `_display`.
        (
            {"functionResponse": {"name": "look", "response": {**MCP, "_display": "x"}}},
            ["/b/functionResponse/response/_display"],
        ),
        (
            {**typed, "output": {"type": "json", "value": {**MCP, "_display": "x"}}},
            ["/b/output/value/_display"],
        ),
        ({**result_block, "content": {"a": 1, "_display": "x"}}, []),
        ({**result_block, "content": {"a": 1}}, []),
    ]
    found = [[*note_unread_result_members(block, "/b")] for block, _ in rows]
    assert found == [notes(*row) for _, row in rows]
