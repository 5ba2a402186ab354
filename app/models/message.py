"""History: what happened in a session, in the order of its `seq`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from typing_extensions import TypeAliasType

from app.models.interaction import StoredAnswer, StoredInteraction
from pagefault_dialects.json.values import JsonObject


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One entry of a session's history as the store keeps it."""

    seq: int
    message_id: str
    created_at: datetime
    tool_call_id: str
    tool_name: str
    sanitized: bytes


MessageRole = TypeAliasType(
    "MessageRole",
    Literal["system", "developer", "user", "assistant", "model", "tool", "function"],
)
MessageBlocks = TypeAliasType("MessageBlocks", list[JsonObject])
"""Blocks of any dialect."""
MessageContent = TypeAliasType("MessageContent", str | MessageBlocks)
"""What a message says: a text, or blocks of any dialect."""


@dataclass(frozen=True, slots=True)
class StoredHistoryMessage:
    """A message of a model's dialect (spec 000, HistoryMessage) as the store keeps it.

    `message` is its JSON text, `{role, content, tool_call_id …}`, never serialised again;
    `request_digest` identifies the request it answered, so that the same one again is answered
    with it. `inline_form` says how the media that were moved out of it were written. The message
    of a page fault was written by the service itself; `page_fault` is the JSON text of the
    `PageFaultCall` that it answers, `None` in a row of an earlier version.
    """

    seq: int
    message_id: str
    created_at: datetime
    tool_call_id: str | None
    request_digest: str
    message: bytes
    inline_form: str | None = None
    is_page_fault: bool = False
    page_fault: str | None = None


StoredEntry: TypeAlias = StoredMessage | StoredHistoryMessage | StoredInteraction | StoredAnswer
"""One entry of a session's history."""
