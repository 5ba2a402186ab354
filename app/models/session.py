"""Sessions: kinds of history entries, counts, and receipts of deletions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

EntryKind: TypeAlias = Literal["tool_result", "page_fault", "message", "interaction", "answer"]
"""The kind of record to which an entry of a history refers."""
TOOL_RESULT: EntryKind = "tool_result"
"""A history entry that refers to a row of `tool_results`."""
PAGE_FAULT: EntryKind = "page_fault"
"""A history entry that refers to a row of `messages`, written by the service."""
MESSAGE: EntryKind = "message"
"""A history entry that refers to a row of `messages`, written by a client."""
INTERACTION: EntryKind = "interaction"
"""A history entry that refers to a row of `interactions`."""
ANSWER: EntryKind = "answer"
"""A history entry that refers to the output of a row of `interactions`, which is set later."""


@dataclass(frozen=True, slots=True)
class HistoryCounts:
    """The numbers of entries in a history, by kind."""

    tool_results: int = 0
    page_faults: int = 0
    messages: int = 0
    interactions: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class ForkOrigin:
    """The session that a fork was copied from, and the last `seq` that was copied.

    `incarnation` distinguishes sessions with the same id.
    """

    session_id: str
    up_to: int
    incarnation: str | None = None


TAG_PATTERN = r"^[a-z0-9][a-z0-9._:/-]{0,63}$"
"""The pattern of tags; the search for a tag in stored JSON needs it."""
MAX_TAGS = 20
MAX_NOTE_CHARS = 4_000
MAX_TOOL_NAME_CHARS = 128
"""The length of the names of tools by which sessions are listed."""
MAX_TOOLS_OF_ENTRY = 100
"""The tools of one entry by which its session is listed."""


@dataclass(frozen=True, slots=True)
class SessionMarks:
    """The marks that people set on a session; they are not part of its history.

    `tags` are distinct, in the order in which they were set.
    """

    pinned: bool = False
    tags: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """The sessions of a list: a part of their ids in either case, their marks, a tool, their age.

    `tool` is the name of a tool that an entry has called. `written_within` is the age of the last
    write in seconds, at most.
    """

    id_part: str | None = None
    pinned: bool | None = None
    tag: str | None = None
    tool: str | None = None
    written_within: int | None = None


@dataclass(frozen=True, slots=True)
class ToolSessions:
    """The name of a tool, and the number of the sessions that called it."""

    name: str
    sessions: int


@dataclass(frozen=True, slots=True)
class Session:
    """A session, whose id is chosen by the client; `last_seq` is the number of its newest write."""

    session_id: str
    created_at: datetime
    updated_at: datetime
    last_seq: int
    counts: HistoryCounts = HistoryCounts()
    forked_from: ForkOrigin | None = None
    marks: SessionMarks = SessionMarks()


@dataclass(frozen=True, slots=True)
class SessionUse:
    """The records and bytes that a session uses."""

    pages: int = 0
    resources: int = 0
    images: int = 0
    """The number of images among the resources."""
    failures: int = 0
    """The number of tool results that are errors."""
    bytes_referenced: int = 0
    """The size of the distinct blobs of the resources."""
    bytes_inline: int = 0
    """The size of the resources as base64 in every record that refers to them."""
    tokens: int = 0
    """An estimate from the sizes of the records and images."""
    last_image: str | None = None
    """The id of an image in the newest entry that has an image."""
    title: str | None = None
    """The first line of a user's message."""

    @property
    def bytes_saved(self) -> int:
        """The bytes saved by not storing media inline."""
        return max(0, self.bytes_inline - self.bytes_referenced)


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """Other users of a resource: their kind, their number, and the id of one of them."""

    kind: str
    count: int
    example_id: str


@dataclass(frozen=True, slots=True)
class ResourceRelease:
    """A resource of a deleted session. It is deleted as well, unless it has other users."""

    resource_id: str
    size_bytes: int
    used_by: tuple[ResourceUsage, ...] = ()


@dataclass(frozen=True, slots=True)
class DeletedSession:
    """The receipt of a deleted session: counts of removed entries, and its resources by id."""

    session_id: str
    counts: HistoryCounts
    pages: int
    resources: tuple[ResourceRelease, ...]
