"""Lists and searches of pages, with their cursors."""

from collections.abc import Sequence
from dataclasses import dataclass

import anyio.to_thread

from app.errors import InvalidCursorError
from app.models.identity import ListName, decode_cursor, digest_query, encode_cursor
from app.services.pages.accesses import AccessCounts
from app.services.pages.stored_pages import read_pages, read_searched_texts
from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.text_search import (
    PAGE_INDEX,
    RankedMatch,
    RankedMatches,
    SearchedIndex,
    find_texts,
)
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_indexes import choose_page_index
from app.words.ranking import is_complete
from app.words.search_terms import SearchQuery, ids_in, parse_search
from app.words.snippets import Passages
from pagefault_dialects.model.page import Modality, PageFilters, StoredPage

# If the content of a page is longer, its snippet is taken from the other fields.
_MAX_SNIPPET_SOURCE_BYTES = 64 * 1024
# Up to this size, finding snippets takes less time than starting a thread.
_QUICK_BYTES = 64 * 1024


class SearchCursors:
    """Encodes and decodes the cursors of a search.

    A cursor contains the weights of the ranking, so that the next part has the same order.

    Args:
        name: The name of the list.
        query: The query and its filters. Cursors of other queries are invalid.
    """

    def __init__(self, name: ListName, *query: str | None) -> None:
        self._name = name
        self._query_digest = digest_query(*query)

    def decode(self, cursor: str | None) -> tuple[RankedMatch | None, Sequence[int]]:
        """Return the last match before the cursor, and the weights of the ranking.

        Raises:
            InvalidCursorError: The cursor belongs to another list.
        """
        if cursor is None:
            return None, ()
        shape = (str, str, int, int, int)
        query_digest, digits, rank, index_id, number = decode_cursor(self._name, cursor, shape)
        try:
            weights = [int(digit, 16) for digit in str(digits)]
        except ValueError as exc:
            raise InvalidCursorError from exc
        if query_digest != self._query_digest:
            raise InvalidCursorError
        return RankedMatch(int(rank), int(index_id), int(number)), weights

    def encode(self, last: RankedMatch, weights: Sequence[int]) -> str:
        """Return the cursor of the list after a match."""
        digits = "".join(f"{weight:x}" for weight in weights)
        return encode_cursor(self._name, self._query_digest, digits, *last)


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that matches a search."""

    page: StoredPage
    snippet: str | None
    """The passage that matches, if it was found in a text of the page."""
    has_all: bool = True
    """True if the page has all words of the query."""


@dataclass(frozen=True, slots=True)
class PageLists:
    """Lists and searches memory pages."""

    records: Records
    accesses: AccessCounts
    """Adds counters to the pages."""

    async def list(
        self, project_id: str, filters: PageFilters, *, cursor: str | None, limit: int
    ) -> tuple[Sequence[StoredPage], str | None]:
        """Return up to `limit` pages without content, newest first, and the next cursor.

        Raises:
            InvalidCursorError: The cursor belongs to another list.
        """
        before = None if cursor is None else int(decode_cursor("pages", cursor, (int,))[0])

        def find(unit: UnitOfWork) -> tuple[Sequence[int], list[StoredPage]]:
            numbers = unit[PageRecords].list_numbers(filters, before=before, limit=limit + 1)
            return numbers, [*read_pages(unit, numbers[:limit])]

        numbers, found = await self.records.read(project_id, find)
        pages = [self.accesses.add_counts(project_id, stored) for stored in found]
        has_more = len(numbers) > len(pages)
        next_cursor = encode_cursor("pages", pages[-1].page_number) if pages and has_more else None
        return pages, next_cursor

    async def search(
        self,
        project_id: str,
        text: str,
        filters: PageFilters,
        *,
        cursor: str | None,
        limit: int,
    ) -> tuple[Sequence[Hit], str | None]:
        """Return up to `limit` pages that match a text, best first, and the next cursor.

        Pages whose ids are in the text come first, then pages with all words, then pages with some
        of the words.

        Raises:
            InvalidPayloadError: `text` has no words.
            InvalidCursorError: The cursor belongs to another list.
        """
        query = parse_search(text)
        cursors = SearchCursors("page-search", text, filters.session_id, filters.modality)
        last, weights = cursors.decode(cursor)

        def find(
            unit: UnitOfWork,
        ) -> tuple[RankedMatches, Sequence[RankedMatch], list[StoredPage]]:
            index = narrow_page_index(unit, filters.session_id, filters.modality)
            found = find_texts(query, [index], weights)
            by_id = [(PAGE_INDEX, number) for number in find_pages_by_id(unit, text, filters)]
            matches = found.after(by_id, last)
            numbers = [match.number for match in matches[:limit]]
            return (
                found,
                matches,
                [*read_pages(unit, numbers, content_up_to=_MAX_SNIPPET_SOURCE_BYTES)],
            )

        found, matches, pages = await self.records.read(project_id, find)
        counted = [self.accesses.add_counts(project_id, stored) for stored in pages]
        complete = {match.number for match in matches[:limit] if is_complete(match.rank)}

        def make_hits() -> list[Hit]:
            passages = Passages(SearchQuery(tuple(found.terms) or query.terms))
            return [
                Hit(page, passages.find(read_searched_texts(page)), page.page_number in complete)
                for page in counted
            ]

        size_bytes = sum(len(page.descriptor) + len(page.content or b"") for page in pages)
        is_quick = size_bytes <= _QUICK_BYTES
        hits = make_hits() if is_quick else await anyio.to_thread.run_sync(make_hits)
        if not pages or len(matches) == len(pages):
            return hits, None
        last_match = next(match for match in matches if match.number == pages[-1].page_number)
        return hits, cursors.encode(last_match, found.weights)


def narrow_page_index(
    unit: UnitOfWork, session_id: str | None, *modalities: Modality | None
) -> SearchedIndex:
    """Return the index of pages, narrowed to a session and to modalities."""
    chosen = [modality for modality in modalities if modality is not None]
    index = choose_page_index(unit)
    return SearchedIndex(
        PAGE_INDEX, index, index.required_marks(session_id=session_id, modalities=chosen)
    )


def find_pages_by_id(unit: UnitOfWork, text: str, filters: PageFilters) -> list[int]:
    """Return the numbers of the pages whose ids are in the text of a query."""
    numbers = (unit[PageRecords].find_number(identifier, filters) for identifier in ids_in(text))
    return [number for number in numbers if number is not None]
