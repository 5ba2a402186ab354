"""Records in the search index: tool results, messages, interactions and file names."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from app.models.message import CommonRole
from pagefault_dialects.model.page import Modality

IndexedKind: TypeAlias = Literal["tool_result", "message", "interaction", "file"]
"""The kinds of searchable records except pages."""
SearchKind: TypeAlias = Literal[
    "page", "transcript", "tool_result", "message", "interaction", "file"
]
"""The kinds that a search can be limited to. A transcript is the page of a recording."""
MAX_INDEXED_CHARS = 8_000
"""Length of the indexed beginning of a tool result, a message or an interaction."""
MAX_READ_BYTES = 256 * 1024
"""Maximum number of bytes of a stored record that are read to index its beginning."""


@dataclass(frozen=True, slots=True)
class WaitingEntry:
    """A record that waits to be indexed, in the revision that was read."""

    number: int
    kind: IndexedKind
    entry_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class EntryQueue:
    """The entries that wait to be indexed, of all projects; numbers grow with each new entry."""

    waiting: int
    oldest: int | None
    """The smallest number of a waiting entry; `None` if none waits."""
    newest: int
    """The largest number of all entries; 0 if there are none."""


@dataclass(frozen=True, slots=True)
class EntrySource:
    """The beginning of a record, from which its words are made, and the position of the record."""

    kind: IndexedKind
    """The kind of the record."""
    entry_id: str
    """The id of the record."""
    session_id: str | None
    """The session of the record; for a file, the first session that refers to it."""
    seq: int | None
    """The `seq` of the record in the session."""
    created_at: datetime
    """The time when the record was written."""
    name: str | None = None
    """The name of a tool, or of a file."""
    call_id: str | None = None
    """The call that a tool result or a message answers."""
    mime_type: str | None = None
    """The MIME type of a file."""
    other_sessions: tuple[str, ...] = ()
    """The other sessions that refer to a file."""
    contents: tuple[bytes, ...] = ()
    """The JSON of the record; at most `MAX_READ_BYTES` of each text."""
    is_cut: bool = False
    """True if only the beginning was read."""
    dialect: str | None = None
    """The dialect of a message; `None` for messages of earlier versions."""
    reading: int | None = None
    """The version of the reader with which the message was stored."""
    role: CommonRole | None = None
    """The role of a wrapped message; see `StoredHistoryMessage`."""
    is_found: bool = True
    """False for page faults and derived files: searches find their page or source instead."""


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """A hit of a search, with the passage that matched.

    `handle` is the argument of the reading tools: a page id, `entry:12` for an entry of the history
    of a session, or an `@blob:` reference. `tools` are those whose results a message has.
    """

    kind: SearchKind
    entry_id: str
    handle: str
    session_id: str | None
    seq: int | None
    modality: Modality | None
    title: str | None
    snippet: str | None
    created_at: datetime
    tools: tuple[str, ...] = ()
