from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import (
    DEEP_TEXT,
    JPEG,
    MP3,
    PDF,
    PNG,
    REFERENCE,
    WAV,
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
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn, TurnCall
from pagefault_dialects.targets.base64_leaves import Node
from pagefault_dialects.targets.bedrock import FORMATS, mark_cached
from pagefault_dialects.targets.profile import MediaClass
from pagefault_dialects.targets.table import TARGETS
from tests.kit import media
from tests.providers.bedrock_types import check_bedrock, messages_shape

AFTER = "attached after the tool results"
CLIP = media.mp4(0.2)
CSV = b"a,b\n1,2\n"


def text_block(text: str) -> dict[str, Any]:
    return {"text": text}


def media_block(kind: str, spelled: str, content: bytes, **members: str) -> dict[str, Any]:
    return {kind: {"format": spelled, "source": {"bytes": base64(content)}, **members}}


# The digits are derived from the place of the document.
DIGITS = "4e5823"


def pdf(name: str, number: str = "") -> dict[str, Any]:
    return media_block("document", "pdf", PDF, name=f"{name} {DIGITS}{number}")


def result(
    *content: dict[str, Any], call_id: str = "call_1", status: str = "success"
) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": call_id, "content": list(content), "status": status}}


def tool_uses(*call_ids: str) -> list[dict[str, Any]]:
    return [
        {"toolUse": {"toolUseId": call_id, "name": "shoot", "input": {"at": call_id}}}
        for call_id in call_ids
    ]


def from_user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def from_assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


ANSWERS = {
    "one text": (answer(text_item("Done.")), result(text_block("Done."))),
    "several texts": (
        answer(text_item("One."), text_item(""), text_item("\n"), text_item("Two.")),
        result(text_block("One."), text_block("Two.")),
    ),
    "an object": (
        answer(text_item("As JSON:"), data({"n": 2**70, "a": [None]})),
        result(text_block("As JSON:"), {"json": {"n": 2**70, "a": [None]}}),
    ),
    "an array": (answer(data([1, "a"])), result(text_block('[1,"a"]'))),
    "null": (answer(data(None)), result(text_block("null"))),
    "a deep array": (answer(data(deep())), result(text_block(DEEP_TEXT))),
    "nothing": (answer(), result()),
    "a blank text": (answer(text_item(" ")), result()),
    "an error": (
        answer(text_item("No file."), data({"code": 7}), is_error=True),
        result(text_block("No file."), {"json": {"code": 7}}, status="error"),
    ),
    "an error without words": (
        answer(text_item(""), is_error=True),
        result(text_block("[The tool reported an error.]"), status="error"),
    ),
    "no id": (
        answer(text_item("Done."), call_id=""),
        result(text_block("Done."), call_id="x_e3b0c442"),
    ),
    "an id of other signs": (
        answer(text_item("Done."), call_id="a.1:b-c"),
        result(text_block("Done."), call_id="a.1:b-c"),
    ),
}


@pytest.mark.parametrize(("turn", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_answer_is_a_tool_result_without_blank_texts(
    turn: ResolvedTurn, expected: dict[str, Any]
) -> None:
    messages = write_messages("bedrock", turn)
    assert messages == [from_user(expected)]
    check_bedrock(messages)


MEDIA = {
    "an image": (media_item(PNG, "image/png", "a.png"), media_block("image", "png", PNG)),
    "an image of a type in another spelling": (
        media_item(JPEG, "image/jpg"),
        media_block("image", "jpeg", JPEG),
    ),
    "a document": (media_item(PDF, "application/pdf", "a.pdf"), pdf("a")),
    "a text file": (
        media_item(CSV, "text/csv", "a_b.csv"),
        media_block("document", "csv", CSV, name=f"a b {DIGITS}"),
    ),
    "a video": (media_item(CLIP, "video/mp4"), media_block("video", "mp4", CLIP)),
    "a reference": (
        media_item(PNG, "image/png", address=REFERENCE, is_reference=True),
        {"image": {"format": "png", "source": {"bytes": REFERENCE}}},
    ),
}


@pytest.mark.parametrize(("medium", "expected"), MEDIA.values(), ids=MEDIA)
@pytest.mark.parametrize("role", ["user", "tool"])
def test_medium_keeps_its_place_among_texts(
    medium: MediaItem, expected: dict[str, Any], role: str
) -> None:
    items = (text_item("Before."), medium, text_item("Behind."))
    blocks = [text_block("Before."), expected, text_block("Behind.")]
    messages = write_messages("bedrock", answer(*items) if role == "tool" else turn("user", *items))
    assert messages == [from_user(result(*blocks)) if role == "tool" else from_user(*blocks)]
    check_bedrock(messages)


def test_media_that_answers_cannot_have_follow_all_answers_of_the_turn() -> None:
    sound = media_item(MP3, "audio/mpeg", "a.mp3")
    image, file = media_item(PNG, "image/png"), media_item(PDF, "application/pdf", "a.pdf")
    messages = write_messages(
        "bedrock",
        turn("user", text_item("Shoot.")),
        calling("a", "b", text="Two at once."),
        answer(text_item("Half."), image, file, call_id="a", is_error=True),
        answer(sound, file, call_id="b"),
        turn("user", text_item("And?"), media_item(WAV, "audio/wav")),
    )
    image_words = f"Image: image/png ({size(PNG)})"
    file_words = f"File: a.pdf ({size(PDF)})"
    sound_words = f"Audio: a.mp3 ({size(MP3)})"
    assert messages == [
        from_user(text_block("Shoot.")),
        from_assistant(text_block("Two at once."), *tool_uses("a", "b")),
        from_user(
            result(
                text_block("Half."),
                text_block(f"[{image_words}, {AFTER}]"),
                text_block(f"[{file_words}, {AFTER}]"),
                call_id="a",
                status="error",
            ),
            result(text_block(f"[{sound_words}, {AFTER}]"), pdf("a", " (2)"), call_id="b"),
            text_block(f"{image_words}, from the tool shoot, call a:"),
            media_block("image", "png", PNG),
            text_block(f"{file_words}, from the tool shoot, call a:"),
            pdf("a"),
            text_block(f"{sound_words}, from the tool shoot, call b:"),
            media_block("audio", "mp3", MP3),
            text_block("And?"),
            media_block("audio", "wav", WAV),
        ),
    ]
    check_bedrock(messages)


@pytest.mark.parametrize("role", ["user", "tool"])
def test_documents_without_words_get_a_text_beside_them(role: str) -> None:
    items = (media_item(PDF, "application/pdf", "a.pdf"), data({}), media_item(PNG, "image/png"))
    line = text_block(f"[File: a.pdf ({size(PDF)}), attached]")
    if role == "tool":
        messages = write_messages("bedrock", answer(*items))
        expected = result(line, pdf("a"), {"json": {}}, media_block("image", "png", PNG))
        assert messages == [from_user(expected)]
    else:
        messages = write_messages("bedrock", turn("user", items[0], items[2]))
        assert messages == [from_user(line, pdf("a"), media_block("image", "png", PNG))]
    check_bedrock(messages)


NAMES = {
    None: "document",
    "": "document",
    "report.pdf": "report",
    "report": "report",
    "annual.report.v2.pdf": "annual report v2",
    "Report 3.5 final": "Report 3 5 final",
    ".pdf": "pdf",
    "a  b__c.pdf": "a b c",
    "x (1) [draft]-2.pdf": "x (1) [draft]-2",
    "R\u00e9sum\u00e9.pdf": "Resume",
    "a \u2013 b\u2026.pdf": "a b",
    "a" * 300 + ".pdf": "a" * 180,
    "b" * 179 + " c.pdf": "b" * 179,
}
NAMES_IN_WORDS = {
    "\u5831\u544a.pdf": "document",
    "\u5831\u544a 2026.pdf": "2026",
    "\u041e\u0442\u0447\u0451\u0442 3.pdf": "3",
    "\u05d3\u05d5\u05f4\u05d7.pdf": "document",
    "\u0662.pdf": "document",
    "\U0001f600.pdf": "document",
    "\ufdfa" * 200: "document",
}


@pytest.mark.parametrize(("filename", "name"), NAMES.items())
def test_document_is_named_in_few_characters(filename: str | None, name: str) -> None:
    file = media_item(PDF, "application/pdf", filename)
    messages = write_messages("bedrock", turn("user", text_item("Look:"), file))
    assert messages == [from_user(text_block("Look:"), pdf(name))]
    check_bedrock(messages)


@pytest.mark.parametrize(("filename", "name"), NAMES_IN_WORDS.items())
def test_invalid_document_name_is_in_the_text_before_the_document(filename: str, name: str) -> None:
    file = media_item(PDF, "application/pdf", filename)
    line = text_block(f'[File: {filename} ({size(PDF)}), attached as "{name} {DIGITS}"]')
    for items in ((text_item("Look:"), file), (file,)):
        messages = write_messages("bedrock", turn("user", *items))
        words = [text_block("Look:")] if len(items) > 1 else []
        assert messages == [from_user(*words, line, pdf(name))]
        check_bedrock(messages)


def test_documents_of_one_invalid_name_have_different_names() -> None:
    files = [media_item(PDF, "application/pdf", "\u5831\u544a.pdf") for _ in range(2)]
    lines = [
        text_block(
            f'[File: \u5831\u544a.pdf ({size(PDF)}), attached as "document {DIGITS}{number}"]'
        )
        for number in ("", " (2)")
    ]
    messages = write_messages("bedrock", answer(*files))
    assert messages == [
        from_user(result(lines[0], pdf("document"), lines[1], pdf("document", " (2)")))
    ]
    check_bedrock(messages)


def test_no_two_documents_of_a_request_have_one_name() -> None:
    named = ["a.pdf", "A.csv.pdf", "a.b.pdf", "a (2).pdf", "A.pdf"]
    files = [media_item(PDF, "application/pdf", name) for name in named]
    turns = [
        turn("user", text_item("Look:"), files[0], files[1]),
        turn("assistant", text_item("Yes.")),
        turn("user", text_item("And:"), files[2]),
        turn("user", text_item("And:"), files[3], files[4]),
    ]
    messages = write_messages("bedrock", *turns)
    assert messages == [
        from_user(text_block("Look:"), pdf("a"), pdf("A csv")),
        from_assistant(text_block("Yes.")),
        from_user(
            text_block("And:"), pdf("a b"), text_block("And:"), pdf("a (2)"), pdf("A", " (2)")
        ),
    ]
    check_bedrock(messages)
    assert write_messages("bedrock", *turns[:3]) == [
        *messages[:2],
        from_user(text_block("And:"), pdf("a b")),
    ]


def test_turns_of_one_role_are_joined_to_one_message() -> None:
    messages = write_messages(
        "bedrock",
        turn("user", text_item("One.")),
        turn("assistant"),
        turn("user", text_item("Two."), text_item("")),
        turn("assistant", text_item(" ")),
        turn("assistant", text_item("Wait."), data({"n": 1})),
        turn("assistant", calls=(TurnCall("a/1", "", {}),)),
        answer(call_id="a/1"),
        turn("assistant", text_item("Done.")),
    )
    call_id = "a_1_773232ab"
    use = {"toolUseId": call_id, "name": "x_e3b0c442", "input": {}}
    assert messages == [
        from_user(text_block("One."), text_block("Two.")),
        from_assistant(text_block("Wait."), text_block('{"n":1}'), {"toolUse": use}),
        from_user(result(call_id=call_id)),
        from_assistant(text_block("Done.")),
    ]
    check_bedrock(messages)


CLASSES: dict[MediaClass, str] = {
    "image": "image",
    "document": "document",
    "audio": "audio",
    "video": "video",
}


@pytest.mark.parametrize(("kind", "member"), CLASSES.items())
def test_every_accepted_type_has_a_format_of_the_service(kind: MediaClass, member: str) -> None:
    block = messages_shape().member.members["content"].member.members[member]
    formats = block.members["format"].enum
    assert set(FORMATS[kind]) == TARGETS["bedrock"].media[kind].types
    assert set(FORMATS[kind].values()) <= set(formats)


def test_mark_for_the_cache_is_the_last_block() -> None:
    one: Node = {"text": "one"}
    mark: Node = {"cachePoint": {"type": "default"}}
    messages: list[dict[str, Node]] = [
        {"role": "user", "content": [one]},
        {"role": "user", "content": []},
        {"role": "user", "content": "one"},
    ]
    marked: list[Node] = [{"role": "user", "content": [*more, mark]} for more in ([one], [])]
    assert [mark_cached(message) for message in messages] == [*marked, messages[2]]
    assert mark_cached("one") == "one"
