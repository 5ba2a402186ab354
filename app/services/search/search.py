"""Searches memory pages, tool results, messages, interactions and the names of files.

A search first indexes the newest entries that wait for the index. Then it finds and ranks matches
in the index of pages and in that of entries, and loads the records of one list of hits.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio.to_thread

from app.models.search_entry import (
    EntrySource,
    IndexedKind,
    SearchKind,
    SearchMatch,
    WaitingEntry,
)
from app.services.pages.page_lists import SearchCursors, find_pages_by_id, narrow_page_index
from app.services.pages.stored_pages import read_descriptor, read_searched_texts
from app.services.search.answered_tools import find_answered_tools
from app.services.search.indexing import SearchIndexing
from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.search_entries import SearchEntryRecords
from app.stores.records.text_search import (
    ENTRY_INDEX,
    PAGE_INDEX,
    RankedMatch,
    RankedMatches,
    SearchedIndex,
    find_texts,
)
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_indexes import choose_entry_index
from app.words.entry_texts import entry_texts
from app.words.search_terms import SearchQuery, ids_in, parse_search
from app.words.snippets import Passages
from pagefault_dialects.model.page import MODALITIES, Modality, PageFilters, StoredPage
from pagefault_dialects.model.resource import parse_resource_id, resource_kind
from pagefault_dialects.texts.cuts import cut_short

_ENTRY_KINDS: frozenset[IndexedKind] = frozenset({"tool_result", "message", "interaction", "file"})
# The modalities of pages that have a transcript.
_RECORDINGS: tuple[Modality, ...] = ("audio", "video")
_MAX_SNIPPET_SOURCE_BYTES = 64 * 1024
_BATCH_SIZE = 16
_MAX_TITLE_CHARS = 120
_PAGE_KINDS: frozenset[SearchKind] = frozenset({"page", "transcript"})


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A query with its filters. If `kinds` is empty, all kinds are searched."""

    text: str
    kinds: Collection[SearchKind] = ()
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """Hits, best first, with the next cursor and the number of entries that are not indexed yet."""

    hits: Sequence[SearchMatch]
    next_cursor: str | None
    pending: int


@dataclass(frozen=True, slots=True)
class _LoadedMatches:
    """Matches, with the pages and entries of those that fit into the list."""

    found: RankedMatches
    """All matches of the query."""
    matches: Sequence[RankedMatch]
    """The matches after the cursor."""
    pages: Mapping[int, StoredPage]
    entries: Mapping[int, WaitingEntry]


@dataclass(frozen=True, slots=True)
class Search:
    """Runs searches."""

    records: Records
    """The records to search."""
    indexing: SearchIndexing
    """Updates the index before a search."""

    async def search(
        self, project_id: str, request: SearchRequest, *, cursor: str | None, limit: int
    ) -> FoundRecords:
        """Return up to `limit` hits, best first, and the next cursor.

        Raises:
            InvalidPayloadError: The text has no words.
            InvalidCursorError: The cursor belongs to another list.
        """
        query = parse_search(request.text)
        cursors = SearchCursors("search", request.text, request.session_id, *sorted(request.kinds))
        last, weights = cursors.decode(cursor)
        pending = 0
        if not request.kinds or _ENTRY_KINDS & set(request.kinds):
            pending = await self.indexing.catch_up(project_id)

        def load(unit: UnitOfWork) -> _LoadedMatches:
            found = find_texts(query, _choose_indexes(unit, request), weights)
            matches = found.after(_find_by_id(unit, request), last)
            numbers = {
                index_id: [match.number for match in matches[:limit] if match.index_id == index_id]
                for index_id in (ENTRY_INDEX, PAGE_INDEX)
            }
            return _LoadedMatches(
                found,
                matches,
                unit[PageRecords].find_numbered(
                    numbers[PAGE_INDEX], content_up_to=_MAX_SNIPPET_SOURCE_BYTES
                ),
                unit[SearchEntryRecords].find_entries(numbers[ENTRY_INDEX]),
            )

        loaded = await self.records.read(project_id, load)
        hits = await self._load_hits(project_id, request, loaded, limit)
        next_cursor = None
        if len(loaded.matches) > limit:
            next_cursor = cursors.encode(loaded.matches[limit - 1], loaded.found.weights)
        return FoundRecords(hits, next_cursor, pending)

    async def _load_hits(
        self, project_id: str, request: SearchRequest, loaded: _LoadedMatches, limit: int
    ) -> list[SearchMatch]:
        """Return the hits, without entries that were deleted meanwhile."""
        terms = tuple(loaded.found.terms) or parse_search(request.text).terms
        passages = Passages(SearchQuery(terms))
        hits: list[SearchMatch] = []
        for start in range(0, min(limit, len(loaded.matches)), _BATCH_SIZE):
            batch = loaded.matches[start : min(limit, start + _BATCH_SIZE)]
            entries = [
                loaded.entries[match.number]
                for match in batch
                if match.index_id == ENTRY_INDEX and match.number in loaded.entries
            ]
            sources = await self.records.read(project_id, partial(_read_sources, entries))
            by_number = {entry.number: source for entry, source in sources.items()}
            batch_hits = await anyio.to_thread.run_sync(
                _make_hits, batch, loaded.pages, by_number, passages, request.session_id
            )
            # The title of a message is its role, so these messages are tool results.
            result_ids = {
                hit.entry_id for hit in batch_hits if hit.kind == "message" and hit.title == "tool"
            }
            if result_ids:
                results = [item for item in sources.values() if item.entry_id in result_ids]
                tools = await self.records.read(project_id, partial(find_answered_tools, results))
                batch_hits = [replace(hit, tools=tools.get(hit.entry_id, ())) for hit in batch_hits]
            hits += batch_hits
        return hits


def _read_sources(
    entries: Sequence[WaitingEntry], unit: UnitOfWork
) -> dict[WaitingEntry, EntrySource]:
    return unit[SearchEntryRecords].load_sources(entries)


def _choose_indexes(unit: UnitOfWork, request: SearchRequest) -> list[SearchedIndex]:
    """Return the indexes of the requested kinds."""
    kinds = set(request.kinds)
    chosen = []
    if not kinds or kinds & _PAGE_KINDS:
        chosen.append(narrow_page_index(unit, request.session_id, *_page_modalities(request)))
    if not kinds or kinds & _ENTRY_KINDS:
        index = choose_entry_index(unit)
        marks = index.required_marks(session_id=request.session_id, kinds=kinds & _ENTRY_KINDS)
        chosen.append(SearchedIndex(ENTRY_INDEX, index, marks))
    return chosen


def _page_modalities(request: SearchRequest) -> Sequence[Modality]:
    """Return the modalities of the pages to search; empty for all.

    Transcripts are texts of audio and video pages.
    """
    return _RECORDINGS if "transcript" in request.kinds and "page" not in request.kinds else ()


def _find_by_id(unit: UnitOfWork, request: SearchRequest) -> list[tuple[int, int]]:
    """Return the pages and entries whose ids are in the query, as (index id, number)."""
    kinds, ids = set(request.kinds), ids_in(request.text)
    numbers: list[int] = []
    if not kinds or kinds & _PAGE_KINDS:
        for modality in _page_modalities(request) or (None,):
            numbers += find_pages_by_id(
                unit, request.text, PageFilters(request.session_id, modality)
            )
    by_id = [(PAGE_INDEX, number) for number in numbers]
    if not kinds or kinds & _ENTRY_KINDS:
        ids = [parse_resource_id(resource_id) or resource_id for resource_id in ids]
        entry_kinds = (kinds & _ENTRY_KINDS) or _ENTRY_KINDS
        entries = unit[SearchEntryRecords].find_by_id(ids, entry_kinds)
        if request.session_id is not None:
            sources = unit[SearchEntryRecords].load_sources(entries)
            entries = [entry for entry in entries if _is_in(sources.get(entry), request.session_id)]
        by_id += [(ENTRY_INDEX, entry.number) for entry in entries]
    return by_id


def _is_in(source: EntrySource | None, session_id: str) -> bool:
    return source is not None and session_id in (source.session_id, *source.other_sessions)


def _make_hits(
    matches: Sequence[RankedMatch],
    pages: Mapping[int, StoredPage],
    sources: Mapping[int, EntrySource],
    passages: Passages,
    session_id: str | None,
) -> list[SearchMatch]:
    hits = []
    for match in matches:
        if match.index_id == PAGE_INDEX and match.number in pages:
            hits.append(_page_hit(pages[match.number], passages))
        elif match.index_id == ENTRY_INDEX and match.number in sources:
            source = sources[match.number]
            # The index is only updated some seconds after a file is removed from a session.
            if session_id is None or _is_in(source, session_id):
                hits.append(_entry_hit(source, passages, session_id))
    return hits


def _page_hit(stored: StoredPage, passages: Passages) -> SearchMatch:
    descriptor = read_descriptor(stored)
    title = descriptor["hint"] or descriptor["caption"]
    return SearchMatch(
        kind="page",
        entry_id=stored.page_id,
        handle=stored.page_id,
        session_id=descriptor["session_id"],
        seq=None,
        modality=descriptor["modality"],
        title=title and cut_short(title, _MAX_TITLE_CHARS),
        snippet=passages.find(read_searched_texts(stored)),
        created_at=stored.created_at,
    )


def _entry_hit(source: EntrySource, passages: Passages, session_id: str | None) -> SearchMatch:
    texts = entry_texts(source)
    is_file = source.kind == "file"
    handle = source.entry_id if source.seq is None else f"@entry:{source.seq}"
    kind = resource_kind(source.mime_type) if source.mime_type else None
    return SearchMatch(
        kind=source.kind,
        entry_id=source.entry_id,
        handle=f"@blob:{source.entry_id}" if is_file else handle,
        # A file belongs to all sessions that refer to it.
        session_id=session_id if is_file and session_id else source.session_id,
        seq=source.seq,
        modality=next((modality for modality in MODALITIES if modality == kind), None),
        title=texts.title and cut_short(texts.title, _MAX_TITLE_CHARS),
        snippet=passages.find(texts.fields),
        created_at=source.created_at,
    )
