"""A blob store that limits the bytes that each project may store.

Bytes are reserved before they are written (`storage_quota.py`). When the blob is durable, its count
replaces the reservation; otherwise the reservation is released. For a small blob, bytes are only
reserved when its size is known: once, or not at all if the project has the same bytes already.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio.from_thread
import anyio.to_thread

from app.errors import StoredBytesQuotaError
from app.services.concurrency.background import run_to_completion
from app.services.quotas.storage_quota import ByteReservation, StorageQuota
from app.stores.blobs.draft_media import DraftMedia, digest_of
from app.stores.blobs.store import BlobDraft, BlobStore, BlobWriter, StoredBlob
from pagefault_dialects.model.media import CHUNK_BYTES, MediaSource

# The size up to which a writer reserves bytes only when the blob is committed.
_SMALL_BYTES = CHUNK_BYTES


class QuotaBlobStore:
    """A `BlobStore` that wraps another store, and limits the bytes of each project in it.

    Methods that store bytes also raise StoredBytesQuotaError. The count of a blob is removed when a
    sweep claims the blob, not when the blob is deleted.

    Args:
        blobs: The store that is wrapped.
        stored_bytes: The quota.
    """

    def __init__(self, blobs: BlobStore, stored_bytes: StorageQuota) -> None:
        self._blobs = blobs
        self._stored_bytes = stored_bytes
        # Methods that store nothing are those of the wrapped store.
        self.open, self.size, self.sizes = blobs.open, blobs.size, blobs.sizes
        self.find, self.list_blobs, self.delete = blobs.find, blobs.list_blobs, blobs.delete
        self.quarantine, self.check = blobs.quarantine, blobs.check
        self.sweep_temporary = blobs.sweep_temporary

    @asynccontextmanager
    async def writer(self, project_id: str, *, limit_bytes: int) -> AsyncIterator[BlobWriter]:
        """See `BlobStore.writer`."""
        reservation = self._stored_bytes.make_reservation(project_id)
        try:
            async with self._blobs.writer(project_id, limit_bytes=limit_bytes) as writer:
                yield _QuotaWriter(writer, reservation, limit_bytes)
        finally:
            await reservation.release()

    def draft(self, project_id: str, *, limit_bytes: int) -> BlobDraft:
        """See `BlobStore.draft`."""
        draft = self._blobs.draft(project_id, limit_bytes=limit_bytes)
        return _QuotaDraft(draft, self._stored_bytes.make_reservation(project_id), limit_bytes)

    async def put(self, project_id: str, source: MediaSource, *, limit_bytes: int) -> StoredBlob:
        """See `BlobStore.put`."""
        return (await self.put_all(project_id, [source], limit_bytes=limit_bytes))[0]

    async def put_all(
        self,
        project_id: str,
        sources: Sequence[MediaSource],
        *,
        limit_bytes: int,
        meanwhile: Callable[[], None] | None = None,
    ) -> list[StoredBlob]:
        """See `BlobStore.put_all`."""
        media: list[_Medium] = []
        try:
            for source in sources:
                media.append(self._prepare(project_id, source))
                await _reserve_last(media, limit_bytes)
            return await run_to_completion(self._put(project_id, media, limit_bytes, meanwhile))
        finally:
            for medium in media:
                # A draft releases its own reservation.
                if medium.draft is None:
                    await medium.reservation.release()

    def _prepare(self, project_id: str, source: MediaSource) -> "_Medium":
        """Return a medium with the reservation of its draft, or with a new one."""
        if isinstance(source, DraftMedia) and isinstance(draft := source.draft, _QuotaDraft):
            inner = DraftMedia(draft.inner, source.declared_mime_type)
            return _Medium(inner, draft.reservation, draft)
        return _Medium(source, self._stored_bytes.make_reservation(project_id))

    async def _put(
        self,
        project_id: str,
        media: Sequence["_Medium"],
        limit_bytes: int,
        meanwhile: Callable[[], None] | None,
    ) -> list[StoredBlob]:
        """Store media whose bytes are reserved, and count them."""
        sources = [medium.source for medium in media]
        blobs = await self._blobs.put_all(
            project_id, sources, limit_bytes=limit_bytes, meanwhile=meanwhile
        )
        for blob, medium in zip(blobs, media, strict=True):
            if medium.draft is None:
                await medium.reservation.count(blob)
            # A draft that has a blob was committed before, and is counted already.
            elif medium.draft.blob is None:
                await medium.reservation.count(blob)
                medium.draft.blob = blob
        return blobs


@dataclass(frozen=True, slots=True)
class _Medium:
    """A medium to be stored."""

    source: MediaSource
    reservation: ByteReservation
    """The reservation of the bytes, until they are counted."""
    draft: "_QuotaDraft | None" = None
    """The draft with the bytes; `None` if they are not in a draft."""


async def _reserve_last(media: Sequence[_Medium], limit_bytes: int) -> None:
    """Reserve bytes for the last of some media, unless its draft has reserved them.

    If the medium is too large, nothing is reserved, because the store will raise an error.

    Raises:
        StoredBytesQuotaError: The medium exceeds the quota, and its bytes are not stored yet.
    """
    medium = media[-1]
    source = medium.source
    if medium.draft is not None or source.size_bytes > limit_bytes:
        return
    try:
        await medium.reservation.cover_exactly(source.size_bytes)
    except StoredBytesQuotaError:
        digest = await anyio.to_thread.run_sync(digest_of, source)
        if await medium.reservation.is_counted(digest):
            return
        # No reservation is needed if an earlier medium has the same bytes.
        same_size = (
            item.source for item in media[:-1] if item.source.size_bytes == source.size_bytes
        )
        for earlier in same_size:
            if digest == await anyio.to_thread.run_sync(digest_of, earlier):
                return
        raise


class _QuotaWriter:
    """A `BlobWriter` that reserves the bytes that it writes."""

    def __init__(self, writer: BlobWriter, reservation: ByteReservation, limit_bytes: int) -> None:
        self._writer = writer
        self._reservation = reservation
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._hash = hashlib.sha256()
        self._is_refused = False

    async def write(self, chunk: bytes) -> None:
        """See `BlobWriter.write`."""
        self._size_bytes += len(chunk)
        if self._size_bytes <= _SMALL_BYTES:
            self._hash.update(chunk)
        # If the blob is above the limit, nothing is reserved, because `_writer` raises an error.
        elif self._size_bytes <= self._limit_bytes:
            self._is_refused = True
            await self._reservation.cover(self._size_bytes)
            self._is_refused = False
        await self._writer.write(chunk)

    async def commit(self, expected_digest: str | None = None) -> StoredBlob:
        """See `BlobWriter.commit`."""
        if self._is_refused:
            raise RuntimeError("this blob writer had no room, or was cancelled")
        try:
            await self._reservation.cover_exactly(self._size_bytes)
        except StoredBytesQuotaError:
            # The blob is small; for a larger blob, `write` has raised the error. Its bytes need no
            # room if they are stored already.
            if not await self._reservation.is_counted(self._hash.hexdigest()):
                raise
        committing = self._writer.commit(expected_digest)
        return await run_to_completion(self._reservation.commit(committing))


class _QuotaDraft:
    """A `BlobDraft` that reserves its bytes.

    Bytes are appended in threads of anyio, so they are reserved from there in the event loop.
    """

    def __init__(self, draft: BlobDraft, reservation: ByteReservation, limit_bytes: int) -> None:
        self.inner = draft
        self.digest, self.release, self.read = draft.digest, draft.release, draft.read
        self.reservation = reservation
        self._limit_bytes = limit_bytes
        self.blob: StoredBlob | None = None

    @property
    def size_bytes(self) -> int:
        """See `BlobDraft.size_bytes`."""
        return self.inner.size_bytes

    def append(self, data: bytes) -> None:
        """See `BlobDraft.append`."""
        size_bytes = self.inner.size_bytes + len(data)
        if self.reservation.size_bytes < size_bytes <= self._limit_bytes:
            anyio.from_thread.run(self.reservation.cover, size_bytes)
        self.inner.append(data)

    async def commit(self) -> StoredBlob:
        """See `BlobDraft.commit`."""
        if self.blob is None:
            self.blob = await run_to_completion(self.reservation.commit(self.inner.commit()))
        return self.blob

    async def discard(self) -> None:
        """See `BlobDraft.discard`."""
        await self.inner.discard()
        await self.reservation.release()
