"""Interactions as turns: what was asked, with files, and what was answered."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from app.models.stored_interaction import StoredAnswer, StoredInteraction
from app.services.renders.interaction_turns import (
    find_attached_ids,
    read_answer_turn,
    read_interaction_turns,
)
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import Item, Medium, StoredBytes, TextItem, Turn
from pagefault_dialects.model.resource import MediaHints, Resource

ID, GONE = "0c8e6cc1ab1f4d34b4a5a0e21f7d6c15", "ff" * 16
NOW = datetime(2026, 11, 21, tzinfo=UTC)
ORIGIN = "/api/sessions/s/messages/3"
VIDEO = Resource(ID, "ab" * 32, "video/mp4", "a.mp4", 5_000, "video", MediaHints(8, 6, 2.5), NOW)


def as_text(value: JsonValue, pointer: str) -> list[Item]:
    return [TextItem(pointer, value if isinstance(value, str) else json_text(value))]


def interaction(
    value: object, kind: str, output: dict[str, Any] | None = None, answer_seq: int | None = None
) -> StoredInteraction:
    return StoredInteraction(
        interaction_id="i",
        session_id="s",
        seq=3,
        input_kind=kind,  # type: ignore[arg-type]
        timestamp="2026-11-21T00:00:00Z",
        created_at=NOW,
        input=json.dumps(value).encode(),
        output=None if output is None else json.dumps(output).encode(),
        answer_seq=answer_seq,
    )


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("Hi.", "text", "Hi."),
        ("", "text", ""),
        ({"q": "a", "n": [1.10, 2]}, "dict", '{"q":"a","n":[1.1,2]}'),
    ],
)
def test_what_was_asked_is_a_turn_of_the_user(value: object, kind: str, text: str) -> None:
    assert read_interaction_turns(interaction(value, kind), {}, origin=ORIGIN, read=as_text) == [
        Turn("user", (TextItem("/interaction/input", text),), ORIGIN, 3)
    ]


def test_texts_and_files_stand_as_they_were_sent() -> None:
    parts = [
        {"text": "Look.", "attachments": [{"id": f"blob:{ID}"}, {"id": GONE}]},
        {"text": None, "attachments": [{"id": ID, "mime_type": "image/png"}]},
        {},
    ]
    entry = interaction({"parts": parts}, "multimodal")
    at = "/interaction/input/parts"

    def video(pointer: str) -> Medium:
        return Medium(
            pointer,
            StoredBytes(ID, "ab" * 32),
            "video",
            "video/mp4",
            "a.mp4",
            5_000,
            MediaHints(8, 6, 2.5),
        )

    assert find_attached_ids(entry) == {ID, GONE}
    assert read_interaction_turns(entry, {ID: VIDEO}, origin=ORIGIN, read=as_text) == [
        Turn(
            "user",
            (
                TextItem(f"{at}/0/text", "Look."),
                video(f"{at}/0/attachments/0"),
                TextItem(f"{at}/0/attachments/1", f"[File: {GONE}, which is no longer there]"),
                video(f"{at}/1/attachments/0"),
            ),
            ORIGIN,
            3,
        )
    ]


def test_only_rich_inputs_attach_anything() -> None:
    assert find_attached_ids(interaction(f"blob:{ID}", "text")) == set()
    assert find_attached_ids(interaction({"parts": 5}, "dict")) == set()


def test_an_answer_that_came_along_is_a_turn_behind_it() -> None:
    output = {"role": "assistant", "content": "Hello.", "timestamp": "2026-11-21T00:00:00Z"}
    entry = interaction("Hi.", "text", output)
    assert read_interaction_turns(entry, {}, origin=ORIGIN, read=as_text)[1:] == [
        Turn("assistant", (TextItem("/interaction/output/content", "Hello."),), ORIGIN, 3)
    ]


def test_an_answer_that_came_later_is_an_entry_of_its_own() -> None:
    output = {"role": "tool", "content": "5", "name": "f", "tool_call_id": "c1"}
    entry = interaction("Hi.", "text", output, answer_seq=9)
    assert [
        turn.role for turn in read_interaction_turns(entry, {}, origin=ORIGIN, read=as_text)
    ] == ["user"]
    later = StoredAnswer(9, "i", NOW, json.dumps(output).encode())
    assert read_answer_turn(later, origin="/api/sessions/s/messages/9", read=as_text) == Turn(
        "tool",
        (TextItem("/output/content", "5"),),
        "/api/sessions/s/messages/9",
        9,
        call_id="c1",
        tool_name="f",
    )
