from decimal import Decimal
from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import (
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
from pagefault_dialects.targets.media_lines import ERROR_LINE
from pagefault_dialects.targets.table import TARGETS
from tests.kit.media import mp4
from tests.providers.vercel_types import check_vercel


def vercel(*turns: ResolvedTurn) -> list[Any]:
    messages = write_messages("vercel", *turns)
    check_vercel(messages)
    return messages


def result(output: JsonValue, *, call_id: str = "call_1", name: str = "shoot") -> JsonValue:
    return {"type": "tool-result", "toolCallId": call_id, "toolName": name, "output": output}


def text(value: str) -> JsonValue:
    return {"type": "text", "text": value}


def image_part() -> JsonValue:
    file = {"type": "data", "data": base64(PNG)}
    return {"type": "file", "data": file, "mediaType": "image/png"}


@pytest.mark.parametrize(
    ("answered", "output"),
    [
        (
            answer(text_item("one"), text_item(""), text_item("two")),
            {"type": "text", "value": "one\n\ntwo"},
        ),
        (answer(text_item("no"), is_error=True), {"type": "error-text", "value": "no"}),
        (answer(), {"type": "text", "value": ""}),
        (answer(text_item(""), is_error=True), {"type": "error-text", "value": ""}),
        (answer(text_item(""), data({"n": 1.5})), {"type": "json", "value": {"n": 1.5}}),
        (answer(data([None]), is_error=True), {"type": "error-json", "value": [None]}),
        (answer(data(None)), {"type": "json", "value": None}),
        (answer(data("a")), {"type": "json", "value": "a"}),
        (
            answer(data([2**53 - 1, Decimal("1.10"), True])),
            {"type": "json", "value": [2**53 - 1, Decimal("1.10"), True]},
        ),
        (
            answer(data({"id": -(2**53)}), is_error=True),
            {"type": "error-text", "value": '{"id":-9007199254740992}'},
        ),
        (answer(data(LARGE_NUMBERS)), {"type": "text", "value": LARGE_NUMBERS_TEXT}),
        (answer(data([Decimal("1e400")])), {"type": "text", "value": f"[1{'0' * 400}]"}),
        (
            answer(data(Decimal("0.12345678901234567890"))),
            {"type": "text", "value": "0.12345678901234567890"},
        ),
        (
            answer(text_item("got"), data(LARGE_NUMBERS)),
            {"type": "text", "value": f"got\n\n{LARGE_NUMBERS_TEXT}"},
        ),
        (
            answer(data([1]), data([2]), is_error=True),
            {"type": "error-text", "value": "[1]\n\n[2]"},
        ),
        (
            answer(text_item("look"), text_item(""), media_item(PNG, "image/png"), data([1])),
            {"type": "content", "value": [text("look"), image_part(), text("[1]")]},
        ),
        (
            answer(text_item("no"), media_item(PNG, "image/png"), is_error=True),
            {"type": "content", "value": [text(ERROR_LINE), text("no"), image_part()]},
        ),
    ],
)
def test_output_has_the_most_specific_type(answered: ResolvedTurn, output: JsonValue) -> None:
    assert vercel(answered) == [{"role": "tool", "content": [result(output)]}]


def test_data_may_be_a_thousand_levels_deep() -> None:
    value = deep()
    (message,) = vercel(answer(data(value)))
    assert message["content"][0]["output"]["value"] is value


@pytest.mark.parametrize(
    ("attachment", "part", "output_part"),
    [
        (
            media_item(PNG, "image/png", "Grüße v1.2.png"),
            {
                "type": "file",
                "data": base64(PNG),
                "mediaType": "image/png",
                "filename": "Grüße v1.2.png",
            },
            {
                "type": "file",
                "data": {"type": "data", "data": base64(PNG)},
                "mediaType": "image/png",
                "filename": "Grüße v1.2.png",
            },
        ),
        (
            media_item(WAV, "audio/wav"),
            {"type": "file", "data": base64(WAV), "mediaType": "audio/wav"},
            {
                "type": "file",
                "data": {"type": "data", "data": base64(WAV)},
                "mediaType": "audio/wav",
            },
        ),
        (
            media_item(mp4(), "video/mp4"),
            {"type": "file", "data": base64(mp4()), "mediaType": "video/mp4"},
            {
                "type": "file",
                "data": {"type": "data", "data": base64(mp4())},
                "mediaType": "video/mp4",
            },
        ),
        (
            media_item(b"hello", "text/plain", "x" * 300),
            {
                "type": "file",
                "data": base64(b"hello"),
                "mediaType": "text/plain",
                "filename": "x" * 300,
            },
            {
                "type": "file",
                "data": {"type": "data", "data": base64(b"hello")},
                "mediaType": "text/plain",
                "filename": "x" * 300,
            },
        ),
        (
            media_item(PDF, "application/pdf", "a.pdf", address=URL),
            {"type": "file", "data": URL, "mediaType": "application/pdf", "filename": "a.pdf"},
            {"type": "file-url", "url": URL, "mediaType": "application/pdf"},
        ),
        (
            media_item(PDF, "application/pdf", address=REFERENCE, is_reference=True),
            {"type": "file", "data": REFERENCE, "mediaType": "application/pdf"},
            {
                "type": "file",
                "data": {"type": "data", "data": REFERENCE},
                "mediaType": "application/pdf",
            },
        ),
    ],
)
def test_media_are_files_at_every_place(
    attachment: MediaItem, part: JsonValue, output_part: JsonValue
) -> None:
    turns = [
        turn("user", attachment),
        turn("assistant", text_item("this?"), attachment, calls=calling("call_1").calls),
        answer(attachment),
    ]
    call_part = {
        "type": "tool-call",
        "toolCallId": "call_1",
        "toolName": "shoot",
        "input": {"at": "call_1"},
    }
    assert vercel(*turns) == [
        {"role": "user", "content": [part]},
        {"role": "assistant", "content": [text("this?"), part, call_part]},
        {"role": "tool", "content": [result({"type": "content", "value": [output_part]})]},
    ]


def test_all_answers_to_a_turn_are_one_message() -> None:
    calls = (TurnCall("call_1", "shoot", {"at": 2**70}), TurnCall("call_2", "", {}))
    image = media_item(PNG, "image/png")
    turns = [
        turn("user", text_item("look"), text_item(""), text_item("here")),
        turn("assistant", calls=calls),
        answer(image),
        answer(text_item("no"), call_id="call_2", name="", is_error=True),
        turn("assistant", text_item("Done.")),
        calling("call_3", text="Again."),
        answer(call_id="call_3"),
    ]
    nameless = TARGETS["vercel"].tool_name.fit("")
    made = {"type": "tool-call", "toolCallId": "call_1", "toolName": "shoot"}
    assert vercel(*turns) == [
        {"role": "user", "content": "look\n\nhere"},
        {
            "role": "assistant",
            "content": [
                made | {"input": {"json": '{"at":1180591620717411303424}'}},
                made | {"toolCallId": "call_2", "toolName": nameless, "input": {}},
            ],
        },
        {
            "role": "tool",
            "content": [
                result({"type": "content", "value": [image_part()]}),
                result({"type": "error-text", "value": "no"}, call_id="call_2", name=nameless),
            ],
        },
        {"role": "assistant", "content": "Done."},
        {
            "role": "assistant",
            "content": [
                text("Again."),
                made | {"toolCallId": "call_3", "input": {"at": "call_3"}},
            ],
        },
        {"role": "tool", "content": [result({"type": "text", "value": ""}, call_id="call_3")]},
    ]


def test_empty_turn_has_no_message() -> None:
    assert vercel(turn("user"), turn("assistant", text_item(""))) == []


def test_long_ids_are_the_same_in_a_call_and_its_answer() -> None:
    long = "ü" * 600
    fitted = TARGETS["vercel"].call_id.fit(long)
    calls, answered = vercel(calling(long), answer(call_id=long))
    assert calls["content"][0]["toolCallId"] == fitted
    assert answered["content"] == [result({"type": "text", "value": ""}, call_id=fitted)]
