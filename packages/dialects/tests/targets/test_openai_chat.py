from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import (
    DEEP_TEXT,
    JPEG,
    LARGE_NUMBERS,
    LARGE_NUMBERS_TEXT,
    MP3,
    PDF,
    PNG,
    REFERENCE,
    URL,
    WAV,
    answer,
    base64,
    calling,
    data,
    data_uri,
    deep,
    media_item,
    size,
    text_item,
    turn,
    write_messages,
)
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn, TurnCall
from tests.providers.openai_types import check_openai_chat

AFTER = "attached after the tool messages"
ODD_CALL_ID = "call/1 é"
FITTED_CALL_ID = "call_1___4d93186c"


def text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def image_part(url: str, detail: str = "auto") -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, "detail": detail}}


def file_part(filename: str, file_data: str = data_uri(PDF, "application/pdf")) -> dict[str, Any]:
    return {"type": "file", "file": {"filename": filename, "file_data": file_data}}


def tool_message(content: str, call_id: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def calls_message(*call_ids: str, content: str | None = None) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": "shoot", "arguments": f'{{"at":"{call_id}"}}'},
            }
            for call_id in call_ids
        ],
    }


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
    "null": ([answer(data(None))], [tool_message("null")]),
    "nothing": ([answer()], [tool_message("")]),
    "an empty text": ([answer(text_item(""))], [tool_message("")]),
    "an error": (
        [answer(text_item("[The tool reported an error.]"), text_item("No file."), is_error=True)],
        [tool_message("[The tool reported an error.]\n\nNo file.")],
    ),
    "no id": ([answer(text_item("Done."), call_id="")], [tool_message("Done.", "x_e3b0c442")]),
    "a long id": (
        [answer(text_item("Done."), call_id="c" * 100)],
        [tool_message("Done.", "c" * 31 + "_bdcdc9e9")],
    ),
}


@pytest.mark.parametrize(("turns", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_answer_of_texts_is_a_tool_message_with_one_string(
    turns: list[ResolvedTurn], expected: list[Any]
) -> None:
    messages = write_messages("openai-chat", *turns)
    assert messages == expected
    check_openai_chat(messages)


MEDIA = {
    "an image": (
        media_item(PNG, "image/png", "a.png"),
        f"Image: a.png ({size(PNG)})",
        image_part(data_uri(PNG, "image/png")),
    ),
    "an image without a name": (
        media_item(JPEG, "image/jpeg"),
        f"Image: image/jpeg ({size(JPEG)})",
        image_part(data_uri(JPEG, "image/jpeg")),
    ),
    "the address of an image": (
        media_item(PNG, "image/png", "a.png", address=URL),
        f"Image: a.png ({size(PNG)})",
        image_part(URL),
    ),
    "a reference to an image": (
        media_item(PNG, "image/png", "a.png", address=REFERENCE, is_reference=True),
        f"Image: a.png ({size(PNG)})",
        image_part(REFERENCE),
    ),
    "a recording": (
        media_item(WAV, "audio/wav", "a.wav"),
        f"Audio: a.wav ({size(WAV)})",
        {"type": "input_audio", "input_audio": {"data": base64(WAV), "format": "wav"}},
    ),
    "a recording in MPEG": (
        media_item(MP3, "audio/mpeg", "a.mp3"),
        f"Audio: a.mp3 ({size(MP3)})",
        {"type": "input_audio", "input_audio": {"data": base64(MP3), "format": "mp3"}},
    ),
    "a reference to a recording": (
        media_item(MP3, "audio/mpeg", "a.mp3", address=REFERENCE, is_reference=True),
        f"Audio: a.mp3 ({size(MP3)})",
        {"type": "input_audio", "input_audio": {"data": REFERENCE, "format": "mp3"}},
    ),
    "a document": (
        media_item(PDF, "application/pdf", "Report 2.1.PDF"),
        f"File: Report 2.1.PDF ({size(PDF)})",
        file_part("Report 2.1.PDF"),
    ),
    "a document without a name": (
        media_item(PDF, "application/pdf"),
        f"File: application/pdf ({size(PDF)})",
        file_part("file.pdf"),
    ),
    "a document whose name does not tell its type": (
        media_item(PDF, "application/pdf", "報告書 v2.1"),
        f"File: 報告書 v2.1 ({size(PDF)})",
        file_part("報告書 v2.1.pdf"),
    ),
    "a document with a long name": (
        media_item(PDF, "application/pdf", "a" * 251 + ".pdf"),
        f"File: {'a' * 251}.pdf ({size(PDF)})",
        file_part("a" * 251 + ".pdf"),
    ),
    "a reference to a document": (
        media_item(PDF, "application/pdf", "a.pdf", address=REFERENCE, is_reference=True),
        f"File: a.pdf ({size(PDF)})",
        file_part("a.pdf", REFERENCE),
    ),
}


@pytest.mark.parametrize(("medium", "words", "block"), MEDIA.values(), ids=MEDIA)
def test_medium_of_an_answer_follows_in_a_user_message(
    medium: MediaItem, words: str, block: dict[str, Any]
) -> None:
    messages = write_messages(
        "openai-chat", answer(text_item("Before."), medium, text_item("After."))
    )
    assert messages == [
        tool_message(f"Before.\n\n[{words}, {AFTER}]\n\nAfter."),
        {
            "role": "user",
            "content": [text_part(f"{words}, from the tool shoot, call call_1:"), block],
        },
    ]
    check_openai_chat(messages)


@pytest.mark.parametrize(("medium", "words", "block"), MEDIA.values(), ids=MEDIA)
def test_medium_of_the_user_keeps_its_place(
    medium: MediaItem, words: str, block: dict[str, Any]
) -> None:
    messages = write_messages(
        "openai-chat", turn("user", text_item("Look:"), medium, text_item(""), data([1]))
    )
    assert messages == [{"role": "user", "content": [text_part("Look:"), block, text_part("[1]")]}]
    check_openai_chat(messages)


def test_media_of_a_group_follow_after_all_its_tool_messages() -> None:
    image, recording = media_item(PNG, "image/png", "a.png"), media_item(WAV, "audio/wav")
    messages = write_messages(
        "openai-chat",
        calling("a", "b", "c"),
        answer(image, text_item("One."), call_id="a"),
        answer(text_item("Two."), call_id="b"),
        answer(
            text_item("[The tool reported an error.]"), recording, image, call_id="c", is_error=True
        ),
        turn("user", text_item("Go on.")),
    )
    image_words, image_block = f"Image: a.png ({size(PNG)})", image_part(data_uri(PNG, "image/png"))
    recording_words = f"Audio: audio/wav ({size(WAV)})"
    assert messages == [
        calls_message("a", "b", "c"),
        tool_message(f"[{image_words}, {AFTER}]\n\nOne.", "a"),
        tool_message("Two.", "b"),
        tool_message(
            "[The tool reported an error.]\n\n"
            f"[{recording_words}, {AFTER}]\n\n[{image_words}, {AFTER}]",
            "c",
        ),
        {
            "role": "user",
            "content": [
                text_part(f"{image_words}, from the tool shoot, call a:"),
                image_block,
                text_part(f"{recording_words}, from the tool shoot, call c:"),
                {"type": "input_audio", "input_audio": {"data": base64(WAV), "format": "wav"}},
                text_part(f"{image_words}, from the tool shoot, call c:"),
                image_block,
            ],
        },
        {"role": "user", "content": "Go on."},
    ]
    check_openai_chat(messages)


def test_appended_turns_change_no_earlier_message() -> None:
    turns = [
        turn("system", text_item("Be brief.")),
        turn("user", text_item("Shoot.")),
        calling("a"),
        answer(media_item(PNG, "image/png"), call_id="a"),
        calling("b", text="Again."),
        answer(media_item(PDF, "application/pdf"), call_id="b"),
        turn("assistant", text_item("Done.")),
    ]
    whole = write_messages("openai-chat", *turns)
    for count in (1, 2, 4, 6):
        messages = write_messages("openai-chat", *turns[:count])
        assert messages == whole[: len(messages)]
        check_openai_chat(messages)


SAID = {
    "words": (
        [turn("system", text_item("Be brief.")), turn("user", text_item("Hi."), text_item("You?"))],
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi.\n\nYou?"},
        ],
    ),
    "words of the assistant": (
        [turn("assistant", text_item("Hello."), data({"ok": True}))],
        [{"role": "assistant", "content": 'Hello.\n\n{"ok":true}'}],
    ),
    "words and calls": (
        [calling("a", text="Wait."), answer(call_id="a")],
        [calls_message("a", content="Wait."), tool_message("", "a")],
    ),
    "nothing": (
        [
            turn("system"),
            turn("user", text_item("")),
            turn("assistant"),
            turn("user", text_item("Hi.")),
        ],
        [{"role": "user", "content": "Hi."}],
    ),
}


@pytest.mark.parametrize(("turns", "expected"), SAID.values(), ids=SAID)
def test_message_of_texts_is_one_string(turns: list[ResolvedTurn], expected: list[Any]) -> None:
    messages = write_messages("openai-chat", *turns)
    assert messages == expected
    check_openai_chat(messages)


def test_odd_ids_and_names_fit_the_same_way_in_calls_answers_and_frames() -> None:
    messages = write_messages(
        "openai-chat",
        turn("assistant", calls=(TurnCall(ODD_CALL_ID, "shoot it!", LARGE_NUMBERS),)),
        answer(media_item(PNG, "image/png"), call_id=ODD_CALL_ID, name="shoot\nit!"),
    )
    words = f"Image: image/png ({size(PNG)})"
    call_id = messages[0]["tool_calls"][0]["id"]
    name = messages[0]["tool_calls"][0]["function"]["name"]
    assert (call_id, name) == (FITTED_CALL_ID, "shoot_it__d7923e3a")
    assert messages == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": name, "arguments": LARGE_NUMBERS_TEXT},
                }
            ],
        },
        tool_message(f"[{words}, {AFTER}]", call_id),
        {
            "role": "user",
            "content": [
                text_part(f"{words}, from the tool shoot\\nit!, call {call_id}:"),
                image_part(data_uri(PNG, "image/png")),
            ],
        },
    ]
    check_openai_chat(messages)


def test_images_have_the_requested_detail() -> None:
    image = media_item(PNG, "image/png")
    messages = write_messages("openai-chat", turn("user", image), detail="high")
    assert messages == [
        {"role": "user", "content": [image_part(data_uri(PNG, "image/png"), "high")]}
    ]
