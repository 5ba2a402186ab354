"""History: what happened in a session, in the order of its `seq`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from app.models.base import WireModel
from app.models.tool_result import SanitizedToolResult


class ToolMessage(WireModel):
    """A tool result as it stands in history; `sanitized` is the stored record, byte for byte."""

    seq: Annotated[int, Field(ge=1)]
    id: str
    role: Literal["tool"]
    tool_call_id: str
    name: str
    created_at: datetime
    sanitized: SanitizedToolResult


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One entry of a session's history as the store keeps it."""

    seq: int
    message_id: str
    created_at: datetime
    tool_call_id: str
    tool_name: str
    sanitized: bytes


@dataclass(frozen=True, slots=True)
class StoredHistoryMessage:
    """A message of a model's dialect (spec 000, HistoryMessage) as the store keeps it.

    `message` is its JSON text, `{role, content, tool_call_id …}`, never serialised again;
    `request_digest` identifies the request it answered, so that the same one again is answered
    with it.
    """

    seq: int
    message_id: str
    created_at: datetime
    tool_call_id: str | None
    request_digest: str
    message: bytes


@dataclass(frozen=True, slots=True)
class Session:
    """A client-named conversation; `last_seq` is the number its newest entry took."""

    session_id: str
    created_at: datetime
    updated_at: datetime
    last_seq: int
