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

EntryKind: TypeAlias = Literal["tool_result", "page_fault", "message", "interaction", "answer"]
"""What an entry of a history stands for."""
TOOL_RESULT: EntryKind = "tool_result"
"""A history entry that stands for a row of `tool_results`."""
PAGE_FAULT: EntryKind = "page_fault"
"""A history entry that stands for a row of `messages`, written by the service."""
MESSAGE: EntryKind = "message"
"""A history entry that stands for a row of `messages`, written by a client."""
INTERACTION: EntryKind = "interaction"
"""A history entry that stands for a row of `interactions`."""
ANSWER: EntryKind = "answer"
"""A history entry that stands for the output of a row of `interactions`, set later."""


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


@dataclass(frozen=True, slots=True)
class HistoryCounts:
    """How many entries of each kind a history has."""

    tool_results: int = 0
    page_faults: int = 0
    messages: int = 0
    interactions: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """A client-named conversation; `last_seq` is the number its newest write took."""

    session_id: str
    created_at: datetime
    updated_at: datetime
    last_seq: int
    counts: HistoryCounts = HistoryCounts()


@dataclass(frozen=True, slots=True)
class SessionUse:
    """What a session takes of the store.

    `images` are among the resources; `failures` are tool results that failed; `title` is the first
    line that a user said. `bytes_referenced` is the size of the distinct blobs its resources are
    over; `bytes_inline` what they would take as base64 in every record that refers to them.
    """

    pages: int = 0
    resources: int = 0
    images: int = 0
    failures: int = 0
    bytes_referenced: int = 0
    bytes_inline: int = 0
    title: str | None = None

    @property
    def bytes_saved(self) -> int:
        """What is saved against keeping the media inline."""
        return max(0, self.bytes_inline - self.bytes_referenced)


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """What else uses a resource: how many of a kind, and the id of one of them."""

    kind: str
    count: int
    example_id: str


@dataclass(frozen=True, slots=True)
class ResourceRelease:
    """What became of a resource when its session was deleted: deleted, unless somebody uses it."""

    resource_id: str
    size_bytes: int
    used_by: tuple[ResourceUsage, ...] = ()


@dataclass(frozen=True, slots=True)
class DeletedSession:
    """What a session's deletion removed, and what became of its resources, in order of their id."""

    session_id: str
    counts: HistoryCounts
    pages: int
    resources: tuple[ResourceRelease, ...]
