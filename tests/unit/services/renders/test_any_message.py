"""Rules for every message: losses are reported, and no shape is refused."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault_dialects.json.pointers import follow, parse_json_pointer
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    ComposedTurn,
    DataItem,
    Medium,
    Omission,
    StoredBytes,
    TextItem,
)
from pagefault_dialects.model.resource import MediaHints, Resource
from tests.kit.media import b64
from tests.unit.services.renders.stored_messages import (
    NOW,
    WAV,
    answered,
    homeless,
    read,
    said,
    small,
    text,
)

ID = "0c8e6cc1ab1f4d34b4a5a0e21f7d6c15"
REFERENCE = f"@blob:{ID}"
PICTURE = Resource(ID, "ab" * 32, "image/png", None, 5_000, "image", MediaHints(8, 6), NOW)
SHOWN = Medium("", StoredBytes(ID, "ab" * 32), "image", "image/png", None, 5_000, MediaHints(8, 6))

_ROLES = ("system", "developer", "user", "assistant", "model", "tool", "function")
_TYPES = (
    *("text", "input_text", "output_text", "refusal", "image", "image_url", "input_image"),
    *("document", "file", "input_file", "audio", "resource", "search_result", "json"),
    *("tool_use", "tool_call", "tool-call", "function_call", "custom_tool_call"),
    *("tool_result", "tool-result", "function_call_output", "thinking", "reasoning", "unheard"),
)
_NAMES = (
    *("text", "content", "parts", "output", "result", "response", "value", "error", "reason"),
    *("input", "args", "arguments", "name", "title", "context", "source", "data", "url"),
    *("image_url", "file", "refusal", "thinking", "citations", "function", "structuredContent"),
    *("toolUse", "toolResult", "functionCall", "functionResponse", "inlineData", "image"),
    *("document", "json", "call_id", "toolCallId", "providerOptions", "thoughtSignature", "a/b"),
)
_words = st.integers(0, 10**6).map(lambda number: f"~{number}~")
_values = st.recursive(
    _words | st.none() | st.booleans() | st.integers() | st.just(REFERENCE),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.builds(
            lambda kind, members: {**kind, **members},
            st.just({}) | st.sampled_from(_TYPES).map(lambda kind: {"type": kind}),
            st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3),
        )
    ),
    max_leaves=8,
)
_blocks = st.lists(_values, max_size=4)
_messages = st.builds(
    lambda role, content, more: {"role": role, **content, **more},
    st.sampled_from(_ROLES),
    st.builds(lambda name, value: {name: value}, st.sampled_from(["content", "parts"]), _blocks)
    | st.builds(lambda value: {"content": value}, _values),
    st.dictionaries(
        st.sampled_from(
            ["name", "refusal", "tool_calls", "function_call", "audio", "images", "artifact"]
        ),
        _values,
        max_size=2,
    ),
)


def strings(value: JsonValue) -> Iterator[str]:
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict):
            stack += node.values()
        elif isinstance(node, list):
            stack += node


def told(turns: list[ComposedTurn], message: dict[str, Any]) -> Iterator[str]:
    for turn in turns:
        yield turn.call_id
        yield turn.tool_name
        for call in turn.calls:
            yield from (call.call_id, call.name, json_text(call.arguments))
        for item in turn.items:
            if isinstance(item, TextItem):
                yield item.text
            elif isinstance(item, DataItem):
                yield json_text(item.value)
            elif isinstance(item, Omission):
                names = parse_json_pointer(item.pointer)
                assert names is not None
                followed = follow(message, names)
                yield from (item.pointer, json_text(followed.value))
            else:
                assert isinstance(item, Medium), item
                source = item.source
                yield source.url if isinstance(source, Address) else ""
                yield from (item.filename or "", item.words.text if item.words else "")


@pytest.mark.slow
@given(_messages)
def test_every_word_is_told_or_left_out_by_name(message: dict[str, Any]) -> None:
    turns = read(message, resources={ID: PICTURE})
    words = "\n".join(told(turns, message))
    assert [word for word in strings(message) if word.startswith("~") and word not in words] == []


@pytest.mark.slow
@given(_messages)
def test_a_message_is_of_its_entry_and_says_who_speaks(message: dict[str, Any]) -> None:
    turns = read(message)
    assert turns
    assert {(turn.seq, turn.origin) for turn in turns} == {(5, "/api/sessions/s/messages/5")}
    assert not any(turn.calls for turn in turns if turn.role != "assistant")
    assert not any(turn.call_id for turn in turns if turn.role != "tool")


def nested(value: JsonValue, levels: int = 900) -> JsonValue:
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": 5},
        {"role": "user", "content": {"a": 1}},
        {"role": "user", "content": [1, None, "s", [2], True]},
        {"role": "user", "content": [{"type": ["text"], "text": 3}]},
        {"role": "user", "content": [{"type": {"a": 1}}, {}]},
        {"role": "assistant", "tool_calls": ["x", 3, None]},
        {"role": "assistant", "tool_calls": {"a": 1}},
        {"role": "assistant", "tool_calls": [{"function": "f"}, {"function": {"name": [1]}}]},
        {"role": "assistant", "function_call": "f", "audio": "a", "refusal": 3},
        {"role": "tool", "tool_call_id": 7, "name": 4, "content": "x"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": [1], "content": 7}]},
        {"role": "user", "parts": [{"functionResponse": {"response": [1], "parts": "x"}}]},
        {"role": "user", "parts": [{"inlineData": {"data": 5}}, {"inlineData": "x"}]},
        {"role": "user", "content": [{"type": "x", "value": nested("leaf")}]},
        {"role": "user", "content": [{"type": "tool_result", "content": nested({"text": "a"})}]},
        {"role": "user", "content": [{"type": "text", "text": "a"}, nested({"text": "a"})]},
        {"role": "assistant", "content": [{"type": "tool_use", "input": {"a": nested(1)}}]},
        {
            "role": "assistant",
            "tool_calls": [{"function": {"arguments": "[" * 900 + "]" * 900}}],
        },
    ],
    ids=lambda message: json_text(message)[:60],
)
def test_no_shape_is_refused(message: dict[str, Any]) -> None:
    assert read(message)


def test_whole_numbers_of_any_size_stay_what_they_are() -> None:
    digits = "9" * 5_000
    arguments = f'{{"a":{digits}}}'
    (turn,) = read(
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"arguments": arguments}}]}
    )
    assert json_text(turn.calls[0].arguments) == arguments


def test_halves_of_characters_in_arguments_can_be_written() -> None:
    arguments = '{"\\ud800":"\\udc00 \\ud83d\\ude00"}'
    (turn,) = read({"role": "assistant", "tool_calls": [{"function": {"arguments": arguments}}]})
    assert turn.calls[0].arguments == {"\ufffd": "\ufffd \U0001f600"}


def test_ids_that_are_numbers_find_each_other() -> None:
    call = {"id": 7, "function": {"name": "f", "arguments": "{}"}}
    (calling,) = read({"role": "assistant", "tool_calls": [call]})
    (answer,) = read({"role": "user", "content": [{"type": "tool_result", "tool_use_id": 7}]})
    assert (calling.calls[0].call_id, answer.call_id) == ("7", "7")


def test_a_reference_that_is_a_whole_text_is_the_medium() -> None:
    message = {"role": "user", "content": REFERENCE}
    assert read(message, resources={ID: PICTURE}) == [said("user", picture_at("/content"))]
    assert read(message) == [said("user", text("/content", REFERENCE))]


def test_a_reference_among_words_is_words() -> None:
    words = f"see {REFERENCE} there"
    blocks = [{"type": "text", "text": words}, {"type": "text", "text": f"{REFERENCE} too"}]
    assert read({"role": "user", "content": words}, resources={ID: PICTURE}) == [
        said("user", text("/content", words))
    ]
    assert read({"role": "user", "content": blocks}, resources={ID: PICTURE}) == [
        said("user", text("/content/0", words), text("/content/1", f"{REFERENCE} too"))
    ]


def test_a_medium_that_is_no_longer_there_is_its_reference() -> None:
    block = {"type": "image_url", "image_url": {"url": REFERENCE}}
    assert read({"role": "user", "content": [block]}) == [
        said("user", text("/content/0", REFERENCE))
    ]


def test_a_stored_medium_has_the_words_and_the_name_that_the_message_gives_it() -> None:
    block = {
        "type": "image",
        "data": REFERENCE,
        "mimeType": "image/png",
        "name": "cat",
        "_meta": {"caption": "A cat."},
    }
    assert read({"role": "user", "content": [block]}, resources={ID: PICTURE}) == [
        said(
            "user",
            replace(
                picture_at("/content/0"), filename="cat", words=AlternativeText("caption", "A cat.")
            ),
        )
    ]


def test_a_voice_is_a_recording_with_its_transcript() -> None:
    voice = {"id": "audio_1", "data": b64(WAV), "transcript": "Hello.", "expires_at": 1}
    (turn,) = read({"role": "assistant", "content": None, "audio": voice})
    assert turn == said(
        "assistant",
        replace(small("/audio", WAV, "audio/wav"), words=AlternativeText("transcript", "Hello.")),
    )


@pytest.mark.parametrize("block", [{"type": "text", "text": "psst"}, {"type": "image", "data": ""}])
def test_what_is_for_somebody_else_is_left_out(block: dict[str, Any]) -> None:
    message = {"role": "user", "content": [{**block, "annotations": {"audience": ["user"]}}]}
    ((item,),) = [turn.items for turn in read(message)]
    assert isinstance(item, Omission)
    assert item.code == "other-audience"
    ((shown,),) = [turn.items for turn in read(message, audience="user")]
    assert not isinstance(shown, Omission)


def test_nobody_but_an_assistant_calls() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    assert read({"role": "user", "content": [call]}) == [
        said("user", text("/content/0", json_text(call)))
    ]


def test_an_answer_of_a_page_fault_names_its_tool() -> None:
    message = {"role": "tool", "tool_call_id": "c1", "content": "a page"}
    assert read(message, is_page_fault=True) == [
        answered("c1", text("/content", "a page"), name="page_fault")
    ]


def test_the_name_of_a_message_that_only_holds_answers_is_left_out() -> None:
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
    assert read({"role": "tool", "name": "f", "content": [answer]}) == [
        answered("t1", text("/content/0", "x"), homeless("/name", "name"))
    ]


def test_who_has_nothing_to_say_behind_an_answer_does_not_go_on() -> None:
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
    approval = {"type": "tool-approval-response", "approvalId": "a", "approved": True}
    assert read({"role": "user", "content": [answer, approval]}) == [
        answered("t1", text("/content/0", "x"), homeless("/content/1", "tool-approval-response"))
    ]


def picture_at(pointer: str) -> Medium:
    return replace(SHOWN, pointer=pointer)
