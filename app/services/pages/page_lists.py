"""Lists of pages: those that are listed, and those that a search finds, with their cursors."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import anyio.to_thread

from app.errors import InvalidCursorError
from app.models.identity import ListName, decode_cursor, encode_cursor
from app.services.pages.accesses import AccessCounts
from app.services.pages.stored_pages import bounded_pages, stored_texts
from app.stores.records.finding import IN_PAGES, Found, RankedMatch, SearchPlace, find
from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_indexes import choose_page_index
from app.words.ranking import is_complete
from app.words.search_terms import SearchQuery, ids_in, parse_search
from app.words.snippets import Passages
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.page import Modality, PageFilters, StoredPage

# Beyond this a hit is shown by what is said about the page, not by its text.
_SNIPPED_BYTES = 64 * 1024
# So many are read and looked through in no more time than handing them to a thread takes.
_AT_ONCE_BYTES = 64 * 1024


class SearchList:
    """A list of what a search has found, which a cursor continues by the same weights.

    Args:
        name: Which list it is.
        asked: What was asked, so that a cursor of another search is refused.
    """

    def __init__(self, name: ListName, *asked: str | None) -> None:
        described = json_text(list(asked)).encode("utf-8", "replace")
        self._name = name
        self._asked = hashlib.sha256(described).hexdigest()[:16]

    def position(self, cursor: str | None) -> tuple[RankedMatch | None, Sequence[int]]:
        """Return the match that a cursor stands for, and the weights it was ranked by.

        Raises:
            InvalidCursorError: The cursor is not this list's.
        """
        if cursor is None:
            return None, ()
        shape = (str, str, int, int, int)
        asked, weights, rank, place, number = decode_cursor(self._name, cursor, shape)
        try:
            read = [int(digit, 16) for digit in str(weights)]
        except ValueError as exc:
            raise InvalidCursorError from exc
        if asked != self._asked:
            raise InvalidCursorError
        return RankedMatch(int(rank), int(place), int(number)), read

    def cursor(self, last: RankedMatch, weights: Sequence[int]) -> str:
        """Return the cursor for what follows a match."""
        digits = "".join(f"{each:x}" for each in weights)
        return encode_cursor(self._name, self._asked, digits, *last)


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that a search has found, and the passage it was found by, if one can be shown.

    `has_all` says that it has all that was asked for: what comes behind may have less.
    """

    page: StoredPage
    snippet: str | None
    has_all: bool = True


@dataclass(frozen=True, slots=True)
class PageLists:
    """Finds memory pages."""

    records: Records
    accesses: AccessCounts

    async def list(
        self, project_id: str, filters: PageFilters, *, cursor: str | None, limit: int
    ) -> tuple[Sequence[StoredPage], str | None]:
        """Return up to `limit` pages without content, newest first, and the next cursor.

        Raises:
            InvalidCursorError: The cursor is not this list's.
        """
        before = None if cursor is None else int(decode_cursor("pages", cursor, (int,))[0])

        def find(unit: UnitOfWork) -> tuple[Sequence[int], list[StoredPage]]:
            numbers = unit[PageRecords].page_numbers(filters, before=before, limit=limit + 1)
            return numbers, [*bounded_pages(unit, numbers[:limit])]

        numbers, found = await self.records.read(project_id, find)
        page = [self.accesses.counted(project_id, stored) for stored in found]
        more = len(numbers) > len(page)
        return page, encode_cursor("pages", page[-1].page_number) if page and more else None

    async def search(
        self,
        project_id: str,
        text: str,
        filters: PageFilters,
        *,
        cursor: str | None,
        limit: int,
    ) -> tuple[Sequence[Hit], str | None]:
        """Return up to `limit` pages that have the words of a text, best first, and a cursor.

        Those that have all words come first, then those that have most of them; before all of
        them stands a page whose id is in the text. What follows a cursor is ranked by the weights
        that the part before was ranked by, so the positions stay.

        Raises:
            InvalidPayloadError: There is nothing in `text` to search for.
            InvalidCursorError: The cursor is not this list's.
        """
        query = parse_search(text)
        listed = SearchList("page-search", text, filters.session_id, filters.modality)
        last, weights = listed.position(cursor)

        def search(unit: UnitOfWork) -> tuple[Found, Sequence[RankedMatch], list[StoredPage]]:
            place = page_place(unit, filters.session_id, filters.modality)
            found = find(query, [place], weights)
            named = [(IN_PAGES, number) for number in named_pages(unit, text, filters)]
            rest = found.after(named, last)
            wanted = [match.number for match in rest[:limit]]
            return found, rest, [*bounded_pages(unit, wanted, content_up_to=_SNIPPED_BYTES)]

        found, rest, pages = await self.records.read(project_id, search)
        counted = [self.accesses.counted(project_id, stored) for stored in pages]
        complete = {match.number for match in rest[:limit] if is_complete(match.rank)}

        def read() -> list[Hit]:
            passages = Passages(SearchQuery(tuple(found.terms) or query.terms))
            return [
                Hit(page, passages.of(stored_texts(page)), page.page_number in complete)
                for page in counted
            ]

        size_bytes = sum(len(page.descriptor) + len(page.content or b"") for page in pages)
        is_quick = size_bytes <= _AT_ONCE_BYTES
        hits = read() if is_quick else await anyio.to_thread.run_sync(read)
        if not pages or len(rest) == len(pages):
            return hits, None
        end = next(match for match in rest if match.number == pages[-1].page_number)
        return hits, listed.cursor(end, found.weights)


def page_place(
    unit: UnitOfWork, session_id: str | None, *modalities: Modality | None
) -> SearchPlace:
    """Return the index of pages, narrowed to a session and to modalities."""
    wanted = [each for each in modalities if each is not None]
    index = choose_page_index(unit)
    return SearchPlace(IN_PAGES, index, index.narrowed(session_id=session_id, modalities=wanted))


def named_pages(unit: UnitOfWork, text: str, filters: PageFilters) -> list[int]:
    """Return the numbers of the pages whose ids are in a query."""
    numbers = (unit[PageRecords].number_of(each, filters) for each in ids_in(text))
    return [number for number in numbers if number is not None]
