"""Manifests: lists of the pages of a session for a model, with one line for each page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio.to_thread

from app.errors import InvalidCursorError
from app.models.identity import decode_cursor, encode_cursor
from app.services.pages.stored_pages import read_descriptor, read_fields, read_pages
from app.services.requests.validation import require_found
from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.model.page import Level, ManifestPosition, StoredPage
from pagefault_dialects.pages.detail import ManifestEntry, format_manifest_lines, write_manifest
from pagefault_dialects.targets.tokens import count_tokens

_PAGES_AT_ONCE = 200
# The maximum number of pages in the text of a rendering.
_MAX_TEXT_PAGES = 10_000

# The text around the lines, with the note about further pages. Its tokens count as well.
_FRAME_TEXT = write_manifest([], following=10_000)

CountTokens = Callable[[str], int]
"""Returns the number of tokens of a text."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A list of the pages of a session for a model, or a part of the list."""

    session_id: str
    """The session."""
    entries: Sequence[ManifestEntry]
    """The pages, in the order of the list."""
    total: int
    """The number of pages of the session."""
    following: int
    """The number of pages after these."""
    next_cursor: str | None
    """The cursor of the next pages, if there are any."""

    @property
    def text(self) -> str:
        """The lines, and the number of pages after them, as a text for a model."""
        return write_manifest(self.entries, following=self.following)


@dataclass(frozen=True, slots=True)
class PageManifests:
    """Lists the pages of sessions for models."""

    records: Records

    async def get(
        self,
        project_id: str,
        session_id: str,
        *,
        limit: int,
        cursor: str | None = None,
        max_tokens: int | None = None,
        min_pages: int = 1,
        count: CountTokens = count_tokens,
    ) -> Manifest:
        """Return pages of the session: pinned ones first, then by importance, then newest first.

        Args:
            project_id: The caller's project.
            session_id: The session.
            limit: The maximum number of pages.
            cursor: The `next_cursor` of the previous list.
            max_tokens: The maximum number of tokens of the text.
            min_pages: The number of pages that are returned even above `max_tokens`.
            count: Counts the tokens of a text.

        Raises:
            NotFoundError: There is no such session.
            InvalidCursorError: The cursor belongs to another list.
        """
        after, listed_count = None, 0
        if cursor is not None:
            after, listed_count = _decode_cursor(cursor)
        entries: list[ManifestEntry] = []
        total = 0
        remaining_tokens = None if max_tokens is None else max_tokens - count(_FRAME_TEXT)
        while len(entries) < limit:
            size = min(_PAGES_AT_ONCE, limit - len(entries))
            found, total = await self._read(project_id, session_id, after=after, limit=size)
            if not found:
                break
            fitting, remaining_tokens = await anyio.to_thread.run_sync(
                _take_fitting, found, remaining_tokens, min_pages - len(entries), count
            )
            entries += fitting
            if fitting:
                after, _ = found[len(fitting) - 1]
            if len(fitting) < len(found):
                break
        following = max(0, total - listed_count - len(entries))
        next_cursor = None
        if following and entries and after is not None:
            # A cursor has only integers and strings, so the float is written as a string.
            position = (int(after.is_pinned), repr(after.importance), after.page_number)
            next_cursor = encode_cursor("manifest", *position, listed_count + len(entries))
        return Manifest(session_id, entries, total, following, next_cursor)

    async def text(
        self, project_id: str, session_id: str, *, max_tokens: int, count: CountTokens
    ) -> str:
        """Return the text of a list of pages with at most `max_tokens` tokens, for a rendering.

        Raises:
            NotFoundError: There is no such session.
        """
        listed = await self.get(
            project_id,
            session_id,
            limit=_MAX_TEXT_PAGES,
            max_tokens=max_tokens,
            min_pages=0,
            count=count,
        )
        return listed.text

    async def _read(
        self, project_id: str, session_id: str, *, after: ManifestPosition | None, limit: int
    ) -> tuple[Sequence[tuple[ManifestPosition, StoredPage]], int]:
        """Return the next pages with their positions, and the number of pages of the session."""

        def find(unit: UnitOfWork) -> tuple[Sequence[tuple[ManifestPosition, StoredPage]], int]:
            require_found(unit[SessionRecords].find(session_id), "session")
            listed = unit[PageRecords].find_manifest_positions(session_id, after=after, limit=limit)
            positions = {item.page_number: item for item in listed}
            pages = [(positions[page.page_number], page) for page in read_pages(unit, [*positions])]
            return pages, unit[PageRecords].count_in_session(session_id)

        return await self.records.read(project_id, find)


def _take_fitting(
    found: Sequence[tuple[ManifestPosition, StoredPage]],
    remaining_tokens: int | None,
    min_pages: int,
    count: CountTokens,
) -> tuple[list[ManifestEntry], int | None]:
    """Return entries for the first pages whose lines fit, and the number of remaining tokens.

    At least `min_pages` are returned, even if their lines do not fit.
    """
    fitting: list[ManifestEntry] = []
    for _, page in found:
        descriptor = read_descriptor(page)
        levels = [Level(number) for number in descriptor["levels"]]
        fields, size_tokens = read_fields(descriptor), descriptor["size_tokens"]
        entry = ManifestEntry(page.page_id, fields, levels, size_tokens)
        if remaining_tokens is not None:
            remaining_tokens -= count(
                "".join(f"{line}\n" for line in format_manifest_lines([entry]))
            )
            if remaining_tokens < 0 and len(fitting) >= min_pages:
                break
        fitting.append(entry)
    return fitting, remaining_tokens


def _decode_cursor(cursor: str) -> tuple[ManifestPosition, int]:
    """Return the position of the last page before the cursor, and the number of pages up to it."""
    shape = (int, str, int, int)
    pinned, importance, number, listed_count = decode_cursor("manifest", cursor, shape)
    try:
        return ManifestPosition(bool(pinned), float(importance), int(number)), int(listed_count)
    except ValueError as exc:
        raise InvalidCursorError from exc
