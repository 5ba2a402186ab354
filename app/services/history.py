"""The history of a session: every entry exactly as it was written, in the order of `seq`."""

from collections.abc import Sequence
from dataclasses import replace

from app.errors import NotFoundError
from app.models.cursor import decode_cursor, encode_cursor
from app.models.limits import Limits
from app.models.message import HistoryEntry, StoredHistoryMessage
from app.services.inline_media.data_uris import load_forms
from app.services.inline_media.restoring import StoredMedia
from app.services.pages.fault_messages import with_images
from app.stores.blobs import BlobStore
from app.stores.records import Records

_INLINE_PAGE_BYTES = 64 * 1024 * 1024
"""With media in their places, a page of a history ends with the entry that passes this."""


class History:
    """Replays the sessions of a project."""

    def __init__(self, records: Records, blobs: BlobStore, limits: Limits) -> None:
        self._records = records
        self._blobs = blobs
        self._limits = limits

    async def page(
        self, project_id: str, session_id: str, *, inline: bool, cursor: str | None, limit: int
    ) -> tuple[Sequence[HistoryEntry], str | None]:
        """Up to `limit` entries in the order of `seq`, and the cursor of the next page.

        A page ends earlier with the entry that passes 16 MiB.

        Args:
            project_id: The caller's project.
            session_id: Whose history.
            inline: Put the media of messages back where they were, byte for byte. A page ends
                then with the entry that passes 64 MiB with its media.
            cursor: Where the page before ended.
            limit: The most entries of a page.

        Raises:
            NotFoundError: Nothing was ever written to the session.
            InvalidCursorError: The cursor is not this list's.
            PayloadTooLargeError: A medium is too large to stand in an answer.
        """
        after_seq = 0
        if cursor is not None:
            after_seq = int(decode_cursor("messages", cursor, (int,))[0])
        async with self._records.read(project_id) as unit:
            session = await unit.sessions.find(session_id)
            if session is None:
                raise NotFoundError("session")
            page = await unit.sessions.entries(session_id, after_seq=after_seq, limit=limit)
        if inline:
            page = await self._with_media(project_id, page)
        # What was appended in between is for the next reader.
        more = bool(page) and page[-1].seq < session.last_seq
        return page, encode_cursor("messages", page[-1].seq) if more else None

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
