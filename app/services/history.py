"""The history of a session: every entry exactly as it was written, in the order of `seq`."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from app.errors import Fault, InvalidPayloadError, NotFoundError
from app.models.cursor import decode_cursor, encode_cursor
from app.models.limits import Limits
from app.models.message import HistoryEntry, StoredHistoryMessage
from app.rendering.envelopes import history_entry, list_page
from app.services.history_pages import KnownPages, ListedPage, Place
from app.services.inline_media.data_uris import load_forms
from app.services.inline_media.restoring import StoredMedia
from app.services.pages.fault_messages import with_images
from app.stores.blobs import BlobStore
from app.stores.records import Records, UnitOfWork
from app.stores.records.history import Standing

_INLINE_PAGE_BYTES = 64 * 1024 * 1024
"""With media in their places, a page of a history ends with the entry that passes this."""


class History:
    """Replays the sessions of a project."""

    def __init__(self, records: Records, blobs: BlobStore, limits: Limits) -> None:
        self._records = records
        self._blobs = blobs
        self._limits = limits
        self._known = KnownPages()

    async def page(
        self,
        project_id: str,
        session_id: str,
        *,
        inline: bool,
        cursor: str | None,
        after_seq: int | None,
        limit: int,
    ) -> ListedPage:
        """Up to `limit` entries in the order of `seq`, as JSON, and the cursor of the next page.

        A page ends earlier with the entry that passes 16 MiB.

        Args:
            project_id: The caller's project.
            session_id: Whose history.
            inline: Put the media of messages back where they were, byte for byte. A page ends
                then with the entry that passes 64 MiB with its media.
            cursor: Where the page before ended.
            after_seq: Instead, the number behind which it begins.
            limit: The most entries of a page.

        Raises:
            NotFoundError: Nothing was ever written to the session.
            InvalidCursorError: The cursor is not this list's.
            InvalidPayloadError: A cursor and a number are given.
            PayloadTooLargeError: A medium is too large to stand in an answer.
        """
        place = Place(project_id, session_id, _start(cursor, after_seq), limit)
        async with self._records.read(project_id) as unit:
            standing = await unit.sessions.standing(session_id)
            if standing is None:
                raise NotFoundError("session")
            if not inline and (known := self._known.find(place, standing)):
                return known
            entries = await unit.sessions.entries(
                session_id, after_seq=place.after_seq, limit=limit
            )
            more = await _are_more(unit, session_id, standing=standing, page=entries)
        if inline:
            shown = await self._with_media(project_id, entries)
            return _listed(shown, more=more or len(shown) < len(entries))
        page = _listed(entries, more=more)
        self._known.keep(place, standing, page)
        return page

    async def entry(
        self, project_id: str, session_id: str, seq: int, *, inline: bool
    ) -> HistoryEntry:
        """The entry with this number.

        Raises:
            NotFoundError: The session has none.
            PayloadTooLargeError: A medium is too large to stand in an answer.
        """
        async with self._records.read(project_id) as unit:
            found = await unit.sessions.entries(session_id, after_seq=seq - 1, limit=1)
        if not found or found[0].seq != seq:
            raise NotFoundError("entry")
        return (await self._with_media(project_id, found))[0] if inline else found[0]

    async def _with_media(
        self, project_id: str, entries: Sequence[HistoryEntry]
    ) -> Sequence[HistoryEntry]:
        media = StoredMedia(self._records, self._blobs, project_id)
        shown: list[HistoryEntry] = []
        size_bytes = 0
        for entry in entries:
            if isinstance(entry, StoredHistoryMessage):
                text = await self._as_sent(media, entry)
                size_bytes += len(text)
                shown.append(replace(entry, message=text))
            else:
                shown.append(entry)
            if size_bytes >= _INLINE_PAGE_BYTES:
                break
        return shown

    async def _as_sent(self, media: StoredMedia, entry: StoredHistoryMessage) -> bytes:
        if entry.is_page_fault:
            return await with_images(media, entry.message, limit_bytes=self._limits.inline_bytes)
        return await media.as_sent(
            entry.message, load_forms(entry.inline_form), limit_bytes=self._limits.inline_bytes
        )


def _listed(entries: Sequence[HistoryEntry], *, more: bool) -> ListedPage:
    next_cursor = encode_cursor("messages", entries[-1].seq) if more else None
    body = list_page(map(history_entry, entries), next_cursor)
    return ListedPage(body, hashlib.sha256(body).hexdigest(), next_cursor)


async def _are_more(
    unit: UnitOfWork, session_id: str, *, standing: Standing, page: Sequence[HistoryEntry]
) -> bool:
    """Whether the history goes on behind a page; what was appended meanwhile is for the next."""
    if not page or page[-1].seq >= standing.last_seq:
        return False
    return await unit.sessions.has_entries(session_id, after_seq=page[-1].seq)


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
