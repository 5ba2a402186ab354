from decimal import Decimal
from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import (
    DEEP_TEXT,
    JPEG,
    MP3,
    PDF,
    PNG,
    REFERENCE,
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
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn, TurnCall
from tests.kit import media
from tests.providers.gemini_types import check_gemini

AFTER = "attached after the tool results"
UNSIGNED = {"thoughtSignature": "skip_thought_signature_validator"}
NOTES = b"Milk, bread."


def blob(content: bytes, mime_type: str, **members: str) -> dict[str, Any]:
    return {"inlineData": {"mimeType": mime_type, "data": base64(content), **members}}


def response(
    response: dict[str, Any],
    *parts: dict[str, Any],
    call_id: str = "call_1",
    name: str = "shoot",
) -> dict[str, Any]:
    parts_member = {"parts": list(parts)} if parts else {}
    return {"functionResponse": {"id": call_id, "name": name, "response": response, **parts_member}}


def function_calls(*call_ids: str) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = [
        {"functionCall": {"id": call_id, "name": "shoot", "args": {"at": call_id}}}
        for call_id in call_ids
    ]
    return [calls[0] | UNSIGNED, *calls[1:]]


def from_user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def from_model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


ANSWERS = {
    "one text": (answer(text_item("Done.")), response({"output": "Done."})),
    "several texts": (
        answer(text_item("One."), text_item(""), text_item("Two.")),
        response({"output": "One.\n\nTwo."}),
    ),
    "an object": (answer(data({"n": [1, None]})), response({"n": [1, None]})),
    "an empty object": (answer(data({})), response({})),
    "an object beside a text": (
        answer(text_item("As JSON:"), data({"n": 1})),
        response({"output": 'As JSON:\n\n{"n":1}'}),
    ),
    "null": (answer(data(None)), response({"output": "null"})),
    "an array": (answer(data([1, "a"])), response({"output": '[1,"a"]'})),
    "a deep array": (answer(data(deep())), response({"output": DEEP_TEXT})),
    "nothing": (answer(), response({"output": ""})),
    "an error": (answer(text_item("No file."), is_error=True), response({"error": "No file."})),
    "an error as an object": (
        answer(data({"code": 7}), is_error=True),
        response({"error": '{"code":7}'}),
    ),
    "an error without words": (
        answer(text_item(""), is_error=True),
        response({"error": "[The tool reported an error.]"}),
    ),
    "no id and no name": (
        answer(text_item("Done."), call_id="", name=""),
        response({"output": "Done."}, call_id="x_e3b0c442", name="x_e3b0c442"),
    ),
    "an odd name": (
        answer(text_item("Done."), name="7 up"),
        response({"output": "Done."}, name="x7_up_31c8f626"),
    ),
}


@pytest.mark.parametrize(("turn", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_answer_is_an_object(turn: ResolvedTurn, expected: dict[str, Any]) -> None:
    messages = write_messages("gemini", turn)
    assert messages == [from_user(expected)]
    check_gemini(messages)


def nested(levels: int) -> JsonValue:
    value: JsonValue = {}
    for _ in range(levels - 1):
        value = {"in": value}
    return value


AS_TEXT = {
    "a reference": {"image": {"$ref": "a.png"}},
    "a reference at any depth": {"a": [{"b": [{"$ref": 1}]}]},
    "what the service reads as the output": {"output": 1, "log": "a"},
    "what the service reads as an error": {"error": None},
    "too many levels": nested(25),
    "more levels than can be walked in calls": {"in": deep()},
    "a number that a double rounds": {"id": 2**53 + 1},
    "a number below": {"id": -(2**70)},
    "a number of many digits": {"id": Decimal("9" * 5_000)},
}


@pytest.mark.parametrize("value", AS_TEXT.values(), ids=AS_TEXT)
def test_ambiguous_object_is_sent_as_text(value: JsonValue) -> None:
    messages = write_messages("gemini", answer(data(value)))
    assert messages == [from_user(response({"output": json_text(value)}))]
    check_gemini(messages)


AS_OBJECTS = {
    "as many levels as there may be": nested(24),
    "whole numbers of a double": {"id": 2**53, "below": -(2**53), "is": True},
    "a reference that is no key": {"key": "$ref"},
    "an output further in": {"result": {"output": 1, "error": 2}},
}


@pytest.mark.parametrize("value", AS_OBJECTS.values(), ids=AS_OBJECTS)
def test_object_is_the_response_itself(value: JsonValue) -> None:
    messages = write_messages("gemini", answer(data(value)))
    assert messages == [from_user(response(value))]
    check_gemini(messages)


HELD = {
    "an image": (
        media_item(PNG, "image/png", "a.png"),
        blob(PNG, "image/png", displayName="a.png"),
    ),
    "an image of a type in another spelling": (
        media_item(JPEG, "image/jpg"),
        blob(JPEG, "image/jpeg"),
    ),
    "a WebP image": (media_item(media.webp(), "image/webp"), blob(media.webp(), "image/webp")),
    "a document": (
        media_item(PDF, "application/pdf", "a\n報告.pdf"),
        blob(PDF, "application/pdf", displayName="a\\n報告.pdf"),
    ),
    "a text file": (media_item(NOTES, "text/plain"), blob(NOTES, "text/plain")),
    "a reference": (
        media_item(PNG, "image/png", address=REFERENCE, is_reference=True),
        {"inlineData": {"mimeType": "image/png", "data": REFERENCE}},
    ),
}


@pytest.mark.parametrize(("medium", "expected"), HELD.values(), ids=HELD)
@pytest.mark.parametrize("is_error", [False, True])
def test_answer_holds_images_and_documents(
    medium: MediaItem, expected: dict[str, Any], is_error: bool
) -> None:
    messages = write_messages("gemini", answer(text_item("Here."), medium, is_error=is_error))
    words = {"error" if is_error else "output": "Here."}
    assert messages == [from_user(response(words, expected))]
    check_gemini(messages)


def test_media_of_one_name_are_not_referenced_by_it() -> None:
    image, file = media_item(PNG, "image/png", "a"), media_item(PDF, "application/pdf", "a")
    messages = write_messages("gemini", answer(image, file))
    parts = (blob(PNG, "image/png", displayName="a"), blob(PDF, "application/pdf"))
    assert messages == [from_user(response({"output": ""}, *parts))]
    check_gemini(messages)


def test_audio_and_video_follow_all_answers_of_the_turn() -> None:
    clip = media.mp4(0.2)
    sound, video = media_item(MP3, "audio/mpeg", "a.mp3"), media_item(clip, "video/mp4")
    messages = write_messages(
        "gemini",
        turn("user", text_item("Shoot.")),
        calling("a", "b", text="Two at once."),
        answer(
            text_item("First:"), sound, media_item(PNG, "image/png"), text_item("."), call_id="a"
        ),
        answer(video, call_id="b", is_error=True),
        turn("user", text_item("And?")),
    )
    sound_words = f"Audio: a.mp3 ({size(MP3)})"
    video_text = f"Video: video/mp4 ({size(clip)})"
    output = {"output": f"First:\n\n[{sound_words}, {AFTER}]\n\n."}
    assert messages == [
        from_user({"text": "Shoot."}),
        from_model({"text": "Two at once."}, *function_calls("a", "b")),
        from_user(
            response(output, blob(PNG, "image/png"), call_id="a"),
            response({"error": f"[{video_text}, {AFTER}]"}, call_id="b"),
            {"text": f"{sound_words}, from the tool shoot, call a:"},
            blob(MP3, "audio/mpeg"),
            {"text": f"{video_text}, from the tool shoot, call b:"},
            blob(clip, "video/mp4"),
        ),
        from_user({"text": "And?"}),
    ]
    check_gemini(messages)


def test_media_of_the_user_keep_their_place() -> None:
    items = (
        text_item("Look:"),
        media_item(PNG, "image/png", "a.png"),
        text_item("and listen:"),
        media_item(MP3, "audio/mpeg", "a.mp3"),
        data({"n": 1}),
    )
    messages = write_messages("gemini", turn("user", *items))
    assert messages == [
        from_user(
            {"text": "Look:"},
            blob(PNG, "image/png"),
            {"text": "and listen:"},
            blob(MP3, "audio/mpeg"),
            {"text": '{"n":1}'},
        )
    ]
    check_gemini(messages)


def test_empty_turns_have_no_content() -> None:
    messages = write_messages(
        "gemini",
        turn("user", text_item("One.")),
        turn("user", text_item(" ")),
        turn("assistant"),
        turn("assistant", text_item(""), calls=(TurnCall("a/1", "", {"$ref": 1}),)),
        answer(call_id="a/1", name=""),
        turn("assistant", text_item("Done.")),
    )
    # An object that contains a reference is not sent unchanged.
    arguments = {"json": '{"$ref":1}'}
    call = {"id": "a_1_773232ab", "name": "x_e3b0c442", "args": arguments}
    assert messages == [
        from_user({"text": "One."}),
        from_model({"functionCall": call} | UNSIGNED),
        from_user(response({"output": ""}, call_id="a_1_773232ab", name="x_e3b0c442")),
        from_model({"text": "Done."}),
    ]
    check_gemini(messages)
