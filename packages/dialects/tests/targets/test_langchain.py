from dataclasses import replace
from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import (
    DEEP_TEXT,
    LARGE_NUMBERS,
    LARGE_NUMBERS_TEXT,
    PDF,
    PNG,
    REFERENCE,
    URL,
    WAV,
    answer,
    base64,
    calling,
    data,
    deep,
    media_item,
    text_item,
    turn,
    write_messages,
)
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn, TurnCall
from pagefault_dialects.targets.table import TARGETS
from tests.kit.media import mp4
from tests.providers.langchain_types import check_langchain


def langchain(*turns: ResolvedTurn) -> list[Any]:
    messages = write_messages("langchain", *turns)
    check_langchain(messages)
    return messages


def result(
    content: JsonValue, *, call_id: str = "call_1", name: str = "shoot", status: str = "success"
) -> JsonValue:
    return {
        "type": "tool",
        "content": content,
        "tool_call_id": call_id,
        "name": name,
        "status": status,
    }


def text(value: str) -> JsonValue:
    return {"type": "text", "text": value}


def test_texts_of_an_answer_are_one_string() -> None:
    assert langchain(answer(text_item("one"), text_item(""), text_item("two"))) == [
        result("one\n\ntwo")
    ]


def test_answer_with_nothing_in_it_is_empty() -> None:
    assert langchain(answer(), answer(text_item(""), call_id="call_2", is_error=True)) == [
        result(""),
        result("", call_id="call_2", status="error"),
    ]


@pytest.mark.parametrize(
    ("value", "written_as"), [(LARGE_NUMBERS, LARGE_NUMBERS_TEXT), (deep(), DEEP_TEXT)]
)
def test_data_is_text(value: JsonValue, written_as: str) -> None:
    assert langchain(answer(text_item("got"), data(value))) == [result(f"got\n\n{written_as}")]


def test_error_may_hold_media() -> None:
    image = media_item(PNG, "image/png")
    assert langchain(answer(text_item("no"), text_item(""), image, is_error=True)) == [
        result(
            [text("no"), {"type": "image", "mime_type": "image/png", "base64": base64(PNG)}],
            status="error",
        )
    ]


@pytest.mark.parametrize(
    ("attachment", "block"),
    [
        (
            media_item(PNG, "image/png"),
            {"type": "image", "mime_type": "image/png", "base64": base64(PNG)},
        ),
        (
            media_item(PNG, "image/png", "Grüße v1.2.png"),
            {
                "type": "image",
                "mime_type": "image/png",
                "base64": base64(PNG),
                "extras": {"filename": "Grüße v1.2.png"},
            },
        ),
        (
            media_item(PNG, "image/png", address=URL),
            {"type": "image", "mime_type": "image/png", "url": URL},
        ),
        (
            media_item(PNG, "image/*", address=URL),
            {"type": "image", "url": URL},
        ),
        (
            media_item(WAV, "audio/wav", address=REFERENCE, is_reference=True),
            {"type": "audio", "mime_type": "audio/wav", "base64": REFERENCE},
        ),
        (
            media_item(mp4(), "video/mp4"),
            {"type": "video", "mime_type": "video/mp4", "base64": base64(mp4())},
        ),
        (
            media_item(PDF, "application/pdf", "x" * 300),
            {
                "type": "file",
                "mime_type": "application/pdf",
                "base64": base64(PDF),
                "extras": {"filename": "x" * 300 + ".pdf"},
            },
        ),
        (
            media_item(PDF, "application/pdf", address=URL),
            {
                "type": "file",
                "mime_type": "application/pdf",
                "url": URL,
                "extras": {"filename": "file.pdf"},
            },
        ),
        (
            media_item(b"hello", "text/plain"),
            {
                "type": "file",
                "mime_type": "text/plain",
                "base64": base64(b"hello"),
                "extras": {"filename": "file.txt"},
            },
        ),
    ],
)
def test_media_are_standard_blocks_at_every_place(attachment: MediaItem, block: JsonValue) -> None:
    turns = [turn("user", attachment), turn("assistant", text_item("this?"), attachment)]
    assert langchain(*turns) == [
        {"type": "human", "content": [block]},
        {"type": "ai", "content": [text("this?"), block]},
    ]
    assert langchain(answer(attachment)) == [result([block])]


def test_conversation_keeps_its_order() -> None:
    image = media_item(PNG, "image/png")
    calls = (TurnCall("call_1", "shoot", {"at": 2**70}), TurnCall("call_2", "", {}))
    turns = [
        turn("system", text_item("Be brief."), text_item("Be kind.")),
        turn("user", text_item("look")),
        turn("assistant", text_item("So be it."), image, calls=calls),
        answer(image),
        answer(image, data({"n": 1}), call_id="call_2", name=""),
        turn("assistant", text_item("Done.")),
    ]
    block = {"type": "image", "mime_type": "image/png", "base64": base64(PNG)}
    nameless = TARGETS["langchain"].tool_name.fit("")
    assert langchain(*turns) == [
        {"type": "system", "content": "Be brief.\n\nBe kind."},
        {"type": "human", "content": "look"},
        {
            "type": "ai",
            "content": [text("So be it."), block],
            "tool_calls": [
                {"name": "shoot", "args": {"at": 2**70}, "id": "call_1", "type": "tool_call"},
                {"name": nameless, "args": {}, "id": "call_2", "type": "tool_call"},
            ],
        },
        result([block]),
        result([block, text('{"n":1}')], call_id="call_2", name=nameless),
        {"type": "ai", "content": "Done."},
    ]


def test_calls_need_no_text() -> None:
    made = {"name": "shoot", "args": {"at": "call_1"}, "id": "call_1", "type": "tool_call"}
    assert langchain(calling("call_1"), answer(text_item("one"))) == [
        {"type": "ai", "content": "", "tool_calls": [made]},
        result("one"),
    ]


def test_arguments_may_be_a_thousand_levels_deep() -> None:
    arguments = {"a": deep()}
    (call,) = calling("call_1").calls
    calling_turn = turn("assistant", calls=(replace(call, arguments=arguments),))
    message, _ = langchain(calling_turn, answer())
    assert message["tool_calls"][0]["args"] is arguments


def test_empty_turn_has_no_message() -> None:
    assert langchain(turn("user"), turn("assistant", text_item("")), turn("system")) == []


def test_long_ids_are_the_same_in_a_call_and_its_answer() -> None:
    long = "ü" * 600
    fitted = TARGETS["langchain"].call_id.fit(long)
    calls, answered = langchain(calling(long), answer(call_id=long))
    assert calls["tool_calls"][0]["id"] == fitted
    assert answered == result("", call_id=fitted)
