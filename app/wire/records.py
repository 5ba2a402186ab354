"""Shapes that exist only on the wire: records in their envelopes, pages of lists."""

from datetime import datetime

from pydantic import ConfigDict
from pydantic.config import JsonDict

from app.models.base import WireModel
from app.models.resource import ResourceDescriptor
from app.models.tool_result import SanitizedToolResult

_EXAMPLE_RECORD: JsonDict = {
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


class ToolResultRecord(WireModel):
    """A stored tool result. `sessionId` and `seq` are null outside any session."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE_RECORD]})

    id: str
    session_id: str | None
    seq: int | None
    created_at: datetime
    tool_name: str
    tool_call_id: str
    sanitized: SanitizedToolResult


class ToolResultPage(WireModel):
    """A page of tool results, newest first."""

    items: tuple[ToolResultRecord, ...]
    next_cursor: str | None


class ResourceRecord(ResourceDescriptor):
    """A stored resource: its descriptor, and since when it is kept."""

    created_at: datetime


class ResourcePage(WireModel):
    """A page of resources, newest first."""

    items: tuple[ResourceRecord, ...]
    next_cursor: str | None
