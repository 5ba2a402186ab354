"""Envelopes: the JSON around stored bytes, put there without parsing them."""

from collections.abc import Iterable

from app.models.identity import rfc3339
from app.models.json_value import json_text
from app.models.message import StoredMessage
from app.models.resource import Resource, describe
from app.models.tool_result import StoredToolResult


def tool_result_record(stored: StoredToolResult) -> bytes:
    """The record `{id, sessionId, seq, createdAt, toolName, toolCallId, sanitized}`.

    `sessionId` and `seq` are null for a result outside any session.
    """
    head = json_text(
        {
            "id": stored.tool_result_id,
            "sessionId": stored.session_id,
            "seq": stored.seq,
            "createdAt": rfc3339(stored.created_at),
            "toolName": stored.tool_name,
            "toolCallId": stored.tool_call_id,
        }
    )
    return _with_sanitized(head, stored.sanitized)


def tool_message(message: StoredMessage) -> bytes:
    """The history's `{seq, id, role, toolCallId, name, createdAt, sanitized}`."""
    head = json_text(
        {
            "seq": message.seq,
            "id": message.message_id,
            "role": "tool",
            "toolCallId": message.tool_call_id,
            "name": message.tool_name,
            "createdAt": rfc3339(message.created_at),
        }
    )
    return _with_sanitized(head, message.sanitized)


def resource_record(resource: Resource) -> bytes:
    """The descriptor of a resource, and since when it is kept."""
    descriptor = describe(resource).wire()
    return json_text({**descriptor, "createdAt": rfc3339(resource.created_at)}).encode()


def list_page(items: Iterable[bytes], next_cursor: str | None) -> bytes:
    """A page of a list, `{items, nextCursor}`; the cursor is null on the last page."""
    tail = json_text(next_cursor)
    return b'{"items":[' + b",".join(items) + b'],"nextCursor":' + tail.encode() + b"}"


def _with_sanitized(head: str, sanitized: bytes) -> bytes:
    return head[:-1].encode() + b',"sanitized":' + sanitized + b"}"
