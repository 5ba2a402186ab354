"""Messages of providers: their dialect, near misses, and the call of each answer.

Objects that the packages of providers dump are in `tests/dialects/messages.jsonl`.
"""

import base64
from typing import Any

import pytest

from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.messages.conversation_reading import read_conversation
from pagefault_dialects.messages.entry_reading import join_turns, read_entry, read_entry_turns
from pagefault_dialects.model.conversation import ComposedTurn, InlineBytes, Medium, TextItem
from pagefault_dialects.rendering import render
from pagefault_dialects.turns.pairing import pair_calls

Json = Any

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAQAAAABbAUdZAAAAD0lEQVR42mNYBQQMg5cAAJImVQH6K/hYAAAAAElFTkSu"
    "QmCC"
)
PNG_BYTES = base64.b64decode(PNG)
ASKED: Json = {"role": "user", "content": "How cold is it?"}
CALL = {"type": "function_call", "call_id": "c_1", "name": "look", "arguments": "{}"}


def turns(body: Json) -> list[ComposedTurn]:
    """Return the turns of a conversation, as they were sent."""
    read = read_conversation(body)
    return join_turns(
        (turn, entry.continues_turn)
        for index, (_, _, entry) in enumerate(read.entries)
        for turn in read_entry_turns(
            entry, index + 1, "", {}, audience="assistant", moved_media_ids=frozenset()
        )
    )


def answered(body: Json) -> list[tuple[str, str]]:
    """Return the call, the tool and the text of each answer."""
    rendered = render(pair_calls(turns(body)), "openai-chat").messages
    names = {
        call["id"]: (call["function"]["name"], call["function"]["arguments"])
        for message in rendered
        for call in message.get("tool_calls") or ()
    }
    return [
        ("".join(names[message["tool_call_id"]]), message["content"])
        for message in rendered
        if message["role"] == "tool"
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"rows": 3},
        {"type": "phone_call", "duration": 3},
        {"type": "function_call", "duration": 3},
        {"type": "message", "text": "hi"},
        {"type": "ai", "text": "hi"},
        {"type": "note", "data": {"content": "hi"}},
        {"lc": 1, "type": "constructor", "id": ["Document"], "kwargs": {"page_content": "hi"}},
        {"parts": []},
        {"parts": [{"sku": 1}]},
        {"parts": [{"text": "hi"}], "artifactId": "a"},
        {"kind": "request", "parts": [{"sku": 1}]},
        {"message": "hi"},
        {"message": {"role": "admin", "content": "hi"}},
        {"jsonrpc": "2.0", "id": 1, "method": "initialize"},
        {"content": [{"type": "text", "text": "hi"}]},
        {"role": "user", "rows": 3},
        {"role": "user", "content": 7},
        {"role": 7, "content": "hi"},
        {"choices": []},
        {"candidates": []},
        {"output": []},
    ],
)
def test_near_misses_of_messages_are_refused(value: Json) -> None:
    with pytest.raises(InvalidPayloadError):
        read_entry(value)


@pytest.mark.parametrize(
    ("block", "dialect"),
    [
        ({"type": "input_text", "text": "hi"}, "openai-responses"),
        ({"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}, "openai-chat"),
        ({"type": "file", "file": {"file_id": "f"}}, "openai-chat"),
        ({"type": "search_result", "source": "s", "title": "t", "content": []}, "anthropic"),
        ({"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}, "anthropic"),
        ({"text": "hi"}, "bedrock"),
        ({"cachePoint": {"type": "default"}}, "bedrock"),
        ({"type": "resource_link", "uri": "a:b", "name": "n"}, "mcp"),
        ({"type": "file", "mediaType": "image/png", "data": "https://a.example"}, "vercel"),
    ],
)
def test_block_determines_the_dialect_of_its_message(block: Json, dialect: str) -> None:
    hi = {"type": "text", "text": "hi"}
    assert read_entry({"role": "user", "content": [hi, block]}).dialect == dialect


def test_text_alone_has_the_dialect_of_the_messages_around_it() -> None:
    read = read_conversation([ASKED, {"role": "assistant", "content": [{"text": "Cold."}]}])
    assert [entry.dialect for _, _, entry in read.entries] == ["bedrock", "bedrock"]


def test_blocks_of_several_dialects_in_one_message_are_each_read() -> None:
    use = {"toolUse": {"toolUseId": "t_1", "name": "look", "input": {}}}
    call = {"type": "tool_use", "id": "t_2", "name": "see", "input": {}}
    results: Json = [
        {"toolResult": {"toolUseId": "t_1", "content": [{"text": "one"}]}},
        {"type": "tool_result", "tool_use_id": "t_2", "content": "two"},
    ]
    answer_message = {"role": "assistant", "content": [use, call]}
    body = [ASKED, answer_message, {"role": "user", "content": results}]
    assert answered(body) == [("look{}", "one"), ("see{}", "two")]


def test_call_that_the_provider_ran_is_a_call_and_its_answer() -> None:
    item = {"type": "mcp_call", "id": "m_1", "name": "look", "arguments": "{}", "output": "cold"}
    item["server_label"] = "weather"
    use = {"type": "mcp_tool_use", "id": "m_1", "name": "look", "input": {}, "server_name": "w"}
    result_block = {
        "type": "mcp_tool_result",
        "tool_use_id": "m_1",
        "is_error": False,
        "content": "cold",
    }
    for body in ([ASKED, item], [ASKED, {"role": "assistant", "content": [use, result_block]}]):
        assert answered(body) == [("look{}", "cold")]


@pytest.mark.parametrize(
    ("call", "output", "expected"),
    [
        (
            {"type": "shell_call", "call_id": "c_1", "action": {"commands": ["ls"]}},
            {
                "type": "shell_call_output",
                "call_id": "c_1",
                "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "timeout"}}],
            },
            ('shell{"action":{"commands":["ls"]}}', "a\n\nb"),
        ),
        (
            {"type": "local_shell_call", "id": "l", "call_id": "c_1", "action": {"type": "exec"}},
            {"type": "local_shell_call_output", "id": "c_1", "output": "a"},
            ('local_shell{"action":{"type":"exec"}}', "a"),
        ),
        (
            {"type": "apply_patch_call", "call_id": "c_1", "operation": {"type": "delete_file"}},
            {"type": "apply_patch_call_output", "call_id": "c_1", "status": "completed"},
            ('apply_patch{"operation":{"type":"delete_file"}}', ""),
        ),
        (
            {"type": "custom_tool_call", "call_id": "c_1", "name": "py", "input": "1+1"},
            {"type": "custom_tool_call_output", "call_id": "c_1", "output": "2"},
            ('py{"input":"1+1"}', "2"),
        ),
        (
            {"type": "program", "id": "p", "call_id": "c_1", "code": "1+1", "fingerprint": "f"},
            {"type": "program_output", "id": "o", "call_id": "c_1", "result": "2"},
            ('program{"code":"1+1"}', "2"),
        ),
    ],
)
def test_calls_of_tools_that_openai_defines_have_their_answers(
    call: Json, output: Json, expected: tuple[str, str]
) -> None:
    name, text = answered([ASKED, call, output])[0]
    assert (name, text.removeprefix("[The tool returned nothing.]")) == expected


def test_items_of_one_turn_are_one_turn() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    second = {**CALL, "call_id": "c_2"}
    read = turns([ASKED, thought, CALL, second])
    assert [(turn.role, [call.call_id for call in turn.calls]) for turn in read] == [
        ("user", []),
        ("assistant", ["c_1", "c_2"]),
    ]


def _calls(*names: str) -> Json:
    calls = [
        {"id": "", "type": "function", "function": {"name": name, "arguments": f'{{"n":{index}}}'}}
        for index, name in enumerate(names)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def test_calls_without_ids_are_answered_by_name_and_order() -> None:
    answers = [
        {"role": "tool", "content": "seen", "tool_name": "see"},
        {"role": "tool", "content": "one", "tool_name": "look"},
        {"role": "tool", "content": "two", "tool_name": "look"},
    ]
    assert answered([ASKED, _calls("look", "see", "look"), *answers]) == [
        ('see{"n":1}', "seen"),
        ('look{"n":0}', "one"),
        ('look{"n":2}', "two"),
    ]
    blank = [{"role": "tool", "tool_call_id": "", "content": text} for text in ("one", "two")]
    assert answered([ASKED, _calls("look", "see"), *blank]) == [
        ('look{"n":0}', "one"),
        ('see{"n":1}', "two"),
    ]


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ({"role": "tool", "content": "lost", "tool_name": "look"}, "look"),
        ({"role": "tool", "content": "lost", "tool_call_id": "c_9"}, "unknown_tool"),
        ({"type": "function_call_output", "call_id": "c_9", "output": "lost"}, "unknown_tool"),
        (
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "look", "response": {"output": "lost"}}}],
            },
            "look",
        ),
    ],
)
def test_answer_without_its_call_names_its_tool(answer: Json, name: str) -> None:
    assert answered([ASKED, answer]) == [(f"{name}{{}}", "lost")]


def test_file_of_mistral_is_read_as_one() -> None:
    block = {"type": "document_url", "document_url": "https://a.example/b.pdf"}
    read_turns = turns([{"role": "user", "content": [block]}])
    assert not [item for item in read_turns[0].items if isinstance(item, TextItem)]


@pytest.mark.parametrize("spelled", ["stopReason", "stop_reason"])
def test_answer_of_a_sampling_client_is_mcp(spelled: str) -> None:
    call = {"type": "tool_use", "id": "t_1", "name": "look", "input": {}}
    answer_message = {"role": "assistant", "content": [call], "model": "m", spelled: "toolUse"}
    read = read_conversation(answer_message)
    assert (read.dialect, read.continues, [entry.role for _, _, entry in read.entries]) == (
        "mcp",
        True,
        ["assistant"],
    )


def test_stored_picture_of_ollama_is_read_as_a_picture() -> None:
    message = {"role": "user", "content": "What is it?", "images": [PNG]}
    text, picture = turns([message])[0].items
    assert isinstance(picture, Medium)
    assert (text, picture.source) == (TextItem("/content", "What is it?"), InlineBytes(PNG_BYTES))


def test_data_between_the_contents_of_a_return_is_text() -> None:
    binary = {"data": PNG, "media_type": "image/png", "kind": "binary", "identifier": "8f1ad5"}
    part = {
        "tool_name": "look",
        "content": ["It is cold.", {"degrees": 7}, binary],
        "tool_call_id": "c_1",
        "part_kind": "tool-return",
    }
    (turn,) = turns([{"parts": [part], "kind": "request"}])
    items = [
        item.text if isinstance(item, TextItem) else item.source
        for item in turn.items
        if isinstance(item, TextItem | Medium)
    ]
    assert items == ["It is cold.", '{"degrees":7}', InlineBytes(PNG_BYTES)]
    assert len(turn.items) == len(items)


def test_result_of_the_agents_sdk_with_a_new_member_answers_its_call() -> None:
    call = {"type": "function_call", "callId": "c_1", "name": "look", "arguments": "{}"}
    result = {"type": "function_call_result", "callId": "c_1", "name": "look", "output": "Cold."}
    assert answered([ASKED, call, {**result, "checksum": 7}]) == [("look{}", "Cold.")]


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (
            {
                "type": "code_interpreter_call",
                "id": "ci_1",
                "status": "completed",
                "code": "print(41 + 1)",
                "container_id": "cntr_1",
                "outputs": [
                    {"type": "logs", "logs": "42"},
                    {"type": "image", "url": "https://files.example/plot.png"},
                ],
            },
            "print(41 + 1)\n42\nhttps://files.example/plot.png",
        ),
        (
            {
                "type": "web_search_call",
                "id": "ws_1",
                "status": "completed",
                "action": {"type": "search", "query": "cats", "sources": None},
            },
            "[web_search_call: cats]",
        ),
        (
            {
                "type": "server_tool_use",
                "id": "srvtoolu_1",
                "name": "bash_code_execution",
                "input": {"command": "ls -la"},
                "caller": None,
            },
            "[server_tool_use: bash_code_execution]\nls -la",
        ),
        (
            {
                "type": "bash_code_execution_tool_result",
                "tool_use_id": "srvtoolu_1",
                "content": {
                    "type": "bash_code_execution_result",
                    "stdout": "total 7",
                    "stderr": "ls: cannot open /root",
                    "return_code": 2,
                    "content": [{"type": "bash_code_execution_output", "file_id": "file_1"}],
                },
            },
            "total 7\nls: cannot open /root",
        ),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
def test_code_that_a_provider_ran_is_told_to_others(block: Json, text: str) -> None:
    is_item = block["type"].endswith("_call")
    message = block if is_item else {"role": "assistant", "content": [block]}
    rendered = render(turns([ASKED, message]), "openai-chat")
    assert rendered.messages[1:] == [{"role": "assistant", "content": text}]
    assert [entry.code for entry in rendered.loss] == ["no-place"]
