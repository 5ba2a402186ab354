"""Faults of messages as they were sent, by the rules of the dialect of their history."""

from collections.abc import Sequence
from typing import Any

from pagefault_dialects.dialects.foreign_message import DIALECTS, Dialect, ForeignMessage
from pagefault_dialects.messages.histories import read_history_messages
from pagefault_dialects.messages.message_faults import find_call_faults, find_message_faults
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.targets.rules import make_finding as fault

Json = Any

USER: Json = {"role": "user", "content": "Look."}
HALF = '{"a": "\\ud83d"}'


def read(messages: Json) -> list[ForeignMessage]:
    return read_history_messages(messages) or []


def faults(messages: Json, dialect: Dialect | None) -> list[Finding]:
    return [*find_message_faults(read(messages), dialect)]


def chat_call(arguments: Json = "{}", **more: Json) -> Json:
    call = {"id": "c1", "type": "function", **more}
    call["function"] = {"name": "look", "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def use(*, name: str = "content", **members: Json) -> Json:
    block = {"type": "tool_use", "id": "t1", "name": "look", "input": {}, **members}
    return {"role": "assistant", name: [block]}


def result(call_id: str = "t1") -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "A cat."}


TEXT: Json = {"type": "text", "text": "Look."}


def test_values_that_are_no_messages_and_unknown_roles_are_faults() -> None:
    messages = [USER, None, {"role": "c" * 90, "content": "Hm."}, "Hi."]
    assert faults(messages, None) == [
        fault("not-a-message", "/1"),
        fault("unknown-role", "/2/role", actual=f"{'c' * 79}…"),
        fault("not-a-message", "/3"),
    ]


def test_message_of_another_dialect_than_the_history_is_a_fault() -> None:
    messages = [USER, chat_call(), use()]
    assert faults(messages, "openai-chat") == [
        fault("mixed-dialects", "/2", limit="openai-chat", actual="anthropic")
    ]
    # Calls of MCP sampling have the form of Anthropic's.
    assert faults([USER, use()], "mcp") == []
    assert faults([chat_call()], "mcp") == [
        fault("mixed-dialects", "/0", limit="mcp", actual="openai-chat")
    ]


def test_type_of_a_block_that_is_no_word_is_a_fault() -> None:
    long_type = ["a" * 90]
    blocks: Json = [TEXT, {"type": None}, {"type": ""}, {"type": long_type}, {"a": 1}, "Hi."]
    assert faults([{"role": "user", "content": blocks}], None) == [
        fault("no-type", "/0/content/1/type", actual="null"),
        fault("no-type", "/0/content/2/type", actual='""'),
        fault("no-type", "/0/content/3/type", actual=f'["{"a" * 77}…'),
    ]


def test_medium_without_bytes_is_a_fault_of_its_block() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": ""}
    empty: Json = {"type": "image", "source": source}
    others: Json = [
        {"type": "image", "source": {**source, "data": "iVBORw0K"}},
        {"type": "image", "source": {"type": "url", "data": ""}},
        {"type": "image_url", "image_url": "https://a.example/b,"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}},
    ]
    uris: Json = [
        {"type": "image_url", "image_url": "data:image/png;base64,"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}},
    ]
    images: Json = [{"type": "input_image", "image_url": uris[0]["image_url"]}]
    rows: Sequence[tuple[Json, list[str]]] = [
        ({"role": "user", "content": [*others, *uris]}, ["/0/content/4", "/0/content/5"]),
        ({"role": "user", "content": ["Hm.", empty]}, ["/0/content/1"]),
        (
            {"role": "user", "content": [{**result(), "content": [TEXT, empty]}]},
            ["/0/content/0/content/1"],
        ),
        (
            {"role": "user", "content": [{**result(), "content": "Hm.", "source": source}]},
            ["/0/content/0"],
        ),
        # Of a block that was converted, the whole is named.
        (
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c1",
                        "toolName": "look",
                        "output": {"type": "content", "value": [empty]},
                    }
                ],
            },
            ["/0/content/0"],
        ),
        ({"type": "function_call_output", "call_id": "c1", "output": images}, ["/0"]),
    ]
    assert [faults([message], read([message])[0].dialect) for message, _ in rows] == [
        [fault("unreadable", pointer, actual="no bytes") for pointer in pointers]
        for _, pointers in rows
    ]


def test_calls_without_an_id_are_faults_in_dialects_with_ids() -> None:
    message = ForeignMessage("/0", use(id=""))
    chat = ForeignMessage("/0", chat_call(id=""))
    with_ids = {"openai-chat", "openai-responses", "anthropic", "bedrock"}
    assert {
        dialect: [
            finding
            for finding in find_message_faults([message], dialect)
            if finding.rule == "no-id"
        ]
        for dialect in DIALECTS
    } == {
        dialect: [fault("no-id", "/0/content/0")] if dialect in with_ids else []
        for dialect in DIALECTS
    }
    assert [*find_message_faults([chat], None)] == [fault("no-id", "/0/tool_calls/0")]


ARGUMENTS = "/0/tool_calls/0/function/arguments"


def test_arguments_of_a_listed_call_are_the_json_text_of_an_object() -> None:
    rows: Sequence[tuple[Json, list[Finding]]] = [
        ('{"a": [1.5, null]}', []),
        *(
            (text, [fault("bad-arguments", ARGUMENTS, actual=text, call_id="c1")])
            for text in ("", "look", "[]", '{"a": 1', '{"a": NaN}', '{"a": -Infinity}', "[" * 79)
        ),
        (
            "[" * 9_999,
            [fault("bad-arguments", ARGUMENTS, actual=f"{'[' * 79}…", call_id="c1")],
        ),
        (HALF, [fault("half-surrogate", ARGUMENTS, call_id="c1")]),
        (
            {"a": "é"},
            [fault("unspelled-arguments", ARGUMENTS, actual='{"a": "\\u00e9"}', call_id="c1")],
        ),
        *(
            (value, [fault("bad-arguments", ARGUMENTS, actual=text, call_id="c1")])
            for value, text in ((None, "null"), (7, "7"), (["a"], '["a"]'))
        ),
    ]
    assert [faults([chat_call(arguments)], "openai-chat") for arguments, _ in rows] == [
        found for _, found in rows
    ]


def test_calls_of_custom_tools_have_any_text() -> None:
    custom = {"id": "c1", "type": "custom", "custom": {"name": "py", "input": "1+1"}}
    item = {"type": "custom_tool_call", "call_id": "c1", "name": "py", "input": "1+1"}
    assert faults([{"role": "assistant", "tool_calls": [custom]}], "openai-chat") == []
    assert faults([item], "openai-responses") == []


def test_arguments_are_found_in_the_calls_of_every_dialect() -> None:
    inner: Json = {"name": "look", "args": ["a"]}
    called: Json = {"toolUseId": "c1", "name": "look", "input": "{}"}
    rows: Sequence[tuple[Dialect, Json, list[Finding]]] = [
        (
            "openai-chat",
            {"role": "assistant", "function_call": {"name": "look", "arguments": "{"}},
            [
                fault("no-id", "/0/function_call"),
                fault("bad-arguments", "/0/function_call/arguments", actual="{"),
            ],
        ),
        (
            "openai-responses",
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{"},
            [fault("bad-arguments", "/0/arguments", actual="{", call_id="c1")],
        ),
        (
            "anthropic",
            use(input="{}"),
            [fault("bad-arguments", "/0/content/0/input", actual='"{}"', call_id="t1")],
        ),
        # A text may only be in a member `arguments`.
        (
            "anthropic",
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "look", "arguments": "{}"}],
            },
            [],
        ),
        (
            "anthropic",
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look"}]},
            [fault("bad-arguments", "/0/content/0", actual="null", call_id="t1")],
        ),
        (
            "bedrock",
            {"role": "assistant", "content": [{"text": "I look."}, {"toolUse": called}]},
            [fault("bad-arguments", "/0/content/1/toolUse/input", actual='"{}"', call_id="c1")],
        ),
        (
            "gemini",
            {"role": "model", "parts": [{"functionCall": inner}, {"function_call": inner}]},
            [
                fault("bad-arguments", "/0/parts/0/functionCall/args", actual='["a"]'),
                fault("bad-arguments", "/0/parts/1/function_call/args", actual='["a"]'),
            ],
        ),
        ("gemini", {"role": "model", "parts": [{"functionCall": {"name": "look"}}]}, []),
        (
            "langchain",
            {
                "type": "ai",
                "content": "",
                "tool_calls": [{"id": "c1", "name": "look", "args": "x" * 90}],
            },
            [fault("bad-arguments", "/0/tool_calls/0/args", actual=f'"{"x" * 78}…', call_id="c1")],
        ),
        (
            "vercel",
            {
                "role": "assistant",
                "content": [
                    {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": 7}
                ],
            },
            [fault("bad-arguments", "/0/content/0/input", actual="7", call_id="c1")],
        ),
        # Calls of others than the assistant are none.
        ("anthropic", {"role": "user", "content": use(input=7)["content"]}, []),
    ]
    assert [faults([message], dialect) for dialect, message, _ in rows] == [
        found for _, _, found in rows
    ]


def test_faults_of_calls_are_found_by_the_rules_of_their_own_dialect() -> None:
    messages = read(
        [
            chat_call({"a": 1}),
            use(id=""),
            {"role": "model", "parts": [{"functionCall": {"name": "f"}}]},
        ]
    )
    assert [[*find_call_faults(message)] for message in messages] == [
        [fault("unspelled-arguments", ARGUMENTS, actual='{"a": 1}', call_id="c1")],
        [fault("no-id", "/1/content/0")],
        [],
    ]


def test_arguments_may_be_objects_in_files_and_in_other_dialects() -> None:
    objects = chat_call({"a": 1})
    in_file = [*find_message_faults([ForeignMessage("", objects, has_request_form=False)], None)]
    other = [*find_message_faults([ForeignMessage("", objects, "langchain")], None)]
    assert in_file == []
    assert other == [fault("mixed-dialects", "", actual="langchain")]


def test_list_of_calls_that_is_empty_is_a_fault_in_chat_completions() -> None:
    empty: Json = [{"role": "assistant", "content": "Hm.", "tool_calls": []}]
    assert faults(empty, None) == [fault("empty-calls", "/0/tool_calls", actual="[]")]
    assert faults(empty, "anthropic") == []


def test_system_messages_at_the_beginning_are_faults_if_the_prompt_has_its_own_member() -> None:
    system: Json = [{"role": role, "content": "Be brief."} for role in ("system", "developer")]
    body = {"system": "Be kind.", "messages": [*system, USER, *system]}
    found = [
        fault("system-among-messages", "/messages/0", actual="system"),
        fault("system-among-messages", "/messages/1", actual="developer"),
    ]
    outside = {"anthropic", "gemini", "bedrock", "mcp"}
    assert {
        dialect: [item for item in faults(body, dialect) if item.rule != "same-side-twice"]
        for dialect in DIALECTS
    } == {dialect: found if dialect in outside else [] for dialect in DIALECTS}


def test_results_follow_other_content_only_of_other_messages() -> None:
    late = fault("results-not-first", "/1/content/1", call_id="t1")
    rows: Sequence[tuple[list[Json], list[Finding]]] = [
        ([{"role": "user", "content": [TEXT, result()]}], [late]),
        ([{"role": "user", "content": [result(), TEXT]}], []),
        ([{"role": "user", "content": [None, "", result()]}], []),
        # Consecutive messages of the user are one.
        (
            [USER, {"role": "user", "content": [result()]}],
            [fault("results-not-first", "/2/content/0", call_id="t1")],
        ),
        ([{"role": "user", "content": ""}, {"role": "user", "content": [result()]}], []),
        # The result of another call is a result without a call, or a late one.
        ([{"role": "user", "content": [TEXT, result("t2")]}], []),
        (
            [
                {"role": "user", "content": [result()]},
                use(),
                {"role": "user", "content": [result(), TEXT]},
            ],
            [],
        ),
        (
            [
                {"role": "user", "content": [result()]},
                {"role": "assistant", "content": "Hm."},
                {"role": "user", "content": [TEXT, result()]},
            ],
            [],
        ),
    ]
    found = {
        dialect: [
            [
                item
                for item in find_message_faults(read([use(), *messages]), dialect)
                if item.rule == "results-not-first"
            ]
            for messages, _ in rows
        ]
        for dialect in DIALECTS
    }
    first = [expected for _, expected in rows]
    others: list[Json] = [[] for _ in rows]
    assert found == {
        dialect: first if dialect in ("anthropic", "bedrock") else others for dialect in DIALECTS
    }


def test_sides_alternate_in_bedrock() -> None:
    first, then = ("system", "system", "user", "tool"), ("assistant", "model", "function")
    messages: Json = [
        *({"role": role, "content": "Hm."} for role in first),
        None,
        *({"role": role, "content": "Hm."} for role in (*then, "system", "user", *first[:2])),
    ]
    found = {
        dialect: [item for item in faults(messages, dialect) if item.rule == "same-side-twice"]
        for dialect in DIALECTS
    }
    twice = [
        fault("same-side-twice", "/3", actual="user"),
        fault("same-side-twice", "/6", actual="assistant"),
    ]
    assert found == {dialect: twice if dialect == "bedrock" else [] for dialect in DIALECTS}
