"""Shapes of stored tool results."""

from typing import Annotated

from msgspec import Raw
from pydantic import ConfigDict
from pydantic.config import JsonDict

from app.models.tool_result import SanitizedToolResult, StoredToolResult
from app.wire.renders import RenderedRecord
from app.wire.shape import CursorList, DocumentedAs, Shape, Timestamp, make_timestamp

_EXAMPLE: JsonDict = {
    "id": "01a1fc23-5d6a-716f-bf87-986bff04fd3e",
    "sessionId": "demo",
    "seq": 1,
    "createdAt": "2026-11-21T03:25:38.532555Z",
    "toolName": "browser.screenshot",
    "toolCallId": "call_1",
    "sanitized": {
        "parts": [
            {"type": "text", "text": "Opened the page."},
            {
                "type": "image",
                "image": "@blob:9a0e04717cce2431260284cf548150ee",
                "mimeType": "image/png",
            },
        ],
        "resources": [
            {
                "uri": "blob:9a0e04717cce2431260284cf548150ee",
                "kind": "image",
                "mimeType": "image/png",
                "size": 5650,
                "digest": f"sha-256:{'9dd9d1b5c1d3aa47' * 4}",
                "width": 320,
                "height": 180,
            }
        ],
        "meta": {"toolName": "browser.screenshot", "toolCallId": "call_1", "success": True},
    },
}


StoredRecord = Annotated[Raw, DocumentedAs(SanitizedToolResult)]
"""The canonical record inside another shape: its stored bytes."""


class ToolResultRecord(Shape, kw_only=True):
    """A stored tool result. `sessionId` and `seq` are null outside any session."""

    schema_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str
    session_id: str | None
    seq: int | None
    created_at: Timestamp
    tool_name: str
    tool_call_id: str
    sanitized: StoredRecord


class ToolResultPage(CursorList[ToolResultRecord]):
    """A part of the list of tool results, newest first."""


def encode_tool_result(stored: StoredToolResult) -> bytes:
    """Return the JSON of a `ToolResultRecord`, with the stored bytes of the canonical record."""
    return ToolResultRecord(
        id=stored.tool_result_id,
        session_id=stored.session_id,
        seq=stored.seq,
        created_at=make_timestamp(stored.created_at),
        tool_name=stored.tool_name,
        tool_call_id=stored.tool_call_id,
        sanitized=Raw(stored.sanitized),
    ).encode()


class RenderedToolResult(ToolResultRecord, kw_only=True):
    """A stored tool result, with its rendering if one was requested."""

    rendering: Annotated[Raw | None, DocumentedAs(RenderedRecord | None)] = None
    """Only with `render`. Null if the rendering failed; the result is stored nevertheless."""
