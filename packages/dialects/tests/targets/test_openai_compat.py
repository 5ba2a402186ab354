from typing import Any

import pytest

from packages.dialects.tests.targets.settled import (
    DEEP_TEXT,
    JPEG,
    LARGE_NUMBERS,
    LARGE_NUMBERS_TEXT,
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
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn
from tests.providers.openai_types import check_openai_compat


def told(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def shown(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, "detail": "low"}}


def answered(content: str | list[dict[str, Any]], call_id: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


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
    "an image": (
        [answer(said("Page img_001 (image, FULL):"), IMAGE)],
        [answered([told("Page img_001 (image, FULL):"), shown(IMAGE_URI)])],
    ),
    "an image alone": ([answer(said(""), IMAGE)], [answered([shown(IMAGE_URI)])]),
    "an image between words": (
        [answer(said("One."), IMAGE, data([2]), said("Three."))],
        [answered([told("One."), shown(IMAGE_URI), told("[2]"), told("Three.")])],
    ),
    "an error": (
        [answer(said("[The tool reported an error.]"), said("No file."), is_error=True)],
        [answered("[The tool reported an error.]\n\nNo file.")],
    ),
    "an error with an image": (
        [answer(said("[The tool reported an error.]"), IMAGE, is_error=True)],
        [answered([told("[The tool reported an error.]"), shown(IMAGE_URI)])],
    ),
    "no id and no name": (
        [answer(said("Done."), call_id="", name="")],
        [answered("Done.", "x_e3b0c442")],
    ),
}


@pytest.mark.parametrize(("turns", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_a_string_or_holds_its_images(
    turns: list[ResolvedTurn], expected: list[Any]
) -> None:
    messages = written("openai-compat", *turns, detail="low")
    assert messages == expected
    check_openai_compat(messages)


IMAGES = {
    "a JPEG": (attached(JPEG, "image/jpeg"), data_uri(JPEG, "image/jpeg")),
    "an address": (attached(PNG, "image/png", address=URL), URL),
    "a reference": (
        attached(PNG, "image/png", address=REFERENCE, is_reference=True),
        REFERENCE,
    ),
}


@pytest.mark.parametrize(("image", "url"), IMAGES.values(), ids=IMAGES)
@pytest.mark.parametrize("role", ["tool", "user"])
def test_an_image_is_loaded_from_what_was_asked_for(role: str, image: MediaItem, url: str) -> None:
    one = answer(image) if role == "tool" else turn("user", image)
    messages = written("openai-compat", one, detail="low")
    content = [shown(url)]
    assert messages == [
        answered(content) if role == "tool" else {"role": "user", "content": content}
    ]
    check_openai_compat(messages)


def test_no_message_is_added_behind_a_group_of_answers() -> None:
    messages = written(
        "openai-compat",
        turn("system", said("Be brief.")),
        turn("user", said("Shoot."), IMAGE),
        calling("a", "b", text="Wait."),
        answer(IMAGE, call_id="a"),
        answer(said("Two."), IMAGE, call_id="b"),
        turn("assistant", said("Done.")),
        turn("user", said("")),
        detail="low",
    )
    assert messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [told("Shoot."), shown(IMAGE_URI)]},
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
        answered([shown(IMAGE_URI)], "a"),
        answered([told("Two."), shown(IMAGE_URI)], "b"),
        {"role": "assistant", "content": "Done."},
    ]
    check_openai_compat(messages)
