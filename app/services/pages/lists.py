"""Pages found: listed and searched."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import anyio.to_thread

from app.errors import InvalidCursorError
from app.models.identity import CLIENT_ID, decode_cursor, encode_cursor
from app.models.json_value import json_text
from app.models.page import PageFilters, StoredPage
from app.models.search import SearchQuery, parse_search
from app.rendering.texts.snippets import Passages
from app.services.pages.accesses import AccessCounts
from app.services.pages.versions import stored_texts
from app.stores.records import Records, UnitOfWork

# Beyond this a hit is shown by what is said about the page, not by its text.
_SNIPPED_BYTES = 64 * 1024
# What lists hold is small as a rule; a page whose fields are a megabyte must not make them large.
_LARGEST_ANSWER_BYTES = 8 * 1024 * 1024
_PAGES_AT_ONCE = 32
# So many are read and looked through in no more time than handing them to a thread takes.
_AT_ONCE_BYTES = 64 * 1024
# Above any rank: a page has no more words than it has bytes.
_RANK_OF_THE_NAMED = 2**62


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that a search has found, and the passage it was found by, if one can be shown."""

    page: StoredPage
    snippet: str | None


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
        before = None
        if cursor is not None:
            before = int(decode_cursor("pages", cursor, (int,))[0])

        def find(unit: UnitOfWork) -> tuple[Sequence[int], list[StoredPage]]:
            numbers = unit.pages.page_numbers(filters, before=before, limit=limit + 1)
            return numbers, _bounded(unit, numbers[:limit])

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
        """Return up to `limit` pages that hold all words of a text, best first, and a cursor.

        Before all of them stands the page whose id the text is. A page's rank changes only with its
        own words, so the positions of the others stay.

        Raises:
            InvalidPayloadError: There is nothing in `text` to search for.
            InvalidCursorError: The cursor is not this list's.
        """
        query = parse_search(text)
        may_be_id = CLIENT_ID.match(text.strip()) is not None
        # What tells a search from another one, for its cursors.
        described = json_text([text, filters.session_id, filters.modality])
        asked = hashlib.sha256(described.encode("utf-8", "replace")).hexdigest()[:16]
        after = None
        if cursor is not None:
            of, rank, number = decode_cursor("page-search", cursor, (str, int, int))
            if of != asked:
                raise InvalidCursorError
            after = (int(rank), int(number))

        def find(unit: UnitOfWork) -> tuple[list[tuple[int, int]], list[StoredPage]]:
            matches = unit.page_search.find(
                query, session_id=filters.session_id, modality=filters.modality
            )
            # Best first, and of equals the newest.
            rest = [(rank, number) for number, rank in matches]
            named = unit.pages.number_of(text.strip(), filters) if may_be_id else None
            if named is not None:
                others = (match for match in rest if match[1] != named)
                rest = [(_RANK_OF_THE_NAMED, named), *others]
            if after is not None:
                rest = [match for match in rest if match < after]
            wanted = [number for _, number in rest[:limit]]
            return rest, _bounded(unit, wanted, content_up_to=_SNIPPED_BYTES)

        rest, found = await self.records.read(project_id, find)
        counted = [self.accesses.counted(project_id, stored) for stored in found]
        hits = await _hits(counted, query)
        if not found or len(rest) == len(found):
            return hits, None
        last = next(match for match in rest if match[1] == found[-1].page_number)
        return hits, encode_cursor("page-search", asked, *last)


def _bounded(
    unit: UnitOfWork, numbers: Sequence[int], *, content_up_to: int | None = None
) -> list[StoredPage]:
    """Return pages with these numbers, in this order, as many as an answer may hold, or one.

    One that was deleted meanwhile is missing.
    """
    found: list[StoredPage] = []
    size_bytes = 0
    for start in range(0, len(numbers), _PAGES_AT_ONCE):
        batch = numbers[start : start + _PAGES_AT_ONCE]
        stored = unit.pages.numbered(batch, content_up_to=content_up_to)
        for page in (stored[number] for number in batch if number in stored):
            size_bytes += len(page.descriptor)
            if found and size_bytes > _LARGEST_ANSWER_BYTES:
                return found
            found.append(page)
    return found


async def _hits(pages: Sequence[StoredPage], query: SearchQuery) -> list[Hit]:
    def read() -> list[Hit]:
        passages = Passages(query)
        return [Hit(page, passages.of(stored_texts(page))) for page in pages]

    size_bytes = sum(len(page.descriptor) + len(page.content or b"") for page in pages)
    return read() if size_bytes <= _AT_ONCE_BYTES else await anyio.to_thread.run_sync(read)
