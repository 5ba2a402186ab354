"""Messages in common form know where their blocks were in the message that was sent."""

import pytest

from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    call_block,
    compose_message,
    denial_text,
    medium_block,
    medium_kind,
    result_block,
    text_block,
    thought_block,
)
from pagefault_dialects.json.values import JsonValue


@pytest.mark.parametrize(
    ("pointer", "original"),
    [
        ("", "/7"),
        ("/role", "/7/role"),
        ("/content/0", "/7/parts/3"),
        ("/content/0/text", "/7/parts/3/text"),
        ("/content/0/a/b", "/7/parts/3/a/b"),
        ("/content/1/text", "/7/content/1/text"),
    ],
)
def test_pointer_into_a_message_is_one_into_the_request(pointer: str, original: str) -> None:
    message = ForeignMessage("/7", {}, original_pointers={"/content/0": "/parts/3"})
    assert message.original_pointer(pointer) == original


def test_message_is_composed_of_blocks() -> None:
    blocks = [("/a", text_block("x")), ("/b", thought_block("y"))]
    assert compose_message("user", blocks, "/3") == ForeignMessage(
        "/3",
        {
            "role": "user",
            "content": [{"type": "text", "text": "x"}, {"type": "thinking", "thinking": "y"}],
        },
        original_pointers={"/content/0": "/a", "/content/1": "/b"},
        has_request_form=False,
    )
    assert compose_message(
        "assistant", (), "", continues_turn=True, has_request_form=True, extra={"id": "m"}
    ) == ForeignMessage("", {"id": "m", "role": "assistant", "content": []}, continues_turn=True)


def test_blocks_have_the_members_of_anthropic() -> None:
    assert call_block("c", "f", {"a": 1}) == {
        "type": "tool_use",
        "id": "c",
        "name": "f",
        "input": {"a": 1},
    }
    assert [result_block("c", "f", "x"), result_block("c", "f", [], is_error=True)] == [
        {"type": "tool_result", "tool_use_id": "c", "name": "f", "content": "x", "is_error": False},
        {"type": "tool_result", "tool_use_id": "c", "name": "f", "content": [], "is_error": True},
    ]
    assert thought_block() == {"type": "thinking", "thinking": ""}


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("not now", "[The user denied this call: not now]"),
        ("", "[The user denied this call.]"),
        (None, "[The user denied this call.]"),
    ],
)
def test_denial_has_the_reason_of_the_user(reason: JsonValue, text: str) -> None:
    assert denial_text(reason) == text


def test_block_of_a_medium_has_its_data_or_url_and_known_members() -> None:
    assert medium_block("image", "AAAA", "image/png", "a.png") == {
        "type": "image",
        "data": "AAAA",
        "mimeType": "image/png",
        "filename": "a.png",
    }
    assert [medium_block("file", url, None, "") for url in ("http://h/a", "https://h/a")] == [
        {"type": "file", "url": "http://h/a"},
        {"type": "file", "url": "https://h/a"},
    ]
    assert medium_block("audio", "data:audio/wav,x", "", None) == {
        "type": "audio",
        "data": "data:audio/wav,x",
    }


@pytest.mark.parametrize(
    ("mime_type", "kind"),
    [
        ("image/png", "image"),
        ("audio/wav", "audio"),
        ("video/mp4", "video"),
        ("application/pdf", "file"),
        ("text/video", "file"),
        ("", "file"),
        (None, "file"),
    ],
)
def test_mime_type_has_a_kind_of_block(mime_type: JsonValue, kind: str) -> None:
    assert medium_kind(mime_type) == kind
