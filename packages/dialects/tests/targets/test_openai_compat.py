from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import (
    DEEP_TEXT,
    JPEG,
    LARGE_NUMBERS,
    LARGE_NUMBERS_TEXT,
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
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn
from tests.providers.openai_types import check_openai_compat


def text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def image_part(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, "detail": "low"}}


def tool_message(content: str | list[dict[str, Any]], call_id: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


IMAGE = media_item(PNG, "image/png", "a.png")
IMAGE_URI = data_uri(PNG, "image/png")

ANSWERS = {
    "one text": ([answer(text_item("Done."))], [tool_message("Done.")]),
    "several texts": (
        [answer(text_item("One."), text_item(""), text_item("Two."))],
        [tool_message("One.\n\nTwo.")],
    ),
    "a JSON value": (
        [answer(text_item("As JSON:"), data(LARGE_NUMBERS))],
        [tool_message(f"As JSON:\n\n{LARGE_NUMBERS_TEXT}")],
    ),
    "a deep JSON value": ([answer(data(deep()))], [tool_message(DEEP_TEXT)]),
    "nothing": ([answer()], [tool_message("")]),
    "an image": (
        [answer(text_item("Page img_001 (image, FULL):"), IMAGE)],
        [tool_message([text_part("Page img_001 (image, FULL):"), image_part(IMAGE_URI)])],
    ),
    "an image alone": ([answer(text_item(""), IMAGE)], [tool_message([image_part(IMAGE_URI)])]),
    "an image between words": (
        [answer(text_item("One."), IMAGE, data([2]), text_item("Three."))],
        [
            tool_message(
                [text_part("One."), image_part(IMAGE_URI), text_part("[2]"), text_part("Three.")]
            )
        ],
    ),
    "an error": (
        [answer(text_item("[The tool reported an error.]"), text_item("No file."), is_error=True)],
        [tool_message("[The tool reported an error.]\n\nNo file.")],
    ),
    "an error with an image": (
        [answer(text_item("[The tool reported an error.]"), IMAGE, is_error=True)],
        [tool_message([text_part("[The tool reported an error.]"), image_part(IMAGE_URI)])],
    ),
    "no id and no name": (
        [answer(text_item("Done."), call_id="", name="")],
        [tool_message("Done.", "x_e3b0c442")],
    ),
}


@pytest.mark.parametrize(("turns", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_answer_is_a_string_or_holds_its_images(
    turns: list[ResolvedTurn], expected: list[Any]
) -> None:
    messages = write_messages("openai-compat", *turns, detail="low")
    assert messages == expected
    check_openai_compat(messages)


IMAGES = {
    "a JPEG": (media_item(JPEG, "image/jpeg"), data_uri(JPEG, "image/jpeg")),
    "an address": (media_item(PNG, "image/png", address=URL), URL),
    "a reference": (
        media_item(PNG, "image/png", address=REFERENCE, is_reference=True),
        REFERENCE,
    ),
}


@pytest.mark.parametrize(("image", "url"), IMAGES.values(), ids=IMAGES)
@pytest.mark.parametrize("role", ["tool", "user"])
def test_image_is_loaded_from_the_requested_form(role: str, image: MediaItem, url: str) -> None:
    one = answer(image) if role == "tool" else turn("user", image)
    messages = write_messages("openai-compat", one, detail="low")
    content = [image_part(url)]
    assert messages == [
        tool_message(content) if role == "tool" else {"role": "user", "content": content}
    ]
    check_openai_compat(messages)


def test_no_message_is_added_behind_a_group_of_answers() -> None:
    messages = write_messages(
        "openai-compat",
        turn("system", text_item("Be brief.")),
        turn("user", text_item("Shoot."), IMAGE),
        calling("a", "b", text="Wait."),
        answer(IMAGE, call_id="a"),
        answer(text_item("Two."), IMAGE, call_id="b"),
        turn("assistant", text_item("Done.")),
        turn("user", text_item("")),
        detail="low",
    )
    assert messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [text_part("Shoot."), image_part(IMAGE_URI)]},
        {
            "role": "assistant",
            "content": "Wait.",
            "tool_calls": [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": "shoot", "arguments": f'{{"at":"{call_id}"}}'},
                }
                for call_id in ("a", "b")
            ],
        },
        tool_message([image_part(IMAGE_URI)], "a"),
        tool_message([text_part("Two."), image_part(IMAGE_URI)], "b"),
        {"role": "assistant", "content": "Done."},
    ]
    check_openai_compat(messages)
