"""Records in the search index: tool results, messages, interactions and file names."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from app.models.message import CommonRole
from pagefault_dialects.model.page import Modality

IndexedKind: TypeAlias = Literal["tool_result", "message", "interaction", "file"]
"""The kinds of records, beside pages, that are found by words."""
SearchKind: TypeAlias = Literal[
    "page", "transcript", "tool_result", "message", "interaction", "file"
]
"""The kinds that a search can be limited to. A transcript is the page of a recording."""
MAX_INDEXED_CHARS = 8_000
"""Length of the indexed beginning of a tool result, a message or an interaction."""
MAX_READ_BYTES = 256 * 1024
"""Bytes of a stored record that are read to find that text."""


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
    """The smallest number of those that wait."""
    newest: int
    """The largest number of all entries; 0 if there are none."""


@dataclass(frozen=True, slots=True)
class EntrySource:
    """The source of a record's words, and its place in the project."""

    kind: IndexedKind
    """The kind of the record."""
    entry_id: str
    """Its id."""
    session_id: str | None
    """The session it is in; of a file, the first of those that refer to it."""
    seq: int | None
    """Its number in the history of the session."""
    created_at: datetime
    """When it was written."""
    name: str | None = None
    """Of a tool, or of a file."""
    call_id: str | None = None
    """The call that a tool result or a message answers."""
    mime_type: str | None = None
    """Of a file."""
    other_sessions: tuple[str, ...] = ()
    """Of a file: the others that refer to it."""
    contents: tuple[bytes, ...] = ()
    """The JSON of its record, as much as is read of it."""
    is_cut: bool = False
    """True if only the beginning was read."""
    dialect: str | None = None
    """Of a message that was posted since there are dialects."""
    reading: int | None = None
    """The number of the reading that the message came in by."""
    role: CommonRole | None = None
    """The role of a wrapped message; see `StoredHistoryMessage`."""
    is_found: bool = True
    """False for records that are found as another one: page faults as their page, and derived files
    as their source."""


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """A hit of a search with its place and the passage that matched.

    `handle` is the argument of the reading tools: a page id, `entry:12` for an entry of the history
    of a session, or an `@blob:` reference.
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
