from typing import Any

import pytest

from packages.dialects.tests.targets.settled import (
    DEEP_TEXT,
    JPEG,
    LARGE_NUMBERS,
    LARGE_NUMBERS_TEXT,
    PDF,
    PNG,
    REFERENCE,
    URL,
    answer,
    attached,
    calling,
    data,
    data_uri,
    deep,
    said,
    turn,
    written,
)
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn, TurnCall
from tests.providers.openai_types import check_openai_responses


def told(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def shown(url: str, detail: str = "auto") -> dict[str, Any]:
    return {"type": "input_image", "image_url": url, "detail": detail}


def filed(filename: str, file_data: str = data_uri(PDF, "application/pdf")) -> dict[str, Any]:
    return {"type": "input_file", "filename": filename, "file_data": file_data}


def answered(output: str | list[dict[str, Any]], call_id: str = "call_1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def called(call_id: str) -> dict[str, Any]:
    arguments = f'{{"at":"{call_id}"}}'
    return {"type": "function_call", "call_id": call_id, "name": "shoot", "arguments": arguments}


def message(role: str, content: str | list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


IMAGE = attached(PNG, "image/png", "a.png")
IMAGE_URI = data_uri(PNG, "image/png")

ANSWERS = {
    "one text": ([answer(said("Done."))], [answered("Done.")]),
    "several texts": ([answer(said("One."), said(""), said("Two."))], [answered("One.\n\nTwo.")]),
    "a JSON value": (
        [answer(said("As JSON:"), data(LARGE_NUMBERS))],
        [answered(f"As JSON:\n\n{LARGE_NUMBERS_TEXT}")],
    ),
    "a deep JSON value": ([answer(data(deep()))], [answered(DEEP_TEXT)]),
    "nothing": ([answer()], [answered("")]),
    "an error": (
        [answer(said("[The tool reported an error.]"), said("No file."), is_error=True)],
        [answered("[The tool reported an error.]\n\nNo file.")],
    ),
    "an error with an image": (
        [answer(said("[The tool reported an error.]"), IMAGE, is_error=True)],
        [answered([told("[The tool reported an error.]"), shown(IMAGE_URI)])],
    ),
    "media between words": (
        [answer(said("One."), IMAGE, data([2]), said(""), attached(PDF, "application/pdf"))],
        [answered([told("One."), shown(IMAGE_URI), told("[2]"), filed("file.pdf")])],
    ),
    "no id": ([answer(said("Done."), call_id="")], [answered("Done.", "x_e3b0c442")]),
}


@pytest.mark.parametrize(("turns", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_a_string_or_holds_its_media(
    turns: list[ResolvedTurn], expected: list[Any]
) -> None:
    items = written("openai-responses", *turns)
    assert items == expected
    check_openai_responses(items)


MEDIA = {
    "an image": (attached(JPEG, "image/jpeg"), shown(data_uri(JPEG, "image/jpeg"))),
    "the address of an image": (attached(PNG, "image/png", address=URL), shown(URL)),
    "a reference to an image": (
        attached(PNG, "image/png", address=REFERENCE, is_reference=True),
        shown(REFERENCE),
    ),
    "a document": (attached(PDF, "application/pdf", "a.b.pdf"), filed("a.b.pdf")),
    "a document whose name does not tell its type": (
        attached(PDF, "application/pdf", "報告書.txt"),
        filed("報告書.txt.pdf"),
    ),
    "the address of a document": (
        attached(PDF, "application/pdf", "a.pdf", address=URL),
        {"type": "input_file", "file_url": URL},
    ),
    "a reference to a document": (
        attached(PDF, "application/pdf", "a.pdf", address=REFERENCE, is_reference=True),
        filed("a.pdf", REFERENCE),
    ),
}


@pytest.mark.parametrize(("medium", "block"), MEDIA.values(), ids=MEDIA)
@pytest.mark.parametrize("role", ["tool", "user"])
def test_a_medium_stands_where_it_was_shown(
    role: str, medium: MediaItem, block: dict[str, Any]
) -> None:
    one = answer(said("Look:"), medium) if role == "tool" else turn("user", said("Look:"), medium)
    items = written("openai-responses", one)
    content = [told("Look:"), block]
    assert items == [answered(content) if role == "tool" else message("user", content)]
    check_openai_responses(items)


def test_a_conversation_keeps_its_order() -> None:
    turns = [
        turn("system", said("Be brief.")),
        turn("user", said("Shoot."), said("Twice.")),
        calling("a", "b", text="Wait."),
        answer(IMAGE, call_id="a"),
        answer(said("Two."), call_id="b"),
        turn("assistant", said("")),
        turn("user"),
        calling("c"),
        answer(call_id="c"),
        turn("assistant", said("Done."), data([3])),
    ]
    items = written("openai-responses", *turns)
    assert items == [
        message("system", "Be brief."),
        message("user", "Shoot.\n\nTwice."),
        message("assistant", "Wait."),
        called("a"),
        called("b"),
        answered([shown(IMAGE_URI)], "a"),
        answered("Two.", "b"),
        called("c"),
        answered("", "c"),
        message("assistant", "Done.\n\n[3]"),
    ]
    check_openai_responses(items)
    assert written("openai-responses", *turns[:5]) == items[:7]


def test_odd_ids_and_names_fit_the_same_way_in_calls_and_answers() -> None:
    items = written(
        "openai-responses",
        turn("assistant", calls=(TurnCall("call/1 é", "", LARGE_NUMBERS),)),
        answer(said("Done."), call_id="call/1 é", name=""),
    )
    assert items == [
        {
            "type": "function_call",
            "call_id": items[1]["call_id"],
            "name": "x_e3b0c442",
            "arguments": LARGE_NUMBERS_TEXT,
        },
        answered("Done.", "call_1___4d93186c"),
    ]
    check_openai_responses(items)


def test_images_are_looked_at_as_closely_as_was_asked_for() -> None:
    items = written("openai-responses", answer(IMAGE), detail="low")
    assert items == [answered([shown(IMAGE_URI, "low")])]
