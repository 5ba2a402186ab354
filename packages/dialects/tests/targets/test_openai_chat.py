from typing import Any

import pytest

from packages.dialects.tests.targets.settled import (
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
    attached,
    base64,
    calling,
    data,
    data_uri,
    deep,
    said,
    size,
    turn,
    written,
)
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn, TurnCall
from tests.providers.openai_types import check_openai_chat

AFTER = "attached after the tool messages"
ODD_CALL_ID = "call/1 é"
FITTED_CALL_ID = "call_1___4d93186c"


def told(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def shown(url: str, detail: str = "auto") -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, "detail": detail}}


def filed(filename: str, file_data: str = data_uri(PDF, "application/pdf")) -> dict[str, Any]:
    return {"type": "file", "file": {"filename": filename, "file_data": file_data}}


def answered(content: str, call_id: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def called(*call_ids: str, content: str | None = None) -> dict[str, Any]:
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
    "one text": ([answer(said("Done."))], [answered("Done.")]),
    "several texts": ([answer(said("One."), said(""), said("Two."))], [answered("One.\n\nTwo.")]),
    "a JSON value": (
        [answer(said("As JSON:"), data(LARGE_NUMBERS))],
        [answered(f"As JSON:\n\n{LARGE_NUMBERS_TEXT}")],
    ),
    "a deep JSON value": ([answer(data(deep()))], [answered(DEEP_TEXT)]),
    "null": ([answer(data(None))], [answered("null")]),
    "nothing": ([answer()], [answered("")]),
    "an empty text": ([answer(said(""))], [answered("")]),
    "an error": (
        [answer(said("[The tool reported an error.]"), said("No file."), is_error=True)],
        [answered("[The tool reported an error.]\n\nNo file.")],
    ),
    "no id": ([answer(said("Done."), call_id="")], [answered("Done.", "x_e3b0c442")]),
    "a long id": (
        [answer(said("Done."), call_id="c" * 100)],
        [answered("Done.", "c" * 31 + "_bdcdc9e9")],
    ),
}


@pytest.mark.parametrize(("turns", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_of_words_is_a_tool_message_with_one_string(
    turns: list[ResolvedTurn], expected: list[Any]
) -> None:
    messages = written("openai-chat", *turns)
    assert messages == expected
    check_openai_chat(messages)


MEDIA = {
    "an image": (
        attached(PNG, "image/png", "a.png"),
        f"Image: a.png ({size(PNG)})",
        shown(data_uri(PNG, "image/png")),
    ),
    "an image without a name": (
        attached(JPEG, "image/jpeg"),
        f"Image: image/jpeg ({size(JPEG)})",
        shown(data_uri(JPEG, "image/jpeg")),
    ),
    "the address of an image": (
        attached(PNG, "image/png", "a.png", address=URL),
        f"Image: a.png ({size(PNG)})",
        shown(URL),
    ),
    "a reference to an image": (
        attached(PNG, "image/png", "a.png", address=REFERENCE, is_reference=True),
        f"Image: a.png ({size(PNG)})",
        shown(REFERENCE),
    ),
    "a recording": (
        attached(WAV, "audio/wav", "a.wav"),
        f"Audio: a.wav ({size(WAV)})",
        {"type": "input_audio", "input_audio": {"data": base64(WAV), "format": "wav"}},
    ),
    "a recording in MPEG": (
        attached(MP3, "audio/mpeg", "a.mp3"),
        f"Audio: a.mp3 ({size(MP3)})",
        {"type": "input_audio", "input_audio": {"data": base64(MP3), "format": "mp3"}},
    ),
    "a reference to a recording": (
        attached(MP3, "audio/mpeg", "a.mp3", address=REFERENCE, is_reference=True),
        f"Audio: a.mp3 ({size(MP3)})",
        {"type": "input_audio", "input_audio": {"data": REFERENCE, "format": "mp3"}},
    ),
    "a document": (
        attached(PDF, "application/pdf", "Report 2.1.PDF"),
        f"File: Report 2.1.PDF ({size(PDF)})",
        filed("Report 2.1.PDF"),
    ),
    "a document without a name": (
        attached(PDF, "application/pdf"),
        f"File: application/pdf ({size(PDF)})",
        filed("file.pdf"),
    ),
    "a document whose name does not tell its type": (
        attached(PDF, "application/pdf", "報告書 v2.1"),
        f"File: 報告書 v2.1 ({size(PDF)})",
        filed("報告書 v2.1.pdf"),
    ),
    "a document with a long name": (
        attached(PDF, "application/pdf", "a" * 251 + ".pdf"),
        f"File: {'a' * 251}.pdf ({size(PDF)})",
        filed("a" * 251 + ".pdf"),
    ),
    "a reference to a document": (
        attached(PDF, "application/pdf", "a.pdf", address=REFERENCE, is_reference=True),
        f"File: a.pdf ({size(PDF)})",
        filed("a.pdf", REFERENCE),
    ),
}


@pytest.mark.parametrize(("medium", "words", "block"), MEDIA.values(), ids=MEDIA)
def test_a_medium_of_an_answer_follows_in_a_user_message(
    medium: MediaItem, words: str, block: dict[str, Any]
) -> None:
    messages = written("openai-chat", answer(said("Before."), medium, said("After.")))
    assert messages == [
        answered(f"Before.\n\n[{words}, {AFTER}]\n\nAfter."),
        {"role": "user", "content": [told(f"{words}, from the tool shoot, call call_1:"), block]},
    ]
    check_openai_chat(messages)


@pytest.mark.parametrize(("medium", "words", "block"), MEDIA.values(), ids=MEDIA)
def test_a_medium_of_the_user_stands_where_it_was_shown(
    medium: MediaItem, words: str, block: dict[str, Any]
) -> None:
    messages = written("openai-chat", turn("user", said("Look:"), medium, said(""), data([1])))
    assert messages == [{"role": "user", "content": [told("Look:"), block, told("[1]")]}]
    check_openai_chat(messages)


def test_the_media_of_a_group_follow_after_all_its_tool_messages() -> None:
    image, recording = attached(PNG, "image/png", "a.png"), attached(WAV, "audio/wav")
    messages = written(
        "openai-chat",
        calling("a", "b", "c"),
        answer(image, said("One."), call_id="a"),
        answer(said("Two."), call_id="b"),
        answer(said("[The tool reported an error.]"), recording, image, call_id="c", is_error=True),
        turn("user", said("Go on.")),
    )
    image_words, image_block = f"Image: a.png ({size(PNG)})", shown(data_uri(PNG, "image/png"))
    recording_words = f"Audio: audio/wav ({size(WAV)})"
    assert messages == [
        called("a", "b", "c"),
        answered(f"[{image_words}, {AFTER}]\n\nOne.", "a"),
        answered("Two.", "b"),
        answered(
            "[The tool reported an error.]\n\n"
            f"[{recording_words}, {AFTER}]\n\n[{image_words}, {AFTER}]",
            "c",
        ),
        {
            "role": "user",
            "content": [
                told(f"{image_words}, from the tool shoot, call a:"),
                image_block,
                told(f"{recording_words}, from the tool shoot, call c:"),
                {"type": "input_audio", "input_audio": {"data": base64(WAV), "format": "wav"}},
                told(f"{image_words}, from the tool shoot, call c:"),
                image_block,
            ],
        },
        {"role": "user", "content": "Go on."},
    ]
    check_openai_chat(messages)


def test_what_is_appended_changes_no_earlier_message() -> None:
    turns = [
        turn("system", said("Be brief.")),
        turn("user", said("Shoot.")),
        calling("a"),
        answer(attached(PNG, "image/png"), call_id="a"),
        calling("b", text="Again."),
        answer(attached(PDF, "application/pdf"), call_id="b"),
        turn("assistant", said("Done.")),
    ]
    whole = written("openai-chat", *turns)
    for count in (1, 2, 4, 6):
        messages = written("openai-chat", *turns[:count])
        assert messages == whole[: len(messages)]
        check_openai_chat(messages)


SAID = {
    "words": (
        [turn("system", said("Be brief.")), turn("user", said("Hi."), said("You?"))],
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi.\n\nYou?"},
        ],
    ),
    "words of the assistant": (
        [turn("assistant", said("Hello."), data({"ok": True}))],
        [{"role": "assistant", "content": 'Hello.\n\n{"ok":true}'}],
    ),
    "words and calls": (
        [calling("a", text="Wait."), answer(call_id="a")],
        [called("a", content="Wait."), answered("", "a")],
    ),
    "nothing": (
        [turn("system"), turn("user", said("")), turn("assistant"), turn("user", said("Hi."))],
        [{"role": "user", "content": "Hi."}],
    ),
}


@pytest.mark.parametrize(("turns", "expected"), SAID.values(), ids=SAID)
def test_what_is_said_is_one_string(turns: list[ResolvedTurn], expected: list[Any]) -> None:
    messages = written("openai-chat", *turns)
    assert messages == expected
    check_openai_chat(messages)


def test_odd_ids_and_names_fit_the_same_way_in_calls_answers_and_frames() -> None:
    messages = written(
        "openai-chat",
        turn("assistant", calls=(TurnCall(ODD_CALL_ID, "shoot it!", LARGE_NUMBERS),)),
        answer(attached(PNG, "image/png"), call_id=ODD_CALL_ID, name="shoot\nit!"),
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
        answered(f"[{words}, {AFTER}]", call_id),
        {
            "role": "user",
            "content": [
                told(f"{words}, from the tool shoot\\nit!, call {call_id}:"),
                shown(data_uri(PNG, "image/png")),
            ],
        },
    ]
    check_openai_chat(messages)


def test_images_are_looked_at_as_closely_as_was_asked_for() -> None:
    image = attached(PNG, "image/png")
    messages = written("openai-chat", turn("user", image), detail="high")
    assert messages == [{"role": "user", "content": [shown(data_uri(PNG, "image/png"), "high")]}]
