"""Shapes are encoded as the standard library's JSON would be, and stored bytes stay as they are."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.models.message import StoredHistoryMessage, StoredMessage
from app.models.resource_descriptor import describe
from app.models.tool_result import StoredToolResult
from app.wire.history import encode_history_entry
from app.wire.resources import encode_resource
from app.wire.tool_results import encode_tool_result
from pagefault_dialects.model.resource import MediaHints, Resource, ResourceKind

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TOLD = "2026-01-02T03:04:05.000000Z"
STRINGS = ["t", 'a"b\\c', "\x00\x1f\x7f\n\t", "é\u2028\U0001f600", "</script>"]


def dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize("string", STRINGS)
@pytest.mark.parametrize(("session_id", "seq"), [("s", 7), (None, None)])
def test_tool_result_record_is_what_json_makes_of_it(
    string: str, session_id: str | None, seq: int | None
) -> None:
    stored = StoredToolResult("i", session_id, seq, NOW, string, string, b'{"parts":[]}')
    assert encode_tool_result(stored) == dumped(
        {
            "id": "i",
            "sessionId": session_id,
            "seq": seq,
            "createdAt": TOLD,
            "toolName": string,
            "toolCallId": string,
            "sanitized": {"parts": []},
        }
    )


@pytest.mark.parametrize("string", STRINGS)
def test_tool_message_is_what_json_makes_of_it(string: str) -> None:
    assert encode_history_entry(StoredMessage(3, "i", NOW, string, string, b"{}")) == dumped(
        {
            "seq": 3,
            "id": "i",
            "role": "tool",
            "toolCallId": string,
            "name": string,
            "createdAt": TOLD,
            "entry": "tool_result",
            "sanitized": {},
        }
    )


def test_history_message_is_what_json_makes_of_it() -> None:
    message = StoredHistoryMessage(3, "i", NOW, None, "d", b'{"role":"user","content":null}')
    head = {"seq": 3, "id": "i", "created_at": TOLD}
    block = {"role": "user", "content": None}
    assert encode_history_entry(message) == dumped({**head, "entry": "message", **block})
    fault = replace(message, is_page_fault=True)
    assert encode_history_entry(fault) == dumped({**head, "entry": "page_fault", **block})
    # From before the name was taken: what was stored is told as it is.
    earlier = replace(message, message=b'{"role":"user","content":null,"entry":7}')
    assert encode_history_entry(earlier) == dumped({**head, **block, "entry": 7})
    deeper = replace(message, message=b'{"role":"user","content":[{"entry":7}]}')
    assert json.loads(encode_history_entry(deeper))["entry"] == "message"


@pytest.mark.parametrize("kind", ["image", "audio", "video", "binary", "text"])
@pytest.mark.parametrize("filename", [None, 'a"\u202e.png'])
@pytest.mark.parametrize("hints", [MediaHints(), MediaHints(1, 2, 0.5)])
def test_resource_record_is_the_descriptor_and_since_when_it_is_kept(
    kind: ResourceKind, filename: str | None, hints: MediaHints
) -> None:
    resource = Resource("0" * 32, "d" * 64, "image/png", filename, 2**40, kind, hints, NOW)
    assert encode_resource(resource) == dumped({**describe(resource).wire(), "createdAt": TOLD})
