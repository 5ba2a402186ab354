"""The history of a session: every entry exactly as it was written, in the order of `seq`.

Entries are only appended, and a history is only deleted as a whole. So a list with a next cursor
never changes, and the last list changes only with a write to the session. Lists are cached.
The incarnation of the session and its last `seq` are read from the database for each request, since
other processes write to it, delete it or create it again.
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
"""Size with inline media at which a list of a history ends."""
_FREE_BYTES = 64 * 1024
"""Size up to which entries are read without reserving memory."""
_COPIES = 3
"""Copies in memory while a list is made: the rows, each entry as JSON, the list."""
_CACHE_BYTES = 16 * 1024 * 1024
_MAX_CACHED_BYTES = 1024 * 1024

EntryWithMemory = tuple[StoredEntry, ResponseMemory | None]
"""An entry, and its memory if it is long, which is released when the entry is sent."""


@dataclass(frozen=True, slots=True)
class CachedList:
    """A list of a history as JSON, its SHA-256, and the cursor of the next if there is one."""

    body: bytes
    digest: str
    next_cursor: str | None
    memory: ResponseMemory | None = None
    """Its memory if it is long, which is released when the list is sent."""


@dataclass(frozen=True, slots=True)
class ListPosition:
    """The range of the entries in a list."""

    project_id: str
    session_id: str
    after_seq: int
    limit: int


class HistoryCache:
    """A cache of the last lists that were read, up to 16 MiB."""

    def __init__(self) -> None:
        self._lists: OrderedDict[ListPosition, tuple[HistoryHead, CachedList]] = OrderedDict()
        self._size_bytes = 0

    def find(self, position: ListPosition, history_head: HistoryHead) -> CachedList | None:
        """Return the list if it is cached and unchanged.

        Args:
            position: The range of the list.
            history_head: The current head of the history.
        """
        cached_head, listed = self._lists.get(position, (None, None))
        if (
            cached_head is None
            or listed is None
            or cached_head.incarnation != history_head.incarnation
        ):
            return None
        if listed.next_cursor is None and cached_head.last_seq != history_head.last_seq:
            return None
        self._lists.move_to_end(position)
        return listed

    def put(self, position: ListPosition, history_head: HistoryHead, listed: CachedList) -> None:
        """Add a list that was read after its history had this head."""
        self._drop(position)
        if history_head.incarnation is None or len(listed.body) > _MAX_CACHED_BYTES:
            return
        self._lists[position] = (history_head, listed)
        self._size_bytes += len(listed.body)
        while self._size_bytes > _CACHE_BYTES:
            self._drop(next(iter(self._lists)))

    def _drop(self, position: ListPosition) -> None:
        if position in self._lists:
            self._size_bytes -= len(self._lists.pop(position)[1].body)


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries of a list and their memory; `has_more` is true if others follow."""

    history_head: HistoryHead
    entries: Sequence[StoredEntry]
    has_more: bool
    memory: ResponseMemory | None = None


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Reads the histories of sessions."""

    records: Records
    blobs: BlobStore
    memory: ResponseBudget
    limits: Limits
    _cache: HistoryCache = field(init=False, default_factory=HistoryCache)

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

        A list ends before the limit if it reaches 16 MiB. The caller releases its memory.

        Args:
            project_id: The caller's project.
            session_id: The session.
            cursor: The cursor of the previous list.
            after_seq: The `seq` before the first entry, instead of a cursor.
            limit: The maximum of entries.

        Raises:
            NotFoundError: The session does not exist.
            InvalidCursorError: The cursor is of another list.
            InvalidPayloadError: The request has both a cursor and a number.
            OverloadedError: The memory budget is exhausted; nothing was read.
        """
        start = read_start("messages", "A page of a history", cursor, after_seq)
        position = ListPosition(project_id, session_id, start, limit)
        current_head = await self.records.read(
            project_id, lambda unit: unit[SessionHistory].history_head(session_id)
        )
        head = require_found(current_head, "session")
        if cached := self._cache.find(position, head):
            return cached
        read = await self._read(position)
        with _release_on_error(read.memory):
            next_cursor = encode_cursor("messages", read.entries[-1].seq) if read.has_more else None
            body = list_page(map(history_entry, read.entries), next_cursor)
            listed = CachedList(body, hashlib.sha256(body).hexdigest(), next_cursor)
            self._cache.put(position, read.history_head, listed)
            if read.memory is not None:
                read.memory.resize(len(body))
            return replace(listed, memory=read.memory)

    async def list_inline(
        self,
        project_id: str,
        session_id: str,
        *,
        cursor: str | None,
        after_seq: int | None,
        limit: int,
    ) -> tuple[RenderedBody, str | None]:
        """Return a list with the media of its messages inline, byte for byte.

        The media are read while the list is sent. It ends before the limit if it reaches 64 MiB
        with media. For the arguments see `list`.

        Raises:
            PayloadTooLargeError: A medium is too large for a response.
            StoreUnavailableError: A store did not answer, or has lost a medium.
            Exception: See `list`.
        """
        start = read_start("messages", "A page of a history", cursor, after_seq)
        read = await self._read(ListPosition(project_id, session_id, start, limit))
        with _release_on_error(read.memory):
            rendered: list[Sequence[JsonPiece]] = []
            size_bytes = 0
            for entry in read.entries:
                rendered.append(await self._entry_pieces(project_id, entry))
                if isinstance(entry, StoredHistoryMessage):
                    size_bytes += Rendering(rendered[-1]).size_bytes
                if size_bytes >= _INLINE_LIST_BYTES:
                    break
            has_more = read.has_more or len(rendered) < len(read.entries)
            last_seq = read.entries[len(rendered) - 1].seq if has_more else 0
            next_cursor = encode_cursor("messages", last_seq) if has_more else None
            rendering = rendering_of(list_page_pieces(rendered, next_cursor))
            body = RenderedBody(self.blobs, project_id, rendering, memory=read.memory)
            return await body.check(), next_cursor

    async def entry(self, project_id: str, session_id: str, seq: int) -> EntryWithMemory:
        """Return the entry with this `seq`. The caller releases its memory.

        Raises:
            NotFoundError: The session has no such entry.
            OverloadedError: The memory budget is exhausted; nothing was read.
        """
        read = await self._read(ListPosition(project_id, session_id, seq - 1, 1))
        with _release_on_error(read.memory):
            if not read.entries or read.entries[0].seq != seq:
                raise NotFoundError("entry")
        return read.entries[0], read.memory

    async def inline_entry(self, project_id: str, session_id: str, seq: int) -> RenderedBody:
        """Return an entry with its media inline, byte for byte; they are read when it is sent.

        Raises:
            NotFoundError: The session has no such entry.
            PayloadTooLargeError: A medium is too large for a response.
            StoreUnavailableError: A store did not answer, or has lost a medium.
        """
        entry, memory = await self.entry(project_id, session_id, seq)
        with _release_on_error(memory):
            rendering = rendering_of(await self._entry_pieces(project_id, entry))
            return await RenderedBody(self.blobs, project_id, rendering, memory=memory).check()

    async def _read(self, position: ListPosition) -> _Entries:
        """Return the entries of a list, after reserving memory for them."""
        read = partial(_read_entries, position=position, max_bytes=_FREE_BYTES)
        found = await self.records.read(position.project_id, read)
        if isinstance(found, _Entries):
            return found
        memory = await self.memory.reserve(_COPIES * found)
        with _release_on_error(memory):
            while not isinstance(found, _Entries):
                # Entries may have been appended meanwhile.
                memory.resize(_COPIES * found)
                read = partial(_read_entries, position=position, max_bytes=found)
                found = await self.records.read(position.project_id, read)
        return replace(found, memory=memory)

    async def _entry_pieces(self, project_id: str, entry: StoredEntry) -> Sequence[JsonPiece]:
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


def _read_entries(unit: UnitOfWork, position: ListPosition, *, max_bytes: int) -> _Entries | int:
    """Return the entries of a list, or their size in bytes if it is above `max_bytes`."""
    head = require_found(unit[SessionHistory].history_head(position.session_id), "session")
    stretch = unit[SessionHistory].stretch(
        position.session_id, after_seq=position.after_seq, limit=position.limit
    )
    if stretch.size_bytes > max_bytes:
        return stretch.size_bytes
    entries = stretch.entries()
    last_seq = entries[-1].seq if entries else head.last_seq
    # Entries that were appended meanwhile are in the next list.
    has_more = last_seq < head.last_seq and unit[SessionHistory].has_entries(
        position.session_id, after_seq=last_seq
    )
    return _Entries(head, entries, has_more)


@contextmanager
def _release_on_error(memory: ResponseMemory | None) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if memory is not None:
            memory.release()
        raise
