"""Envelopes of providers and protocols: opened, read for failures, and stored."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from packages.dialects.tests.results.samples import (
    PNG,
    PNG64,
    PNG_URI,
    Medium,
    Result,
    json_part,
    medium,
    result_of,
    text,
)
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.json.values import MediaSlot
from pagefault_dialects.model.normalized import Provenance

WORD = {"type": "text", "text": "a"}


def response(result: object) -> dict[str, object]:
    """Return a response of JSON-RPC."""
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
def test_response_of_json_rpc_is_its_result(result: object) -> None:
    expected = replace(result_of(result), envelope={"dialect": "mcp", "response": {"id": 7}})
    assert result_of(response(result)) == expected
    assert result_of({**response(response(result)), "error": None}) == expected


def test_responses_in_responses_are_opened_to_the_last() -> None:
    result: object = {"content": [{"type": "image", "data": "***"}], "isError": True}
    for _ in range(900):
        result = response(result)
    opened = result_of(result)
    assert opened.is_error
    # The pointer ends before it becomes too long.
    assert opened.warnings == (("undecodable-media", "/result" * 142),)


@pytest.mark.parametrize(
    ("error", "parts", "kept"),
    [
        ({"code": -32602, "message": "No such tool"}, (text("No such tool"),), {"code": -32602}),
        (
            {"code": 1, "message": "m", "data": {"t": None}},
            (text("m"), json_part('{"t":null}')),
            {"code": 1},
        ),
        ({"code": 1, "message": "m", "data": "more"}, (text("m"), text("more")), {"code": 1}),
        ({"code": 1}, (json_part('{"code":1}'),), {}),
        ("boom", (text("boom"),), {}),
    ],
)
def test_error_of_json_rpc_is_its_words_and_a_failure(
    error: object, parts: tuple[object, ...], kept: dict[str, object]
) -> None:
    answer = {"jsonrpc": "2.0", "id": None, "error": error}
    assert result_of(answer) == Result(parts, is_error=True, envelope={"dialect": "mcp", **kept})


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
def test_status_of_bedrock_is_the_failure_of_the_tool(
    status: str | None, is_error: bool | None
) -> None:
    expected = Result(
        (text("a"), json_part('{"b":1}')),
        is_error=is_error,
        envelope={"dialect": "bedrock", "toolCallId": "t"},
    )
    block = {"toolResult": {**BEDROCK, "status": status}}
    message = {"role": "user", "content": [block]}
    assert [result_of(item) for item in (block, [block], message)] == [expected] * 3


def test_object_of_a_tool_result_alone_needs_a_status() -> None:
    assert result_of({**BEDROCK, "status": "error"}).is_error
    assert result_of(BEDROCK).envelope is None


@pytest.mark.parametrize(("status", "is_error"), STATUSES)
def test_tool_message_of_langchain_is_its_content_in_every_dump(
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
    kept = {"dialect": "langchain", "toolCallId": "c"}
    expected = Result((text("a"),), is_error=is_error, envelope=kept)
    assert [result_of(dump) for dump in dumps] == [expected] * 4


def test_other_members_of_a_tool_message_are_kept() -> None:
    message = {**LANGCHAIN, "content": "a", "artifact": {"n": None}, "name": "t"}
    kept = {"artifact": {"n": None}, "dialect": "langchain", "toolCallId": "c", "toolName": "t"}
    assert result_of(message) == Result((text("a"),), envelope=kept)


def test_medium_that_is_only_kept_is_stored_and_no_part() -> None:
    message = {**LANGCHAIN, "content": "a", "artifact": {"plot": PNG_URI}}
    kept = {"dialect": "langchain", "toolCallId": "c", "artifact": {"plot": MediaSlot(0)}}
    assert result_of(message) == Result(
        (text("a"),), (Medium(PNG, "image/png", must_be_stored=True),), envelope=kept
    )


def test_constructor_with_members_of_its_own_is_a_record() -> None:
    kind = ["langchain", "schema", "messages", "ToolMessage"]
    record = {"lc": 1, "type": "constructor", "id": kind, "kwargs": LANGCHAIN, "extra": "more"}
    assert "more" in str(result_of(record).parts)


@pytest.mark.parametrize(
    ("error", "is_error"),
    [("boom", True), ({"a": 1}, True), (None, None), ("", None), (False, None), ([], None)],
)
def test_error_in_a_response_of_gemini_is_a_failure_of_the_tool(
    error: object, is_error: bool | None
) -> None:
    function = {"name": "f", "response": {"error": error}}
    for key in ("functionResponse", "function_response"):
        assert result_of({key: function}).is_error is is_error
        assert result_of({"role": "user", "parts": [{key: function}]}).is_error is is_error


def test_response_of_a_function_of_gemini_precedes_its_media() -> None:
    inline = {"inlineData": {"mimeType": "image/png", "data": PNG64}, "fileData": None}
    function = {"name": "f", "response": {"error": "boom"}, "parts": [inline]}
    assert result_of({"functionResponse": function}) == Result(
        (text("boom"), medium()),
        (Medium(PNG, "image/png"),),
        is_error=True,
        envelope={"dialect": "gemini", "toolName": "f"},
    )


@pytest.mark.parametrize(
    ("response", "parts"),
    [
        ({"output": "a"}, (text("a"),)),
        ({"output": "a", "error": None}, (text("a"),)),
        ({"output": {"n": 1}}, (json_part('{"n":1}'),)),
        ({"result": ["a", 1]}, (text("a"), text("1"))),
        ({"output": "a", "rows": 3}, (json_part('{"output":"a","rows":3}'),)),
        ({"status": "error"}, (json_part('{"status":"error"}'),)),
        ({"content": [WORD]}, (text("a"),)),
        ({}, (text(""),)),
    ],
)
def test_response_of_gemini_is_its_output_or_all_of_it(
    response: object, parts: tuple[object, ...]
) -> None:
    kept = {"dialect": "gemini", "toolName": "f"}
    for key in ("functionResponse", "function_response"):
        part = {key: {"name": "f", "response": response}}
        assert result_of(part) == Result(parts, envelope=kept)


@pytest.mark.parametrize(
    ("output", "part"),
    [
        ({"type": "error-text", "value": "boom"}, text("boom")),
        ({"type": "error-json", "value": {"a": 1}}, json_part('{"a":1}')),
        ({"type": "execution-denied", "reason": "Not today."}, text("Not today.")),
        ({"type": "execution-denied"}, text("The tool was not allowed to run.")),
    ],
)
def test_error_outputs_of_the_vercel_ai_sdk_are_failures(
    output: dict[str, object], part: object
) -> None:
    assert result_of(output) == Result((part,), is_error=True, envelope={"dialect": "vercel"})
    kept: dict[str, object] = {"dialect": "vercel", "toolCallId": "c", "toolName": "t"}
    kept["output"] = {"type": output["type"]}
    within = {"role": "tool", "content": [{**VERCEL, "output": output}]}
    assert result_of(within) == Result((part,), is_error=True, envelope=kept)


@pytest.mark.parametrize("kind", ["json", "error-json"])
def test_mcp_result_in_an_output_of_the_vercel_ai_sdk_is_read(kind: str) -> None:
    result = {"content": [{"type": "text", "text": "a"}], "structuredContent": {"result": "a"}}
    flags: Mapping[str, object]
    for is_error, flags in (
        (None, {}),
        (False, {"isError": False}),
        (True, {"is_error": True, "result_type": "complete"}),
    ):
        output = {"type": kind, "value": {**result, **flags}, "providerOptions": {"p": 1}}
        expected = Result(
            (text("a"),),
            is_error=kind == "error-json" or is_error,
            structured_content=({"result": "a"},),
            envelope={"dialect": "vercel", "providerOptions": {"p": 1}},
        )
        assert result_of(output) == expected
        kept: dict[str, object] = {"dialect": "vercel", "toolCallId": "c", "toolName": "t"}
        kept |= {"output": {"type": kind, "providerOptions": {"p": 1}}}
        assert result_of({**VERCEL, "output": output}) == replace(expected, envelope=kept)


def test_output_of_the_vercel_ai_sdk_that_holds_a_record_is_its_json() -> None:
    record = {"content": "a", "score": 1}
    output = {"type": "json", "value": record}
    record_part = json_part('{"content":"a","score":1}')
    assert result_of(output) == Result((record_part,), envelope={"dialect": "vercel"})


def test_tool_error_of_the_vercel_ai_sdk_is_a_failure() -> None:
    part = {**VERCEL, "type": "tool-error", "input": {"a": None}, "error": "boom"}
    kept = {"dialect": "vercel", "toolCallId": "c", "toolName": "t", "input": {"a": None}}
    assert result_of(part) == Result((text("boom"),), is_error=True, envelope=kept)


def test_media_in_an_envelope_are_media() -> None:
    image = {"type": "image", "data": PNG64, "mimeType": "image/png"}
    assert result_of({**LANGCHAIN, "content": [image]}) == Result(
        (medium(),),
        (Medium(PNG, "image/png", "image"),),
        envelope={"dialect": "langchain", "toolCallId": "c"},
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
def test_record_outside_of_an_envelope_has_no_failure_state(record: str) -> None:
    assert result_of(json.loads(record)) == Result((json_part(record),))


TWO = [{**LANGCHAIN, "content": f"of {call}", "tool_call_id": call} for call in ("c1", "c2")]


@pytest.mark.parametrize(
    "result",
    [
        TWO,
        {"messages": TWO},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": call, "content": f"of {call}"}
                for call in ("c1", "c2")
            ],
        },
        [
            {"type": "function_call_output", "call_id": call, "output": f"of {call}"}
            for call in ("c1", "c2")
        ],
    ],
)
def test_answer_with_the_id_of_the_call_is_read_of_several(result: object) -> None:
    answer = result_of(result, call_id="c2")
    assert answer.parts == (text("of c2"),)
    assert answer.warnings == (("other-answers", ""),)
    with pytest.raises(InvalidPayloadError) as caught:
        result_of(result, call_id="c3")
    assert "/messages" in caught.value.detail


def test_two_answers_to_the_call_are_not_one() -> None:
    with pytest.raises(InvalidPayloadError):
        result_of([TWO[0], TWO[0]], call_id="c1")


def test_call_and_tool_of_an_envelope_are_kept_where_they_differ() -> None:
    message = {**LANGCHAIN, "name": "t"}
    alike = result_of(message, call_id="c", tool_name="t")
    assert (alike.envelope, alike.warnings) == ({"dialect": "langchain"}, ())
    other = result_of(message, call_id="d", tool_name="u")
    assert other.envelope == {"dialect": "langchain", "toolCallId": "c", "toolName": "t"}
    assert other.warnings == (
        ("envelope-differs", "/tool_call_id"),
        ("envelope-differs", "/name"),
    )


# Each differs from an envelope by one member.
_UPDATE = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}
_NOTE = {"method": "session/update", "params": {"sessionId": "s", "update": _UPDATE}}

NEAR_MISSES: list[object] = [
    {"jsonrpc": "2.0", **_NOTE, "rows": 3},
    {"artifactUpdate": {"artifactId": 3, "parts": []}},
    {"artifactUpdate": {"artifactId": "a", "parts": [{"text": "x"}]}, "rows": 3},
    {"jsonrpc": "2.0", **_NOTE, "method": "session/prompt"},
    {"jsonrpc": "2.0", **_NOTE, "params": {"update": 3}},
    _NOTE,
    {"type": "custom_tool_call_output", "output": "x"},
    {"type": "function_call_output", "call_id": 7, "output": "x"},
    {"type": "function_call_output", "call_id": "c", "output": {"a": 1}},
    {"type": "computer_call_output", "call_id": "c", "output": "x"},
    {"type": "mcp_call", "id": "c", "name": "t", "output": "x"},
    {"content_type": "function_result", "id": "c", "result": "x", "rows": 3},
    {"content_type": "message", "role": "user", "items": []},
    {"type": "function_call_result", "callId": 7, "output": "x"},
    {"type": "function_call_result", "callId": "c", "output": "x", "rows": 3},
    {"role": "tool", "content": "x"},
    {"role": "tool", "tool_call_id": "c"},
    {"role": "tool", "tool_call_id": "c", "content": {"a": 1}},
    {"role": "function", "content": "x"},
    {"type": "tool_result", "content": [], "is_error": "no", "tool_use_id": "t"},
    {"name": "GET /users", "response": {"output": "x"}},
    {"id": "1", "name": "f", "response": {"status": 200}},
    {"functionResponse": {"name": "f", "response": "x"}},
    {"toolUseId": "t", "content": "x", "status": "error"},
    {"toolUseId": "t", "content": [], "status": "pending"},
    {"type": "tool", "content": "x", "tool_call_id": None},
    {"lc": 1, "type": "constructor", "id": ["a", "AIMessage"], "kwargs": LANGCHAIN},
    {"type": "tool-result", "output": {"type": "text", "value": "x"}},
    {"type": "tool-look", "toolCallId": "c", "state": "output-error"},
    {"part_kind": "tool-return", "tool_name": "t", "content": "x"},
    {"part_kind": "retry-prompt", "content": 3, "tool_name": "t", "tool_call_id": "c"},
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "x"}]},
    {"invocationId": "i", "author": "a", "content": {"parts": [{"text": "x"}]}},
    {"blocks": [{"block_type": "text", "text": "x"}], "tool_name": "t", "raw_input": {}},
    {"tool_output": {"a": 1}, "tool_name": "t", "tool_id": "c"},
    {"result": "x", "origin": {"tool_name": "t"}, "error": False},
    {"result": "x", "origin": "Oslo", "error": False},
    {"type": "function_result", "call_id": "c"},
    {"content": "x", "name": "t", "call_id": 7},
    {"type": "ToolResult", "name": "t", "result": "x"},
    {"artifactId": "a", "parts": "x"},
    {"toolCallId": "c", "content": [{"type": "content", "content": WORD}]},
    {"toolCallId": "c", "status": "completed"},
    {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "content": "x"},
    {"role": "tool", "id": "m", "toolCallId": "c", "content": 3},
    {"type": "tool_call_response", "response": "x"},
    {"taskId": "t", "status": "working", "createdAt": "w", "lastUpdatedAt": "w", "result": {}},
    {"taskId": "t", "status": "completed", "result": {"content": [WORD]}},
]


def test_near_misses_of_envelopes_are_records() -> None:
    assert [record for record in NEAR_MISSES if result_of(record).envelope is not None] == []


def test_object_of_a_thousand_members_is_not_looked_up_by_each_of_them() -> None:
    record = {f"m{number}": number for number in range(1_000)} | {"type": "tool_result"}
    assert result_of(record).envelope is None


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "document", "source": {"type": "file", "file_id": "f"}}, "[block: document]"),
        (
            {"type": "document", "source": {"type": "file", "file_id": "f"}, "title": "Weather"},
            "Weather",
        ),
        ({"type": "weather", "degrees": 4}, "[block: weather]"),
        (
            {"type": "web_search_result", "title": "W", "url": "https://x.example/w"},
            "W\nhttps://x.example/w",
        ),
    ],
)
def test_block_of_one_provider_is_kept_and_described_in_words(
    block: dict[str, object], words: str
) -> None:
    result = {"type": "tool_result", "tool_use_id": "c", "content": [WORD, block]}
    kept = Provenance(meta={"block": block})
    assert result_of(result, call_id="c").parts == (text("a"), text(words, provenance=kept))


_FILE = {"type": "document", "source": {"type": "file", "file_id": "f"}}
_VIDEO = {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/k.mp4"}}}


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (_FILE, "[block: document]"),
        ({**_FILE, "type": "image"}, "[block: image]"),
        ({**_FILE, "title": "Weather", "citations": {"enabled": True}}, "Weather"),
        ({"type": "container_upload", "file_id": "f"}, "[block: container_upload]"),
        ({"type": "file", "file": {"file_id": "f"}}, "[block: file]"),
        ({"type": "file", "file": {"file_id": "f", "filename": "a.pdf"}}, "a.pdf"),
        ({"type": "input_file", "file_id": "f", "filename": "a.pdf"}, "a.pdf"),
        ({"type": "input_image", "file_id": "f", "detail": "auto"}, "[block: input_image]"),
        ({"video": _VIDEO}, "s3://b/k.mp4"),
        ({"document": {"name": "Weather", **_VIDEO}}, "Weather\ns3://b/k.mp4"),
    ],
)
def test_file_id_of_a_provider_is_described_in_words_without_an_envelope(
    block: dict[str, object], words: str
) -> None:
    part = text(words, provenance=Provenance(meta={"block": block}))
    assert result_of(block).parts == (part,)
    assert result_of([WORD, block]).parts == (text("a"), part)
    assert result_of({"content": [WORD, block]}).parts == (text("a"), part)
    record = {**block, "rows": 3}
    assert result_of(record).parts == (json_part(json.dumps(record, separators=(",", ":"))),)


def test_data_among_the_blocks_of_a_dialect_are_data() -> None:
    result = {"type": "tool_result", "tool_use_id": "c", "content": [WORD, {"degrees": 4}, 4]}
    parts = (text("a"), json_part('{"degrees":4}'), text("4"))
    assert result_of(result, call_id="c").parts == parts
    # A function may return any value.
    output = {"name": "f", "response": {"output": {"type": "weather"}}}
    assert result_of({"functionResponse": output}).parts == (json_part('{"type":"weather"}'),)


def test_other_members_of_a_document_of_anthropic_are_kept() -> None:
    members = {"context": "of a report", "citations": {"enabled": True}}
    source = {"type": "text", "media_type": "text/plain", "data": "Four degrees."}
    document = {"type": "document", "source": source, "title": "Weather", **members}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [document]}
    document_text = text("Four degrees.", provenance=Provenance(name="Weather", meta=members))
    assert result_of(result, call_id="c").parts == (document_text,)


def test_file_of_a2a_is_a_medium_without_its_kind() -> None:
    file = {"bytes": PNG64, "mimeType": "image/png"}
    artifact = {"artifactId": "a", "parts": [{"file": file}]}
    assert result_of(artifact).media == (Medium(PNG, "image/png"),)


def test_metadata_of_a_tool_return_of_pydantic_ai_is_not_content() -> None:
    returned: dict[str, object] = {"return_value": "a cat", "content": None, "tools": None}
    kept = {"metadata": {"k": 1}, "kind": "tool-return", "content_file_digests": []}
    assert result_of(returned | kept) == Result(
        (text("a cat"),), envelope={"dialect": "pydantic-ai", "metadata": {"k": 1}}
    )


def llama_index_output(result: Mapping[str, object], words: str) -> dict[str, object]:
    """Return the output of a tool of LlamaIndex, whose only block is a text."""
    return {
        "blocks": [{"block_type": "text", "text": words}],
        "tool_name": "f",
        "raw_input": {"args": [], "kwargs": {}},
        "raw_output": result,
        "is_error": False,
    }


@pytest.mark.parametrize("flag", ["isError", "is_error"])
def test_output_of_an_mcp_tool_of_llama_index_is_the_mcp_result(flag: str) -> None:
    blocks = [WORD, {"type": "image", "data": PNG64, "mimeType": "image/png"}]
    result = {"meta": None, "content": blocks, "structuredContent": None, flag: True}
    output = llama_index_output(result, "meta=None content=[TextContent(type='text', text='a')]")
    kept = {"dialect": "llama-index", "toolName": "f"}
    opened = result_of(output)
    assert opened == replace(
        result_of(result),
        envelope=kept | {"raw_input": {"args": [], "kwargs": {}}},
        is_error=True,
    )


def test_output_of_llama_index_whose_text_is_not_that_of_its_mcp_result_is_its_text() -> None:
    output = llama_index_output({"content": [WORD], "isError": True}, "b")
    assert (result_of(output).parts, result_of(output).is_error) == ((text("b"),), False)
