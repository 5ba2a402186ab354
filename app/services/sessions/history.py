"""The history of a session: every entry exactly as it was written, in the order of `seq`.

A history grows at its end and goes as a whole, so a list that others follow never changes, and the
last one only when the session is written to. Those that were read last are kept. Which session of
its name there is, and how far it has come, is asked each time: another process may have written to
it, deleted it, or made a new one.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from app.errors import NotFoundError
from app.models.identity import encode_cursor
from app.models.limits import Limits
from app.models.message import StoredEntry, StoredHistoryMessage
from app.services.inline_media.json_with_media import RenderedBody
from app.services.inline_media.stored_media import StoredMedia
from app.services.memory_budget.responses import ResponseBudget, ResponseMemory
from app.services.pages.message_images import insert_images
from app.services.requests.validation import require_found
from app.services.sessions.list_positions import read_start
from app.stores.blobs.store import BlobStore
from app.stores.records.history import HistoryHead, SessionHistory
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.history import history_entry, history_message_pieces
from app.wire.shape import list_page, list_page_pieces
from pagefault_dialects.media.embedded_data_uris import load_forms
from pagefault_dialects.model.render_options import JsonPiece, Rendering, rendering_of

_INLINE_LIST_BYTES = 64 * 1024 * 1024
"""With media in their places, a list of a history ends with the entry that passes this."""
_FREE_BYTES = 64 * 1024
"""Entries of no more than this are read without being counted."""
_COPIES = 3
"""How often entries are in memory while a list is made: the rows, each as JSON, the list."""
_CACHE_BYTES = 16 * 1024 * 1024
_LARGEST_CACHED_BYTES = 1024 * 1024

HeldEntry = tuple[StoredEntry, ResponseMemory | None]
"""An entry, and what was taken for it, if it is long; to be released when it is sent."""


@dataclass(frozen=True, slots=True)
class CachedList:
    """A list of a history as JSON, its SHA-256, and the cursor of the next if there is one."""

    body: bytes
    digest: str
    next_cursor: str | None
    held: ResponseMemory | None = None
    """What was taken for it, if it is long; to be released when it is sent."""


@dataclass(frozen=True, slots=True)
class ListPosition:
    """Which stretch of which history a list is."""

    project_id: str
    session_id: str
    after_seq: int
    limit: int


class HistoryCache:
    """The lists that were read last, up to 16 MiB of them."""

    def __init__(self) -> None:
        self._lists: OrderedDict[ListPosition, tuple[HistoryHead, CachedList]] = OrderedDict()
        self._size_bytes = 0

    def find(self, place: ListPosition, history_head: HistoryHead) -> CachedList | None:
        """Return the list, if it is known and would be read the same again.

        Args:
            place: Where it stands.
            history_head: How far its history has come by now.
        """
        before, listed = self._lists.get(place, (None, None))
        if before is None or listed is None or before.incarnation != history_head.incarnation:
            return None
        if listed.next_cursor is None and before.last_seq != history_head.last_seq:
            return None
        self._lists.move_to_end(place)
        return listed

    def keep(self, place: ListPosition, history_head: HistoryHead, listed: CachedList) -> None:
        """Keep a list that was read after its history was found to stand so."""
        self._drop(place)
        if history_head.incarnation is None or len(listed.body) > _LARGEST_CACHED_BYTES:
            return
        self._lists[place] = (history_head, listed)
        self._size_bytes += len(listed.body)
        while self._size_bytes > _CACHE_BYTES:
            self._drop(next(iter(self._lists)))

    def _drop(self, place: ListPosition) -> None:
        if place in self._lists:
            self._size_bytes -= len(self._lists.pop(place)[1].body)


@dataclass(frozen=True, slots=True)
class _Entries:
    """Entries that were read, whether others follow, and what is held for them."""

    history_head: HistoryHead
    entries: Sequence[StoredEntry]
    more: bool
    held: ResponseMemory | None = None


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Replays the sessions of a project."""

    records: Records
    blobs: BlobStore
    room: ResponseBudget
    limits: Limits
    _known: HistoryCache = field(init=False, default_factory=HistoryCache)

    async def list(
        self,
        project_id: str,
        session_id: str,
        *,
        cursor: str | None,
        after_seq: int | None,
        limit: int,
    ) -> CachedList:
        """Return up to `limit` entries in the order of `seq`, as JSON, and the next cursor.

        A list ends earlier with the entry that passes 16 MiB. The caller releases what is held
        for it.

        Args:
            project_id: The caller's project.
            session_id: Whose history.
            cursor: Where the list before ended.
            after_seq: Instead, the number behind which it begins.
            limit: The most entries of a list.

        Raises:
            NotFoundError: Nothing was ever written to the session.
            InvalidCursorError: The cursor is not this list's.
            InvalidPayloadError: A cursor and a number are given.
            OverloadedError: There is no memory for it; nothing was read.
        """
        start = read_start("messages", "A page of a history", cursor, after_seq)
        place = ListPosition(project_id, session_id, start, limit)
        found = await self.records.read(
            project_id, lambda unit: unit[SessionHistory].history_head(session_id)
        )
        head = require_found(found, "session")
        if known := self._known.find(place, head):
            return known
        read = await self._read(place)
        with _released_if_it_fails(read.held):
            next_cursor = encode_cursor("messages", read.entries[-1].seq) if read.more else None
            body = list_page(map(history_entry, read.entries), next_cursor)
            listed = CachedList(body, hashlib.sha256(body).hexdigest(), next_cursor)
            self._known.keep(place, read.history_head, listed)
            if read.held is not None:
                read.held.resize(len(body))
            return replace(listed, held=read.held)

    async def list_inline(
        self,
        project_id: str,
        session_id: str,
        *,
        cursor: str | None,
        after_seq: int | None,
        limit: int,
    ) -> tuple[RenderedBody, str | None]:
        """Return what `list` returns, with the media of messages in it, byte for byte.

        The media are read when the list is sent. It ends with the entry that passes 64 MiB with
        its media. For the arguments see `list`.

        Raises:
            PayloadTooLargeError: A medium is too large to stand in an answer.
            StoreUnavailableError: A store did not answer, or has lost a medium.
            Exception: See `list`.
        """
        start = read_start("messages", "A page of a history", cursor, after_seq)
        read = await self._read(ListPosition(project_id, session_id, start, limit))
        with _released_if_it_fails(read.held):
            shown: list[Sequence[JsonPiece]] = []
            size_bytes = 0
            for entry in read.entries:
                shown.append(await self._shown(project_id, entry))
                if isinstance(entry, StoredHistoryMessage):
                    size_bytes += Rendering(shown[-1]).size_bytes
                if size_bytes >= _INLINE_LIST_BYTES:
                    break
            more = read.more or len(shown) < len(read.entries)
            last_seq = read.entries[len(shown) - 1].seq if more else 0
            next_cursor = encode_cursor("messages", last_seq) if more else None
            rendering = rendering_of(list_page_pieces(shown, next_cursor))
            body = RenderedBody(self.blobs, project_id, rendering, held=read.held)
            return await body.check(), next_cursor

    async def entry(self, project_id: str, session_id: str, seq: int) -> HeldEntry:
        """Return the entry with this number. The caller releases what is held for it.

        Raises:
            NotFoundError: The session has none.
            OverloadedError: There is no memory for it; nothing was read.
        """
        read = await self._read(ListPosition(project_id, session_id, seq - 1, 1))
        with _released_if_it_fails(read.held):
            if not read.entries or read.entries[0].seq != seq:
                raise NotFoundError("entry")
        return read.entries[0], read.held

    async def inline_entry(self, project_id: str, session_id: str, seq: int) -> RenderedBody:
        """Return an entry with its media in place, byte for byte; they are read when it is sent.

        Raises:
            NotFoundError: The session has none.
            PayloadTooLargeError: A medium is too large to stand in an answer.
            StoreUnavailableError: A store did not answer, or has lost a medium.
        """
        entry, held = await self.entry(project_id, session_id, seq)
        with _released_if_it_fails(held):
            rendering = rendering_of(await self._shown(project_id, entry))
            return await RenderedBody(self.blobs, project_id, rendering, held=held).check()

    async def _read(self, place: ListPosition) -> _Entries:
        """Return the entries of a list, once there is memory for them."""
        read = partial(_entries, place=place, most_bytes=_FREE_BYTES)
        found = await self.records.read(place.project_id, read)
        if isinstance(found, _Entries):
            return found
        held = await self.room.hold(_COPIES * found)
        with _released_if_it_fails(held):
            while not isinstance(found, _Entries):
                # More may have been appended meanwhile.
                held.resize(_COPIES * found)
                read = partial(_entries, place=place, most_bytes=found)
                found = await self.records.read(place.project_id, read)
        return replace(found, held=held)

    async def _shown(self, project_id: str, entry: StoredEntry) -> Sequence[JsonPiece]:
        if not isinstance(entry, StoredHistoryMessage):
            return [history_entry(entry)]
        media = StoredMedia(self.records, self.blobs, project_id)
        limit_bytes = self.limits.inline_bytes
        if entry.is_page_fault:
            pieces = await insert_images(media, entry.message, limit_bytes=limit_bytes)
        else:
            forms = load_forms(entry.inline_form)
            pieces = await media.as_sent(entry.message, forms, limit_bytes=limit_bytes)
        return history_message_pieces(entry, pieces)


def _entries(unit: UnitOfWork, place: ListPosition, *, most_bytes: int) -> _Entries | int:
    """Return the entries of a list and whether others follow, or their bytes if there are more."""
    head = require_found(unit[SessionHistory].history_head(place.session_id), "session")
    stretch = unit[SessionHistory].stretch(
        place.session_id, after_seq=place.after_seq, limit=place.limit
    )
    if stretch.size_bytes > most_bytes:
        return stretch.size_bytes
    entries = stretch.entries()
    last_seq = entries[-1].seq if entries else head.last_seq
    # What was appended meanwhile is for the next list.
    more = last_seq < head.last_seq and unit[SessionHistory].has_entries(
        place.session_id, after_seq=last_seq
    )
    return _Entries(head, entries, more)


@contextmanager
def _released_if_it_fails(held: ResponseMemory | None) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if held is not None:
            held.release()
        raise
