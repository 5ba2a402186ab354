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
    base64,
    calling,
    data,
    deep,
    said,
    size,
    turn,
    written,
)
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn, TurnCall
from tests.kit import media
from tests.providers.anthropic_types import check_anthropic

AFTER = "attached after the tool results"
ERROR = {"is_error": True}


def told(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def shown(content: bytes, mime_type: str = "image/png") -> dict[str, Any]:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": mime_type, "data": base64(content)},
    }


def filed(source: dict[str, Any] | None = None, **members: str) -> dict[str, Any]:
    inline = {"type": "base64", "media_type": "application/pdf", "data": base64(PDF)}
    return {"type": "document", "source": source or inline, **members}


def result(*content: dict[str, Any], call_id: str = "call_1") -> dict[str, Any]:
    held = {"content": list(content)} if content else {}
    return {"type": "tool_result", "tool_use_id": call_id, **held}


def called(*call_ids: str, text: str = "") -> dict[str, Any]:
    calls = [
        {"type": "tool_use", "id": call_id, "name": "shoot", "input": {"at": call_id}}
        for call_id in call_ids
    ]
    return {"role": "assistant", "content": [*([told(text)] if text else []), *calls]}


def from_user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


ANSWERS = {
    "one text": (answer(said("Done.")), result(told("Done."))),
    "several texts": (
        answer(said("One."), said(""), said(" \n"), said("Two.")),
        result(told("One."), told("Two.")),
    ),
    "a JSON value": (
        answer(said("As JSON:"), data(LARGE_NUMBERS)),
        result(told("As JSON:"), told(LARGE_NUMBERS_TEXT)),
    ),
    "a deep JSON value": (answer(data(deep())), result(told(DEEP_TEXT))),
    "nothing": (answer(), result()),
    "a blank text": (answer(said(" ")), result()),
    "an error": (answer(said("No file."), is_error=True), result(told("No file.")) | ERROR),
    "an error without words": (
        answer(said(""), is_error=True),
        result(told("[The tool reported an error.]")) | ERROR,
    ),
    "no id": (answer(said("Done."), call_id=""), result(told("Done."), call_id="x_e3b0c442")),
    "an odd id": (
        answer(said("Done."), call_id="call.1:é"),
        result(told("Done."), call_id="call_1___50152744"),
    ),
}


@pytest.mark.parametrize(("turn", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_a_tool_result_without_blank_texts(
    turn: ResolvedTurn, expected: dict[str, Any]
) -> None:
    messages = written("anthropic", turn)
    assert messages == [from_user(expected)]
    check_anthropic(messages)


MEDIA = {
    "an image": (attached(PNG, "image/png", "a.png"), shown(PNG)),
    "an image of a type in another spelling": (
        attached(JPEG, "image/jpg"),
        shown(JPEG, "image/jpeg"),
    ),
    "a moving image": (attached(media.gif(), "image/gif"), shown(media.gif(), "image/gif")),
    "the address of an image": (
        attached(PNG, "image/png", address=URL),
        {"type": "image", "source": {"type": "url", "url": URL}},
    ),
    "a reference to an image": (
        attached(PNG, "image/png", address=REFERENCE, is_reference=True),
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": REFERENCE},
        },
    ),
    "a document": (attached(PDF, "application/pdf", "a.b.pdf"), filed(title="a.b.pdf")),
    "a document without a name": (attached(PDF, "application/pdf"), filed()),
    "a document with a blank name": (attached(PDF, "application/pdf", " "), filed()),
    "a document with a long name": (
        attached(PDF, "application/pdf", "報" * 600),
        filed(title="報" * 500),
    ),
    "the address of a document": (
        attached(PDF, "application/pdf", "a.pdf", address=URL),
        filed({"type": "url", "url": URL}, title="a.pdf"),
    ),
    "a reference to a document": (
        attached(PDF, "application/pdf", "a.pdf", address=REFERENCE, is_reference=True),
        filed(
            {"type": "base64", "media_type": "application/pdf", "data": REFERENCE},
            title="a.pdf",
        ),
    ),
}


@pytest.mark.parametrize(("medium", "expected"), MEDIA.values(), ids=MEDIA)
def test_a_medium_stands_at_its_place(medium: MediaItem, expected: dict[str, Any]) -> None:
    items = (said("Before."), medium, said("Behind."))
    blocks = [told("Before."), expected, told("Behind.")]
    messages = written("anthropic", answer(*items), turn("user", *items))
    assert messages == [from_user(result(*blocks)), from_user(*blocks)]
    check_anthropic(messages)


def test_media_of_errors_stand_behind_all_answers_of_the_turn() -> None:
    image, file = attached(PNG, "image/png", "a.png"), attached(PDF, "application/pdf")
    messages = written(
        "anthropic",
        turn("user", said("Shoot.")),
        calling("a.1", "b", text="Two at once."),
        answer(said("Half."), image, file, call_id="a.1", is_error=True),
        answer(image, call_id="b"),
        turn("user", said("And?")),
    )
    call_id = "a_1_4a5f06ec"
    image_words = f"Image: a.png ({size(PNG)})"
    file_words = f"File: application/pdf ({size(PDF)})"
    calls = called(call_id, "b", text="Two at once.")
    calls["content"][1]["input"] = {"at": "a.1"}
    failure = result(
        told("Half."),
        told(f"[{image_words}, {AFTER}]"),
        told(f"[{file_words}, {AFTER}]"),
        call_id=call_id,
    )
    assert messages == [
        from_user(told("Shoot.")),
        calls,
        from_user(
            failure | ERROR,
            result(shown(PNG), call_id="b"),
            told(f"{image_words}, from the tool shoot, call {call_id}:"),
            shown(PNG),
            told(f"{file_words}, from the tool shoot, call {call_id}:"),
            filed(),
        ),
        from_user(told("And?")),
    ]
    check_anthropic(messages)


def test_turns_in_which_nothing_is_said_have_no_message() -> None:
    messages = written(
        "anthropic",
        turn("user", said("One.")),
        turn("user", said("Two.")),
        turn("assistant"),
        turn("user", said("")),
        turn("assistant", said(" "), calls=(TurnCall("a", "", {}),)),
        answer(call_id="a"),
        turn("assistant", said("Done."), data({"n": 1})),
    )
    use = {"type": "tool_use", "id": "a", "name": "x_e3b0c442", "input": {}}
    assert messages == [
        from_user(told("One.")),
        from_user(told("Two.")),
        {"role": "assistant", "content": [use]},
        from_user(result(call_id="a")),
        {"role": "assistant", "content": [told("Done."), told('{"n":1}')]},
    ]
    check_anthropic(messages)


def test_a_longer_history_leaves_earlier_messages_as_they_were() -> None:
    turns = [
        turn("user", said("Shoot.")),
        calling("a"),
        answer(attached(PNG, "image/png"), call_id="a", is_error=True),
        turn("user", said("Again.")),
        turn("user", said("Now.")),
    ]
    whole = written("anthropic", *turns)
    assert [written("anthropic", *turns[:count]) for count in (1, 3, 4)] == [
        whole[:1],
        whole[:3],
        whole[:4],
    ]
