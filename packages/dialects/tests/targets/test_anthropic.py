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
    base64,
    calling,
    data,
    deep,
    media_item,
    size,
    text_item,
    turn,
    write_messages,
)
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn, Turn, TurnCall
from pagefault_dialects.targets.anthropic import mark_cached
from pagefault_dialects.targets.base64_leaves import Node
from tests.kit import media
from tests.providers.anthropic_types import check_anthropic

AFTER = "attached after the tool results"
ERROR = {"is_error": True}


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def image_block(content: bytes, mime_type: str = "image/png") -> dict[str, Any]:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": mime_type, "data": base64(content)},
    }


def document_block(source: dict[str, Any] | None = None, **members: str) -> dict[str, Any]:
    inline = {"type": "base64", "media_type": "application/pdf", "data": base64(PDF)}
    return {"type": "document", "source": source or inline, **members}


def result(*content: dict[str, Any], call_id: str = "call_1") -> dict[str, Any]:
    content_member = {"content": list(content)} if content else {}
    return {"type": "tool_result", "tool_use_id": call_id, **content_member}


def calls_message(*call_ids: str, text: str = "") -> dict[str, Any]:
    calls = [
        {"type": "tool_use", "id": call_id, "name": "shoot", "input": {"at": call_id}}
        for call_id in call_ids
    ]
    return {"role": "assistant", "content": [*([text_block(text)] if text else []), *calls]}


def from_user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


ANSWERS = {
    "one text": (answer(text_item("Done.")), result(text_block("Done."))),
    "several texts": (
        answer(text_item("One."), text_item(""), text_item(" \n"), text_item("Two.")),
        result(text_block("One."), text_block("Two.")),
    ),
    "a JSON value": (
        answer(text_item("As JSON:"), data(LARGE_NUMBERS)),
        result(text_block("As JSON:"), text_block(LARGE_NUMBERS_TEXT)),
    ),
    "a deep JSON value": (answer(data(deep())), result(text_block(DEEP_TEXT))),
    "nothing": (answer(), result()),
    "a blank text": (answer(text_item(" ")), result()),
    "an error": (
        answer(text_item("No file."), is_error=True),
        result(text_block("No file.")) | ERROR,
    ),
    "an error without words": (
        answer(text_item(""), is_error=True),
        result(text_block("[The tool reported an error.]")) | ERROR,
    ),
    "no id": (
        answer(text_item("Done."), call_id=""),
        result(text_block("Done."), call_id="x_e3b0c442"),
    ),
    "an odd id": (
        answer(text_item("Done."), call_id="call.1:é"),
        result(text_block("Done."), call_id="call_1___50152744"),
    ),
}


@pytest.mark.parametrize(("turn", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_answer_is_a_tool_result_without_blank_texts(
    turn: ResolvedTurn, expected: dict[str, Any]
) -> None:
    messages = write_messages("anthropic", turn)
    assert messages == [from_user(expected)]
    check_anthropic(messages)


MEDIA = {
    "an image": (media_item(PNG, "image/png", "a.png"), image_block(PNG)),
    "an image of a type in another spelling": (
        media_item(JPEG, "image/jpg"),
        image_block(JPEG, "image/jpeg"),
    ),
    "a moving image": (media_item(media.gif(), "image/gif"), image_block(media.gif(), "image/gif")),
    "the address of an image": (
        media_item(PNG, "image/png", address=URL),
        {"type": "image", "source": {"type": "url", "url": URL}},
    ),
    "a reference to an image": (
        media_item(PNG, "image/png", address=REFERENCE, is_reference=True),
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": REFERENCE},
        },
    ),
    "a document": (media_item(PDF, "application/pdf", "a.b.pdf"), document_block(title="a.b.pdf")),
    "a document without a name": (media_item(PDF, "application/pdf"), document_block()),
    "a document with a blank name": (media_item(PDF, "application/pdf", " "), document_block()),
    "a document with a long name": (
        media_item(PDF, "application/pdf", "報" * 600),
        document_block(title="報" * 500),
    ),
    "the address of a document": (
        media_item(PDF, "application/pdf", "a.pdf", address=URL),
        document_block({"type": "url", "url": URL}, title="a.pdf"),
    ),
    "a reference to a document": (
        media_item(PDF, "application/pdf", "a.pdf", address=REFERENCE, is_reference=True),
        document_block(
            {"type": "base64", "media_type": "application/pdf", "data": REFERENCE},
            title="a.pdf",
        ),
    ),
}


@pytest.mark.parametrize(("medium", "expected"), MEDIA.values(), ids=MEDIA)
def test_medium_keeps_its_place_among_texts(medium: MediaItem, expected: dict[str, Any]) -> None:
    items = (text_item("Before."), medium, text_item("Behind."))
    blocks = [text_block("Before."), expected, text_block("Behind.")]
    messages = write_messages("anthropic", answer(*items), turn("user", *items))
    assert messages == [from_user(result(*blocks)), from_user(*blocks)]
    check_anthropic(messages)


def test_media_of_errors_follow_all_answers_of_the_turn() -> None:
    image, file = media_item(PNG, "image/png", "a.png"), media_item(PDF, "application/pdf")
    messages = write_messages(
        "anthropic",
        turn("user", text_item("Shoot.")),
        calling("a.1", "b", text="Two at once."),
        answer(text_item("Half."), image, file, call_id="a.1", is_error=True),
        answer(image, call_id="b"),
        turn("user", text_item("And?")),
    )
    call_id = "a_1_4a5f06ec"
    image_words = f"Image: a.png ({size(PNG)})"
    file_words = f"File: application/pdf ({size(PDF)})"
    calls = calls_message(call_id, "b", text="Two at once.")
    calls["content"][1]["input"] = {"at": "a.1"}
    failure = result(
        text_block("Half."),
        text_block(f"[{image_words}, {AFTER}]"),
        text_block(f"[{file_words}, {AFTER}]"),
        call_id=call_id,
    )
    assert messages == [
        from_user(text_block("Shoot.")),
        calls,
        from_user(
            failure | ERROR,
            result(image_block(PNG), call_id="b"),
            text_block(f"{image_words}, from the tool shoot, call {call_id}:"),
            image_block(PNG),
            text_block(f"{file_words}, from the tool shoot, call {call_id}:"),
            document_block(),
        ),
        from_user(text_block("And?")),
    ]
    check_anthropic(messages)


def test_empty_turns_have_no_message() -> None:
    messages = write_messages(
        "anthropic",
        turn("user", text_item("One.")),
        turn("user", text_item("Two.")),
        turn("assistant"),
        turn("user", text_item("")),
        turn("assistant", text_item(" "), calls=(TurnCall("a", "", {}),)),
        answer(call_id="a"),
        turn("assistant", text_item("Done."), data({"n": 1})),
    )
    use = {"type": "tool_use", "id": "a", "name": "x_e3b0c442", "input": {}}
    assert messages == [
        from_user(text_block("One.")),
        from_user(text_block("Two.")),
        {"role": "assistant", "content": [use]},
        from_user(result(call_id="a")),
        {"role": "assistant", "content": [text_block("Done."), text_block('{"n":1}')]},
    ]
    check_anthropic(messages)


def test_longer_history_leaves_earlier_messages_as_they_were() -> None:
    turns = [
        turn("user", text_item("Shoot.")),
        calling("a"),
        answer(media_item(PNG, "image/png"), call_id="a", is_error=True),
        turn("user", text_item("Again.")),
        turn("user", text_item("Now.")),
    ]
    whole = write_messages("anthropic", *turns)
    assert [write_messages("anthropic", *turns[:count]) for count in (1, 3, 4)] == [
        whole[:1],
        whole[:3],
        whole[:4],
    ]


def test_call_keeps_its_mark_for_the_cache() -> None:
    mark: JsonObject = {"type": "ephemeral", "ttl": "1h"}
    call = TurnCall("call_1", "shoot", {"at": "call_1"}, cache_control=mark)
    [message] = calls_message("call_1")["content"]
    assert write_messages("anthropic", turn("assistant", calls=(call,))) == [
        {"role": "assistant", "content": [{**message, "cache_control": mark}]}
    ]


def test_only_the_last_block_of_a_message_is_marked_for_the_cache() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    user: dict[str, Any] = {"role": "user"}
    one, two = text_block("one"), text_block("two")
    unmarked: list[Node] = [{**user, "content": []}, {**user, "content": ["x"]}, "x"]
    assert mark_cached({**user, "content": [one, two]}) == {**user, "content": [one, two | mark]}
    assert mark_cached({**user, "content": "one"}) == {**user, "content": [one | mark]}
    assert [mark_cached(message) for message in unmarked] == unmarked


def test_white_space_ends_no_last_message_of_the_assistant() -> None:
    def write_last(last: ResolvedTurn) -> Any:  # noqa: ANN401 - JSON
        return write_messages("anthropic", turn("user", text_item("q ")), last)

    first = {"role": "user", "content": [text_block("q ")]}
    spoken = turn("assistant", text_item("a "), text_item(" b \n"))
    assert [write_last(spoken), write_last(turn("user", text_item("b ")))] == [
        [first, {"role": "assistant", "content": [text_block("a "), text_block(" b")]}],
        [first, {"role": "user", "content": [text_block("b ")]}],
    ]
    message: Node = {"role": "assistant", "content": "a b \n"}
    sent: ResolvedTurn = Turn("assistant", (text_item("a b \n"),), copied_messages=(message,))
    assert write_last(sent) == [first, {"role": "assistant", "content": "a b"}]
