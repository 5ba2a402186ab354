"""The name and the address of a text are a line before it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from packages.dialects.tests.targets.histories import strings_of
from pagefault_dialects import TARGETS, read_messages, render
from pagefault_dialects.messages.entry_reading import read_entry, read_entry_turns
from pagefault_dialects.messages.message_turns import MessageEntry, make_message_turns
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.turns.record_turns import make_tool_result_turn

PROD, DEV = "file:///srv/prod/app.env", "file:///srv/dev/app.env"
LINKED = "app.env\nfile:///srv/prod/app.env\ntext/plain"


def result(*parts: dict[str, Any]) -> ComposedTurn:
    record = {
        "parts": [{"type": "text", **part} for part in parts],
        "resources": [],
        "meta": {"toolName": "read_files", "toolCallId": "c1", "success": True},
    }
    return make_tool_result_turn(json.dumps(record).encode(), origin="/api", audience="assistant")


def render_text(turns: Sequence[ComposedTurn], target: str = "text") -> str:
    rendered = render(turns, target)
    assert {entry.code for entry in rendered.loss} <= {"no-beginning"}
    return strings_of(rendered.messages)


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "mcp"])
def test_two_files_of_one_name_have_different_labels(target: str) -> None:
    read = render_text(
        [result({"text": "DEBUG=0", "uri": PROD}, {"text": "DEBUG=1", "uri": DEV})], target
    )
    places = [read.index(item) for item in (f"[{PROD}]", "DEBUG=0", f"[{DEV}]", "DEBUG=1")]
    assert places == sorted(places)


def test_title_and_address_are_one_line() -> None:
    read = render_text([result({"text": "Yes.", "name": "A [draft]\n2", "uri": PROD})])
    assert f"[A (draft)\\n2, {PROD}]\n\nYes." in read


def test_text_that_names_itself_has_no_line() -> None:
    read = render_text([result({"text": LINKED, "name": "app.env", "uri": PROD})])
    assert read.count(PROD) == 1
    assert "[" not in read.partition("\n")[2]


def test_shortened_text_keeps_its_line() -> None:
    turn = result({"text": "A line. " * 200, "uri": PROD})
    rendered = render([turn], "text", RenderOptions(max_text=200))
    assert f"[{PROD}]\n\nA line." in strings_of(rendered.messages)
    assert [entry.code for entry in rendered.loss] == ["text-too-long"]


DOCUMENT = {
    "role": "user",
    "content": [
        {
            "type": "document",
            "title": "The rules",
            "source": {"type": "text", "media_type": "text/plain", "data": "Be kind."},
        }
    ],
}


def test_document_of_a_message_has_its_title_before_it() -> None:
    (message,) = read_messages([DOCUMENT]).messages
    reading = read_entry(message.message or {})
    turns = read_entry_turns(reading, 1, "", {}, audience="assistant", moved_media_ids=frozenset())
    read = render_text(turns)
    assert (read.count("The rules"), read.index("The rules") < read.index("Be kind.")) == (1, True)


def test_stored_message_without_labels_is_rendered_without_labels() -> None:
    turns = make_message_turns(MessageEntry(DOCUMENT, 1), {}, audience="assistant")
    assert 'Be kind.\n\n{"name":"The rules"}' in render_text(turns)
