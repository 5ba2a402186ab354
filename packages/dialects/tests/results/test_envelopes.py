"""What providers and protocols put around a result: opened, and read for failure."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from packages.dialects.tests.results.samples import (
    PNG,
    PNG64,
    Medium,
    Seen,
    json_part,
    medium,
    seen,
    text,
)

WORD = {"type": "text", "text": "a"}


def response(result: object) -> dict[str, object]:
    """A response of JSON-RPC."""
    return {"jsonrpc": "2.0", "id": 7, "result": result}


@pytest.mark.parametrize(
    "result",
    [
        {"content": [WORD], "isError": True, "_meta": {"k": 1}},
        {"content": [{"type": "image", "data": PNG64, "mimeType": "image/png"}]},
        {"structuredContent": {"a": PNG64}},
        {"content": [WORD], "_display": {"a": 1}},
        {"a": 1, "error": "x"},
        [WORD, "b"],
        "plain",
        None,
    ],
)
def test_a_response_of_json_rpc_is_its_result(result: object) -> None:
    assert seen(response(result)) == seen(result)
    assert seen({**response(response(result)), "error": None}) == seen(result)


def test_responses_in_responses_are_opened_to_the_last() -> None:
    result: object = {"content": [{"type": "image", "data": "***"}], "isError": True}
    for _ in range(900):
        result = response(result)
    opened = seen(result)
    assert opened.is_error
    # The pointer ends where it would become too long.
    assert opened.warnings == (("undecodable-media", "/result" * 142),)


@pytest.mark.parametrize(
    ("error", "parts", "meta"),
    [
        ({"code": -32602, "message": "No such tool"}, (text("No such tool"),), {"code": -32602}),
        (
            {"code": 1, "message": "m", "data": {"t": None}},
            (text("m"), json_part('{"t":null}')),
            {"code": 1},
        ),
        ({"code": 1, "message": "m", "data": "more"}, (text("m"), text("more")), {"code": 1}),
        ({"code": 1}, (json_part('{"code":1}'),), None),
        ("boom", (text("boom"),), None),
    ],
)
def test_an_error_of_json_rpc_is_its_words_and_a_failure(
    error: object, parts: tuple[object, ...], meta: object
) -> None:
    answer = {"jsonrpc": "2.0", "id": None, "error": error}
    assert seen(answer) == Seen(parts, is_error=True, meta=meta)


BEDROCK = {"toolUseId": "t", "content": [{"text": "a"}, {"json": {"b": 1}}]}
LANGCHAIN = {"content": [WORD], "type": "tool", "tool_call_id": "c"}
DUMPED: dict[str, object] = {
    "additional_kwargs": {},
    "response_metadata": {},
    "name": None,
    "id": None,
}
STATUSES = [("error", True), ("success", False)]
VERCEL = {"type": "tool-result", "toolCallId": "c", "toolName": "t"}


@pytest.mark.parametrize(("status", "is_error"), [*STATUSES, (None, None)])
def test_bedrock_says_by_its_status_whether_the_tool_failed(
    status: str | None, is_error: bool | None
) -> None:
    expected = Seen((text("a"), json_part('{"b":1}')), is_error=is_error, meta={"toolUseId": "t"})
    block = {"toolResult": {**BEDROCK, "status": status}}
    message = {"role": "user", "content": [block]}
    assert [seen(each) for each in (block, [block], message)] == [expected] * 3


def test_the_object_of_a_tool_result_alone_needs_a_status() -> None:
    assert seen({**BEDROCK, "status": "error"}).is_error
    assert seen(BEDROCK).is_error is None


@pytest.mark.parametrize(("status", "is_error"), STATUSES)
def test_a_tool_message_of_langchain_is_its_content_in_every_dump(
    status: str, is_error: bool
) -> None:
    message = {**LANGCHAIN, "status": status}
    kind = ["langchain", "schema", "messages", "ToolMessage"]
    dumps: list[Any] = [
        {**message, **DUMPED, "artifact": None},
        {"type": "tool", "data": {**message, **DUMPED}},
        {"lc": 1, "type": "constructor", "id": kind, "kwargs": message},
        [message],
    ]
    expected = Seen((text("a"),), is_error=is_error, meta={"tool_call_id": "c"})
    assert [seen(each) for each in dumps] == [expected] * 4


def test_what_a_tool_message_holds_besides_is_kept() -> None:
    message = {**LANGCHAIN, "content": "a", "artifact": {"n": None}, "name": "t"}
    kept = {"tool_call_id": "c", "artifact": {"n": None}, "name": "t"}
    assert seen(message) == Seen((text("a"),), meta=kept)


def test_a_constructor_with_members_of_its_own_is_a_record() -> None:
    kind = ["langchain", "schema", "messages", "ToolMessage"]
    record = {"lc": 1, "type": "constructor", "id": kind, "kwargs": LANGCHAIN, "extra": "more"}
    assert "more" in str(seen(record).parts)


@pytest.mark.parametrize(
    ("error", "is_error"),
    [("boom", True), ({"a": 1}, True), (None, None), ("", None), (False, None)],
)
def test_gemini_says_by_an_error_in_its_response_that_the_tool_failed(
    error: object, is_error: bool | None
) -> None:
    function = {"name": "f", "response": {"error": error}}
    for key in ("functionResponse", "function_response"):
        assert seen({key: function}).is_error is is_error
        assert seen({"role": "user", "parts": [{key: function}]}).is_error is is_error


def test_gemini_keeps_its_response_and_its_media() -> None:
    inline = {"inlineData": {"mimeType": "image/png", "data": PNG64}}
    function = {"name": "f", "response": {"error": "boom"}, "parts": [inline]}
    assert seen({"functionResponse": function}).media == (
        Medium(PNG, "image/png", must_be_stored=True),
    )


@pytest.mark.parametrize(
    ("output", "part"),
    [
        ({"type": "error-text", "value": "boom"}, text("boom")),
        ({"type": "error-json", "value": {"a": 1}}, json_part('{"a":1}')),
        ({"type": "execution-denied", "reason": "Not today."}, text("Not today.")),
        ({"type": "execution-denied"}, text("The tool was not allowed to run.")),
    ],
)
def test_outputs_of_the_vercel_ai_sdk_say_that_the_tool_failed(
    output: dict[str, object], part: object
) -> None:
    assert seen(output) == Seen((part,), is_error=True)
    kept = {"toolCallId": "c", "toolName": "t"}
    within = {"role": "tool", "content": [{**VERCEL, "output": output}]}
    assert seen(within) == Seen((part,), is_error=True, meta=kept)


@pytest.mark.parametrize("kind", ["json", "error-json"])
def test_output_of_the_vercel_ai_sdk_is_the_mcp_result_that_it_holds(kind: str) -> None:
    result = {"content": [{"type": "text", "text": "a"}], "structuredContent": {"result": "a"}}
    flags: Mapping[str, object]
    for is_error, flags in (
        (None, {}),
        (False, {"isError": False}),
        (True, {"is_error": True, "result_type": "complete"}),
    ):
        output = {"type": kind, "value": {**result, **flags}, "providerOptions": {"p": 1}}
        expected = Seen(
            (text("a"),),
            is_error=kind == "error-json" or is_error,
            structured_content=({"result": "a"},),
            meta={"providerOptions": {"p": 1}},
        )
        assert seen(output) == expected
        kept = {"toolCallId": "c", "toolName": "t", "providerOptions": {"p": 1}}
        assert seen({**VERCEL, "output": output}) == replace(expected, meta=kept)


def test_output_of_the_vercel_ai_sdk_that_holds_a_record_is_its_json() -> None:
    record = {"content": "a", "score": 1}
    output = {"type": "json", "value": record}
    assert seen(output) == Seen((json_part('{"content":"a","score":1}'),))


def test_a_tool_error_of_the_vercel_ai_sdk_is_a_failure() -> None:
    part = {**VERCEL, "type": "tool-error", "input": {"a": None}, "error": "boom"}
    kept = {"toolCallId": "c", "toolName": "t", "input": {"a": None}}
    assert seen(part) == Seen((text("boom"),), is_error=True, meta=kept)


def test_media_in_an_envelope_are_media() -> None:
    image = {"type": "image", "data": PNG64, "mimeType": "image/png"}
    assert seen({**LANGCHAIN, "content": [image]}) == Seen(
        (medium(),), (Medium(PNG, "image/png", "image"),), meta={"tool_call_id": "c"}
    )


@pytest.mark.parametrize(
    "record",
    [
        '{"status":"error","error":"x"}',
        '{"type":"tool","status":"error","name":"hammer"}',
        '{"type":"tool","content":"x","status":"error"}',
        '{"toolResult":{"status":"error"},"n":1}',
        '{"content":"x","status":"error"}',
        '{"response":{"error":"x"}}',
        '{"functionResponse":{"error":"x"}}',
        '{"jsonrpc":"2.0","error":{"message":"x"},"n":1}',
        '{"jsonrpc":"1.0","result":1}',
        '{"jsonrpc":"2.0","method":"m","params":{}}',
        '{"jsonrpc":"2.0","result":1,"error":{"message":"x"}}',
        '{"type":"tool-error","error":"x"}',
        '{"type":"execution-denied","by":"x"}',
        '[{"type":"human","content":"a"},{"type":"tool","content":"x","tool_call_id":"c",'
        '"status":"error"}]',
        '{"role":"user","content":[{"n":1}],"status":"error"}',
    ],
)
def test_a_record_outside_of_an_envelope_says_nothing_of_success(record: str) -> None:
    assert seen(json.loads(record)) == Seen((json_part(record),))


@pytest.mark.parametrize("key", ["function_response", "functionResponse"])
def test_what_was_not_given_to_a_response_of_gemini_is_no_text(key: str) -> None:
    held = {"will_continue": None, "parts": None, "id": "1", "name": "x", "response": {"a": None}}
    shown = f'{{"{key}":{{"id":"1","name":"x","response":{{"a":null}}}}}}'
    assert seen({"thought": None, key: held}) == Seen((json_part(shown),))
