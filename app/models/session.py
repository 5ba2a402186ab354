"""Sessions: the kinds of entries in their histories, their counts, and what deletes leave."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

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
class HistoryCounts:
    """How many entries of each kind a history has."""

    tool_results: int = 0
    page_faults: int = 0
    messages: int = 0
    interactions: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class ForkOrigin:
    """The session that a fork was copied from, and the last `seq` that was copied.

    `incarnation` tells sessions of one name apart.
    """

    session_id: str
    up_to: int
    incarnation: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A client-named conversation; `last_seq` is the number its newest write took."""

    session_id: str
    created_at: datetime
    updated_at: datetime
    last_seq: int
    counts: HistoryCounts = HistoryCounts()
    forked_from: ForkOrigin | None = None


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
