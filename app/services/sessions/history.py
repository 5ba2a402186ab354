"""The history of a session: every entry exactly as it was written, in the order of `seq`.

Entries are only appended, and a history is only deleted as a whole. So a list with a next cursor
never changes, and the last list changes only with a write to the session. Each process caches the
lists that it read last. Other processes may write to the session, delete it or create it again, so
its incarnation and its last `seq` are read from the database for each request.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from cachetools import LRUCache

from app.errors import NotFoundError
from app.models.identity import encode_cursor
from app.models.limits import Limits
from app.models.message import StoredEntry, StoredHistoryMessage
from app.services.inline_media.json_with_media import RenderedBody
from app.services.inline_media.stored_media import StoredMedia
from app.services.memory_budget.responses import ResponseBudget, ResponseMemory
from app.services.pages.message_images import insert_images
from app.services.requests.validation import require_found
from app.services.sessions.list_positions import find_list_start
from app.stores.blobs.store import BlobStore
from app.stores.records.history import HistoryHead, SessionHistory
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.history import encode_history_entry, encode_message_pieces
from app.wire.shape import encode_cursor_list, encode_cursor_list_pieces
from pagefault_dialects.media.embedded_data_uris import load_forms
from pagefault_dialects.model.render_options import JsonPiece, Rendering, rendering_of

_INLINE_LIST_BYTES = 64 * 1024 * 1024
"""The size with inline media at which a list of a history ends."""
_UNRESERVED_BYTES = 64 * 1024
"""The size up to which entries are read without reserving memory."""
_COPIES = 3
"""The copies in memory while a list is made: the rows, each entry as JSON, and the list."""
_CACHE_BYTES = 16 * 1024 * 1024
_MAX_CACHED_BYTES = 1024 * 1024

EntryWithMemory = tuple[StoredEntry, ResponseMemory | None]
"""An entry, and the memory that was reserved for a long one, to release when it is sent."""


@dataclass(frozen=True, slots=True)
class CachedList:
    """A list of a history as JSON."""

    body: bytes
    digest: str
    """The SHA-256 of the body as hex digits."""
    next_cursor: str | None
    """The cursor of the next list, if there is one."""
    memory: ResponseMemory | None = None
    """The memory that was reserved for a long list, to release when the list is sent."""


@dataclass(frozen=True, slots=True)
class ListRange:
    """The range of the entries in a list."""

    project_id: str
    session_id: str
    after_seq: int
    limit: int


class HistoryCache:
    """A cache of up to 16 MiB with the lists that were read last."""

    def __init__(self) -> None:
        self._lists = LRUCache[ListRange, tuple[HistoryHead, CachedList]](
            _CACHE_BYTES, lambda cached: len(cached[1].body)
        )

    def find(self, list_range: ListRange, history_head: HistoryHead) -> CachedList | None:
        """Return the list if it is cached and unchanged.

        Args:
            list_range: The range of the list.
            history_head: The current head of the history.
        """
        cached_head, listed = self._lists.get(list_range, (None, None))
        if (
            cached_head is None
            or listed is None
            or cached_head.incarnation != history_head.incarnation
        ):
            return None
        if listed.next_cursor is None and cached_head.last_seq != history_head.last_seq:
            return None
        return listed

    def put(self, list_range: ListRange, history_head: HistoryHead, listed: CachedList) -> None:
        """Add a list. The history had this head before or while the list was read."""
        if history_head.incarnation is not None and len(listed.body) <= _MAX_CACHED_BYTES:
            self._lists[list_range] = (history_head, listed)
        else:
            self._lists.pop(list_range, None)


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries of a list."""

    history_head: HistoryHead
    """The head of the history when the entries were read."""
    entries: Sequence[StoredEntry]
    has_more: bool
    """True if other entries follow."""
    memory: ResponseMemory | None = None
    """The memory that was reserved for the entries, if they are long."""


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

        A list ends before the limit if it reaches 16 MiB. The caller releases `memory`.

        Args:
            project_id: The caller's project.
            session_id: The session.
            cursor: The cursor that the previous list has returned.
            after_seq: The `seq` before the first entry, instead of a cursor.
            limit: The maximum number of entries.

        Raises:
            NotFoundError: The session does not exist.
            InvalidCursorError: The cursor belongs to another list.
            InvalidPayloadError: `cursor` and `after_seq` are both set.
            OverloadedError: The memory budget is exhausted; nothing was read.
        """
        start = find_list_start("messages", "A page of a history", cursor, after_seq)
        list_range = ListRange(project_id, session_id, start, limit)
        current_head = await self.records.read(
            project_id, lambda unit: unit[SessionHistory].find_head(session_id)
        )
        head = require_found(current_head, "session")
        if cached := self._cache.find(list_range, head):
            return cached
        found = await self._read(list_range)
        with _release_on_error(found.memory):
            next_cursor = (
                encode_cursor("messages", found.entries[-1].seq) if found.has_more else None
            )
            body = encode_cursor_list(map(encode_history_entry, found.entries), next_cursor)
            listed = CachedList(body, hashlib.sha256(body).hexdigest(), next_cursor)
            self._cache.put(list_range, found.history_head, listed)
            if found.memory is not None:
                found.memory.resize(len(body))
            return replace(listed, memory=found.memory)

    async def list_inline(
        self,
        project_id: str,
        session_id: str,
        *,
        cursor: str | None,
        after_seq: int | None,
        limit: int,
    ) -> tuple[RenderedBody, str | None]:
        """Return a list whose messages have their media inline, byte for byte, and the next cursor.

        The media are read while the list is sent. A list ends before the limit if it reaches 64 MiB
        with media. For the arguments see `list`.

        Raises:
            PayloadTooLargeError: A medium is too large for a response.
            StoreUnavailableError: A store did not respond, or has lost a medium.
            Exception: See `list`.
        """
        start = find_list_start("messages", "A page of a history", cursor, after_seq)
        found = await self._read(ListRange(project_id, session_id, start, limit))
        with _release_on_error(found.memory):
            rendered: list[Sequence[JsonPiece]] = []
            size_bytes = 0
            for entry in found.entries:
                rendered.append(await self._entry_pieces(project_id, entry))
                if isinstance(entry, StoredHistoryMessage):
                    size_bytes += Rendering(rendered[-1]).size_bytes
                if size_bytes >= _INLINE_LIST_BYTES:
                    break
            has_more = found.has_more or len(rendered) < len(found.entries)
            last_seq = found.entries[len(rendered) - 1].seq if has_more else 0
            next_cursor = encode_cursor("messages", last_seq) if has_more else None
            rendering = rendering_of(encode_cursor_list_pieces(rendered, next_cursor))
            body = RenderedBody(self.blobs, project_id, rendering, memory=found.memory)
            return await body.check(), next_cursor

    async def entry(self, project_id: str, session_id: str, seq: int) -> EntryWithMemory:
        """Return the entry with this `seq`, and its memory, which the caller releases.

        Raises:
            NotFoundError: The session has no such entry.
            OverloadedError: The memory budget is exhausted; nothing was read.
        """
        found = await self._read(ListRange(project_id, session_id, seq - 1, 1))
        with _release_on_error(found.memory):
            if not found.entries or found.entries[0].seq != seq:
                raise NotFoundError("entry")
        return found.entries[0], found.memory

    async def inline_entry(self, project_id: str, session_id: str, seq: int) -> RenderedBody:
        """Return an entry with its media inline, byte for byte.

        The media are read while the entry is sent.

        Raises:
            NotFoundError: The session has no such entry.
            PayloadTooLargeError: A medium is too large for a response.
            StoreUnavailableError: A store did not respond, or has lost a medium.
        """
        entry, memory = await self.entry(project_id, session_id, seq)
        with _release_on_error(memory):
            rendering = rendering_of(await self._entry_pieces(project_id, entry))
            return await RenderedBody(self.blobs, project_id, rendering, memory=memory).check()

    async def _read(self, list_range: ListRange) -> _Entries:
        """Return the entries of a list, after reserving memory for them."""
        read = partial(_read_entries, list_range=list_range, max_bytes=_UNRESERVED_BYTES)
        found = await self.records.read(list_range.project_id, read)
        if isinstance(found, _Entries):
            return found
        memory = await self.memory.reserve(_COPIES * found)
        with _release_on_error(memory):
            while not isinstance(found, _Entries):
                # `found` is a size, which grows if entries are appended before the next read.
                memory.resize(_COPIES * found)
                read = partial(_read_entries, list_range=list_range, max_bytes=found)
                found = await self.records.read(list_range.project_id, read)
        return replace(found, memory=memory)

    async def _entry_pieces(self, project_id: str, entry: StoredEntry) -> Sequence[JsonPiece]:
        if not isinstance(entry, StoredHistoryMessage):
            return [encode_history_entry(entry)]
        media = StoredMedia(self.records, self.blobs, project_id)
        limit_bytes = self.limits.inline_bytes
        if entry.is_page_fault:
            pieces = await insert_images(media, entry.message, limit_bytes=limit_bytes)
        else:
            forms = load_forms(entry.inline_form)
            pieces = await media.restore(entry.message, forms, limit_bytes=limit_bytes)
        return encode_message_pieces(entry, pieces)


def _read_entries(unit: UnitOfWork, list_range: ListRange, *, max_bytes: int) -> _Entries | int:
    """Return the entries of a list, or their size in bytes if it is above `max_bytes`."""
    head = require_found(unit[SessionHistory].find_head(list_range.session_id), "session")
    batch = unit[SessionHistory].find_batch(
        list_range.session_id, after_seq=list_range.after_seq, limit=list_range.limit
    )
    if batch.size_bytes > max_bytes:
        return batch.size_bytes
    entries = batch.read_entries()
    last_seq = entries[-1].seq if entries else head.last_seq
    # Entries may have been appended after `batch` was read. They are in the next list.
    has_more = last_seq < head.last_seq and unit[SessionHistory].has_entries(
        list_range.session_id, after_seq=last_seq
    )
    return _Entries(head, entries, has_more)


@contextmanager
def _release_on_error(memory: ResponseMemory | None) -> Iterator[None]:
    """Release memory if the block raises an error."""
    try:
        yield
    except BaseException:
        if memory is not None:
            memory.release()
        raise
