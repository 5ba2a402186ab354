"""The history of a session: every entry exactly as it was written, in the order of `seq`."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from app.errors import Fault, InvalidPayloadError, NotFoundError
from app.models.cursor import decode_cursor, encode_cursor
from app.models.limits import Limits
from app.models.message import HistoryEntry, StoredHistoryMessage
from app.models.rendering import JsonPiece, Rendering, rendering_of
from app.services.inline_media.json_with_media import RenderedBody
from app.services.inline_media.stored_media import StoredMedia
from app.services.memory_budget.responses import ResponseBudget, ResponseMemory
from app.services.pages.media import with_images
from app.services.requests.data_uris import load_forms
from app.services.sessions.history_cache import CachedList, HistoryCache, ListPosition
from app.stores.blobs import BlobStore
from app.stores.records import Records, UnitOfWork
from app.stores.records.history import HistoryHead
from app.wire.history import history_entry, history_message_pieces
from app.wire.lists import list_page, list_page_pieces

_INLINE_PAGE_BYTES = 64 * 1024 * 1024
"""With media in their places, a page of a history ends with the entry that passes this."""
_FREE_BYTES = 64 * 1024
"""Entries of no more than this are read without being counted."""
_COPIES = 3
"""How often entries are in memory while a page is made: the rows, each as JSON, the page."""


@dataclass(frozen=True, slots=True)
class InlinePage:
    """A page of a history with media in it, and the cursor of the next page if there is one."""

    body: RenderedBody
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class HeldEntry:
    """An entry, and what was taken for it, if it is long; to be released when it is sent."""

    entry: HistoryEntry
    held: ResponseMemory | None


@dataclass(frozen=True, slots=True)
class _Entries:
    """Entries that were read, whether others follow, and what is held for them."""

    history_head: HistoryHead
    entries: Sequence[HistoryEntry]
    more: bool
    held: ResponseMemory | None = None


class History:
    """Replays the sessions of a project."""

    def __init__(
        self, records: Records, blobs: BlobStore, room: ResponseBudget, *, limits: Limits
    ) -> None:
        self._records = records
        self._blobs = blobs
        self._room = room
        self._limits = limits
        self._known = HistoryCache()

    async def page(
        self,
        project_id: str,
        session_id: str,
        *,
        cursor: str | None,
        after_seq: int | None,
        limit: int,
    ) -> CachedList:
        """Up to `limit` entries in the order of `seq`, as JSON, and the cursor of the next page.

        A page ends earlier with the entry that passes 16 MiB. The caller releases what is held
        for it.

        Args:
            project_id: The caller's project.
            session_id: Whose history.
            cursor: Where the page before ended.
            after_seq: Instead, the number behind which it begins.
            limit: The most entries of a page.

        Raises:
            NotFoundError: Nothing was ever written to the session.
            InvalidCursorError: The cursor is not this list's.
            InvalidPayloadError: A cursor and a number are given.
            OverloadedError: There is no memory for it; nothing was read.
        """
        place = ListPosition(project_id, session_id, _start(cursor, after_seq), limit)
        read = await self._known_or_read(place)
        if isinstance(read, CachedList):
            return read
        with _released_if_it_fails(read.held):
            page = _listed(read.entries, more=read.more)
            self._known.keep(place, read.history_head, page)
            if read.held is None:
                return page
            read.held.resize(len(page.body))
            return replace(page, held=read.held)

    async def inline_page(
        self,
        project_id: str,
        session_id: str,
        *,
        cursor: str | None,
        after_seq: int | None,
        limit: int,
    ) -> InlinePage:
        """Return the page that `page` returns, with the media of messages in it, byte for byte.

        The media are read when the page is sent. It ends with the entry that passes 64 MiB with
        its media.

        Args:
            project_id: The caller's project.
            session_id: Whose history.
            cursor: Where the page before ended.
            after_seq: Instead, the number behind which it begins.
            limit: The most entries of a page.

        Raises:
            NotFoundError: Nothing was ever written to the session.
            InvalidCursorError: The cursor is not this list's.
            InvalidPayloadError: A cursor and a number are given.
            PayloadTooLargeError: A medium is too large to stand in an answer.
            StoreUnavailableError: A store did not answer, or has lost a medium.
            OverloadedError: There is no memory for its text; nothing was read.
        """
        place = ListPosition(project_id, session_id, _start(cursor, after_seq), limit)
        read = await self._read(place)
        with _released_if_it_fails(read.held):
            shown = await self._with_media(project_id, read.entries)
            more = read.more or len(shown) < len(read.entries)
            last_seq = read.entries[len(shown) - 1].seq if more else 0
            next_cursor = encode_cursor("messages", last_seq) if more else None
            pieces = list_page_pieces(shown, next_cursor)
            body = await self._checked(project_id, pieces, held=read.held)
        return InlinePage(body, next_cursor)

    async def entry(self, project_id: str, session_id: str, seq: int) -> HeldEntry:
        """The entry with this number. The caller releases what is held for it.

        Raises:
            NotFoundError: The session has none.
            OverloadedError: There is no memory for it; nothing was read.
        """
        place = ListPosition(project_id, session_id, seq - 1, 1)
        read = await self._read(place)
        with _released_if_it_fails(read.held):
            if not read.entries or read.entries[0].seq != seq:
                raise NotFoundError("entry")
        return HeldEntry(read.entries[0], read.held)

    async def inline_entry(self, project_id: str, session_id: str, seq: int) -> RenderedBody:
        """The same with its media where they were, byte for byte; they are read when it is sent.

        Raises:
            NotFoundError: The session has none.
            PayloadTooLargeError: A medium is too large to stand in an answer.
            StoreUnavailableError: A store did not answer, or has lost a medium.
        """
        found = await self.entry(project_id, session_id, seq)
        media = StoredMedia(self._records, self._blobs, project_id)
        with _released_if_it_fails(found.held):
            pieces = await self._shown(media, found.entry)
            return await self._checked(project_id, pieces, held=found.held)

    async def _checked(
        self,
        project_id: str,
        pieces: Sequence[JsonPiece],
        *,
        held: ResponseMemory | None = None,
    ) -> RenderedBody:
        body = RenderedBody(self._blobs, project_id, rendering_of(pieces), held=held)
        await body.check()
        return body

    async def _known_or_read(self, place: ListPosition) -> CachedList | _Entries:
        """The page, if it is known, else its entries, once there is memory for them."""
        history_head = await self._records.read(
            place.project_id, lambda unit: _history_head(unit, place.session_id)
        )
        return self._known.find(place, history_head) or await self._read(place)

    async def _read(self, place: ListPosition) -> _Entries:
        """The entries of a page, once there is memory for them."""
        read = partial(_entries, place=place, most_bytes=_FREE_BYTES)
        found = await self._records.read(place.project_id, read)
        if isinstance(found, _Entries):
            return found
        held = await self._room.hold(_COPIES * found)
        with _released_if_it_fails(held):
            while not isinstance(found, _Entries):
                # More may have been appended meanwhile.
                held.resize(_COPIES * found)
                read = partial(_entries, place=place, most_bytes=found)
                found = await self._records.read(place.project_id, read)
        return replace(found, held=held)

    async def _with_media(
        self, project_id: str, entries: Sequence[HistoryEntry]
    ) -> Sequence[Sequence[JsonPiece]]:
        media = StoredMedia(self._records, self._blobs, project_id)
        shown: list[Sequence[JsonPiece]] = []
        size_bytes = 0
        for entry in entries:
            shown.append(await self._shown(media, entry))
            if isinstance(entry, StoredHistoryMessage):
                size_bytes += Rendering(shown[-1]).size_bytes
            if size_bytes >= _INLINE_PAGE_BYTES:
                break
        return shown

    async def _shown(self, media: StoredMedia, entry: HistoryEntry) -> Sequence[JsonPiece]:
        if not isinstance(entry, StoredHistoryMessage):
            return [history_entry(entry)]
        limit_bytes = self._limits.inline_bytes
        if entry.is_page_fault:
            pieces = await with_images(media, entry.message, limit_bytes=limit_bytes)
        else:
            forms = load_forms(entry.inline_form)
            pieces = await media.as_sent(entry.message, forms, limit_bytes=limit_bytes)
        return history_message_pieces(entry, pieces)


def _history_head(unit: UnitOfWork, session_id: str) -> HistoryHead:
    history_head = unit.sessions.history_head(session_id)
    if history_head is None:
        raise NotFoundError("session")
    return history_head


def _entries(unit: UnitOfWork, place: ListPosition, *, most_bytes: int) -> _Entries | int:
    """The entries of a page, and whether the history goes on; if they have more bytes, how many."""
    history_head = _history_head(unit, place.session_id)
    stretch = unit.sessions.stretch(place.session_id, after_seq=place.after_seq, limit=place.limit)
    if stretch.size_bytes > most_bytes:
        return stretch.size_bytes
    entries = stretch.entries()
    more = _are_more(unit, stretch.session_id, history_head=history_head, page=entries)
    return _Entries(history_head, entries, more)


@contextmanager
def _released_if_it_fails(held: ResponseMemory | None) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if held is not None:
            held.release()
        raise


def _listed(entries: Sequence[HistoryEntry], *, more: bool) -> CachedList:
    next_cursor = encode_cursor("messages", entries[-1].seq) if more else None
    body = list_page(map(history_entry, entries), next_cursor)
    return CachedList(body, hashlib.sha256(body).hexdigest(), next_cursor)


def _are_more(
    unit: UnitOfWork, session_id: str, *, history_head: HistoryHead, page: Sequence[HistoryEntry]
) -> bool:
    """Whether the history goes on behind a page; what was appended meanwhile is for the next."""
    if not page or page[-1].seq >= history_head.last_seq:
        return False
    return unit.sessions.has_entries(session_id, after_seq=page[-1].seq)


def _start(cursor: str | None, after_seq: int | None) -> int:
    """The `seq` behind which a page begins."""
    if cursor is None:
        return after_seq or 0
    if after_seq is not None:
        raise InvalidPayloadError(
            "A page of a history begins behind a cursor or behind a number: leave one out.",
            faults=[Fault("/query/after", "stands beside a cursor")],
        )
    return int(decode_cursor("messages", cursor, (int,))[0])
