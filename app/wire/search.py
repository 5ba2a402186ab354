"""Shapes of a search over pages, files and the entries of histories."""

from collections.abc import Sequence

from pydantic import ConfigDict
from pydantic.config import JsonDict

from app.models.search_entry import SearchKind, SearchMatch
from app.wire.shape import CursorList, Shape, Timestamp, encode_cursor_list, make_timestamp
from pagefault_dialects.model.page import Modality

_EXAMPLE: JsonDict = {
    "kind": "tool_result",
    "id": "019ab9a0-5c1e-7c30-8f0e-3a1d5d9a6b7c",
    "handle": "@entry:12",
    "sessionId": "demo",
    "seq": 12,
    "pageId": None,
    "resource": None,
    "modality": None,
    "title": "get_weather",
    "snippet": "…sunset is at 20:41, and the sky stays clear until…",
    "createdAt": "2026-11-21T05:30:00.000000Z",
}


class SearchResult(Shape, kw_only=True):
    """A search result: its kind, ids to read it, and the matching passage."""

    schema_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    kind: SearchKind
    id: str
    """The id of the page, the record or the file."""
    handle: str
    """The argument with which a model's tools read it: a page id, `@entry:12` for an entry of the
    session's history, or an `@blob:` reference."""
    session_id: str | None
    """The session of the page or entry; for a file, a session that refers to it."""
    seq: int | None
    """The number of the entry in the history of its session."""
    page_id: str | None
    resource: str | None
    """The URI of a file."""
    modality: Modality | None
    title: str | None
    """Hint or caption of a page, name of a tool or file, role of a message: `tool` if it has only
    results."""
    snippet: str | None
    """The matching passage, at most 300 bytes, with `…` for cuts. Null if the match is not in its
    text."""
    created_at: Timestamp
    tool_names: tuple[str, ...] = ()
    """The tools whose results are in a message. Absent for other kinds, and if the names of the
    tools are not known."""


class SearchResults(CursorList[SearchResult]):
    """The results of a search over everything, best first."""

    pending: int
    """The number of stored entries that are not in the index yet. The newest entries were indexed
    before this search."""


def encode_search_results(
    matches: Sequence[SearchMatch], next_cursor: str | None, *, pending: int
) -> bytes:
    """Return the JSON of the results of a search."""
    page = encode_cursor_list(map(_encode_result, matches), next_cursor)
    return b'%s,"pending":%d}' % (page[:-1], pending)


def _encode_result(match: SearchMatch) -> bytes:
    return SearchResult(
        kind=match.kind,
        id=match.entry_id,
        handle=match.handle,
        session_id=match.session_id,
        seq=match.seq,
        page_id=match.entry_id if match.kind == "page" else None,
        resource=f"blob:{match.entry_id}" if match.kind == "file" else None,
        modality=match.modality,
        title=match.title,
        snippet=match.snippet,
        created_at=make_timestamp(match.created_at),
        tool_names=match.tools,
    ).encode()
