"""Shapes that exist only on the wire: records in their envelopes, pages of lists."""

from datetime import datetime

from app.models.base import WireModel
from app.models.message import ToolMessage
from app.models.resource import ResourceDescriptor
from app.models.tool_result import SanitizedToolResult


class ToolResultRecord(WireModel):
    """A stored tool result. `sessionId` and `seq` are null outside any session."""

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


class MessagePage(WireModel):
    """A page of a session's history, in the order of `seq`."""

    items: tuple[ToolMessage, ...]
    next_cursor: str | None


class ResourceRecord(ResourceDescriptor):
    """A stored resource: its descriptor, and since when it is kept."""

    created_at: datetime


class ResourcePage(WireModel):
    """A page of resources, newest first."""

    items: tuple[ResourceRecord, ...]
    next_cursor: str | None
