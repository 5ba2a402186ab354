from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import (
    DEEP_TEXT,
    JPEG,
    LARGE_NUMBERS,
    LARGE_NUMBERS_TEXT,
    PDF,
    PNG,
    REFERENCE,
    URL,
    answer,
    calling,
    data,
    data_uri,
    deep,
    media_item,
    text_item,
    turn,
    write_messages,
)
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn, TurnCall
from tests.providers.openai_types import check_openai_responses


def text_part(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def image_part(url: str, detail: str = "auto") -> dict[str, Any]:
    return {"type": "input_image", "image_url": url, "detail": detail}


def file_part(filename: str, file_data: str = data_uri(PDF, "application/pdf")) -> dict[str, Any]:
    return {"type": "input_file", "filename": filename, "file_data": file_data}


def call_output(output: str | list[dict[str, Any]], call_id: str = "call_1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def call_item(call_id: str) -> dict[str, Any]:
    arguments = f'{{"at":"{call_id}"}}'
    return {"type": "function_call", "call_id": call_id, "name": "shoot", "arguments": arguments}


def message(role: str, content: str | list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


IMAGE = media_item(PNG, "image/png", "a.png")
IMAGE_URI = data_uri(PNG, "image/png")

ANSWERS = {
    "one text": ([answer(text_item("Done."))], [call_output("Done.")]),
    "several texts": (
        [answer(text_item("One."), text_item(""), text_item("Two."))],
        [call_output("One.\n\nTwo.")],
    ),
    "a JSON value": (
        [answer(text_item("As JSON:"), data(LARGE_NUMBERS))],
        [call_output(f"As JSON:\n\n{LARGE_NUMBERS_TEXT}")],
    ),
    "a deep JSON value": ([answer(data(deep()))], [call_output(DEEP_TEXT)]),
    "nothing": ([answer()], [call_output("")]),
    "an error": (
        [answer(text_item("[The tool reported an error.]"), text_item("No file."), is_error=True)],
        [call_output("[The tool reported an error.]\n\nNo file.")],
    ),
    "an error with an image": (
        [answer(text_item("[The tool reported an error.]"), IMAGE, is_error=True)],
        [call_output([text_part("[The tool reported an error.]"), image_part(IMAGE_URI)])],
    ),
    "media between words": (
        [
            answer(
                text_item("One."),
                IMAGE,
                data([2]),
                text_item(""),
                media_item(PDF, "application/pdf"),
            )
        ],
        [
            call_output(
                [text_part("One."), image_part(IMAGE_URI), text_part("[2]"), file_part("file.pdf")]
            )
        ],
    ),
    "no id": ([answer(text_item("Done."), call_id="")], [call_output("Done.", "x_e3b0c442")]),
}


@pytest.mark.parametrize(("turns", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_answer_is_a_string_or_holds_its_media(
    turns: list[ResolvedTurn], expected: list[Any]
) -> None:
    items = write_messages("openai-responses", *turns)
    assert items == expected
    check_openai_responses(items)


MEDIA = {
    "an image": (media_item(JPEG, "image/jpeg"), image_part(data_uri(JPEG, "image/jpeg"))),
    "the address of an image": (media_item(PNG, "image/png", address=URL), image_part(URL)),
    "a reference to an image": (
        media_item(PNG, "image/png", address=REFERENCE, is_reference=True),
        image_part(REFERENCE),
    ),
    "a document": (media_item(PDF, "application/pdf", "a.b.pdf"), file_part("a.b.pdf")),
    "a document whose name does not tell its type": (
        media_item(PDF, "application/pdf", "報告書.txt"),
        file_part("報告書.txt.pdf"),
    ),
    "the address of a document": (
        media_item(PDF, "application/pdf", "a.pdf", address=URL),
        {"type": "input_file", "file_url": URL},
    ),
    "a reference to a document": (
        media_item(PDF, "application/pdf", "a.pdf", address=REFERENCE, is_reference=True),
        file_part("a.pdf", REFERENCE),
    ),
}


@pytest.mark.parametrize(("medium", "block"), MEDIA.values(), ids=MEDIA)
@pytest.mark.parametrize("role", ["tool", "user"])
def test_medium_keeps_its_place(role: str, medium: MediaItem, block: dict[str, Any]) -> None:
    one = (
        answer(text_item("Look:"), medium)
        if role == "tool"
        else turn("user", text_item("Look:"), medium)
    )
    items = write_messages("openai-responses", one)
    content = [text_part("Look:"), block]
    assert items == [call_output(content) if role == "tool" else message("user", content)]
    check_openai_responses(items)


def test_conversation_keeps_its_order() -> None:
    turns = [
        turn("system", text_item("Be brief.")),
        turn("user", text_item("Shoot."), text_item("Twice.")),
        calling("a", "b", text="Wait."),
        answer(IMAGE, call_id="a"),
        answer(text_item("Two."), call_id="b"),
        turn("assistant", text_item("")),
        turn("user"),
        calling("c"),
        answer(call_id="c"),
        turn("assistant", text_item("Done."), data([3])),
    ]
    items = write_messages("openai-responses", *turns)
    assert items == [
        message("system", "Be brief."),
        message("user", "Shoot.\n\nTwice."),
        message("assistant", "Wait."),
        call_item("a"),
        call_item("b"),
        call_output([image_part(IMAGE_URI)], "a"),
        call_output("Two.", "b"),
        call_item("c"),
        call_output("", "c"),
        message("assistant", "Done.\n\n[3]"),
    ]
    check_openai_responses(items)
    assert write_messages("openai-responses", *turns[:5]) == items[:7]


def test_odd_ids_and_names_fit_the_same_way_in_calls_and_answers() -> None:
    items = write_messages(
        "openai-responses",
        turn("assistant", calls=(TurnCall("call/1 é", "", LARGE_NUMBERS),)),
        answer(text_item("Done."), call_id="call/1 é", name=""),
    )
    assert items == [
        {
            "type": "function_call",
            "call_id": items[1]["call_id"],
            "name": "x_e3b0c442",
            "arguments": LARGE_NUMBERS_TEXT,
        },
        call_output("Done.", "call_1___4d93186c"),
    ]
    check_openai_responses(items)


def test_images_have_the_requested_detail() -> None:
    items = write_messages("openai-responses", answer(IMAGE), detail="low")
    assert items == [call_output([image_part(IMAGE_URI, "low")])]
