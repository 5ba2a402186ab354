from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import (
    PDF,
    PNG,
    REFERENCE,
    URL,
    WAV,
    answer,
    base64,
    calling,
    data,
    media_item,
    text_item,
    turn,
    write_messages,
)
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.conversation import MediaItem, ResolvedTurn
from pagefault_dialects.targets.media_lines import ERROR_LINE
from tests.providers.vercel_types import check_vercel_6


def vercel_6(*turns: ResolvedTurn) -> list[Any]:
    messages = write_messages("vercel-6", *turns)
    check_vercel_6(messages)
    return messages


@pytest.mark.parametrize(
    ("file", "part"),
    [
        (
            media_item(PNG, "image/png", filename="a.png"),
            {"type": "image-data", "data": base64(PNG), "mediaType": "image/png"},
        ),
        (
            media_item(PNG, "image/png", address=REFERENCE, is_reference=True),
            {"type": "image-data", "data": REFERENCE, "mediaType": "image/png"},
        ),
        (media_item(PNG, "image/png", address=URL), {"type": "image-url", "url": URL}),
        (
            media_item(PDF, "application/pdf", filename="a.pdf"),
            {
                "type": "file-data",
                "data": base64(PDF),
                "mediaType": "application/pdf",
                "filename": "a.pdf",
            },
        ),
        (
            media_item(WAV, "audio/wav"),
            {"type": "file-data", "data": base64(WAV), "mediaType": "audio/wav"},
        ),
        (
            media_item(PDF, "application/pdf", address=URL),
            {"type": "file-url", "url": URL, "mediaType": "application/pdf"},
        ),
    ],
)
def test_files_of_a_tool_have_the_types_of_version_6(file: MediaItem, part: JsonValue) -> None:
    _, answered = vercel_6(calling("call_1"), answer(text_item("a"), file, is_error=True))
    first = {"type": "text", "text": ERROR_LINE}
    output = {"type": "content", "value": [first, {"type": "text", "text": "a"}, part]}
    assert answered["content"][0]["output"] == output


def test_other_messages_are_equal_to_version_7() -> None:
    turns = [
        turn(
            "user",
            text_item("See."),
            media_item(PNG, "image/png"),
            media_item(PDF, "application/pdf"),
        ),
        calling("call_1"),
        answer(data({"n": [1.5, None]})),
        turn("assistant", text_item("A fox.")),
    ]
    assert vercel_6(*turns) == write_messages("vercel", *turns)
