"""Records that a search finds beside pages: results, messages, interactions, files by name."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from app.models.message import SideRole
from pagefault_dialects.model.page import Modality

IndexedKind: TypeAlias = Literal["tool_result", "message", "interaction", "file"]
"""The kinds of records, beside pages, that are found by words."""
SearchKind: TypeAlias = Literal[
    "page", "transcript", "tool_result", "message", "interaction", "file"
]
"""The kinds that a search can be limited to. A transcript is the page of a recording."""
MOST_INDEXED_CHARS = 8_000
"""So much text of a tool result, a message or an interaction is searched, from its beginning."""
MOST_READ_BYTES = 256 * 1024
"""So much of a stored record is read to find that text."""


@dataclass(frozen=True, slots=True)
class WaitingEntry:
    """Something whose words are to be indexed; `revision` says as what it was found waiting."""

    number: int
    kind: IndexedKind
    entry_id: str
    revision: int


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
    """Which call a tool result or a message answers."""
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
    role: SideRole | None = None
    """Who says the message, if it is not flat; see `StoredHistoryMessage`."""
    is_found: bool = True
    """Whether it is found at all: a page that was faulted into a history is found as itself, and a
    file that was made of another one as that."""


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """Something that was found, where it is, and the passage by which it was found.

    `handle` is what a tool takes to read it: a page id, `entry:12` for an entry of a session's
    history, an `@blob:` reference.
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
