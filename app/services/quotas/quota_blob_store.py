"""A blob store whose projects may keep so many bytes: all that is put goes through it.

Room for bytes is reserved before they are written, and the blob is counted in its place as soon as
it is durable; whatever happens instead gives the room back. What is small is held in memory until
its end is known, so that it takes one reservation, of just its size, and none if the project keeps
the same bytes already.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import anyio.from_thread
import anyio.to_thread

from app.errors import StoredBytesQuotaError
from app.models.media import CHUNK_BYTES, MediaSource
from app.services.concurrency.background import run_to_completion
from app.services.quotas.stored_bytes import ByteReservation, StoredBytes
from app.stores.blobs import (
    BlobDraft,
    BlobStore,
    BlobWriter,
    DraftMedia,
    StoredBlob,
)

# Every store's writer holds as much in memory.
_SMALL_BYTES = CHUNK_BYTES


class QuotaBlobStore:
    """Another store, with a quota. See `BlobStore`.

    What puts bytes may also raise StoredBytesQuotaError. Removing a blob gives no room back: the
    claim of a sweep does.

    Args:
        blobs: Where the bytes go.
        stored_bytes: Counts them.
    """

    def __init__(self, blobs: BlobStore, stored_bytes: StoredBytes) -> None:
        self._blobs = blobs
        self._stored_bytes = stored_bytes
        # Whatever puts no bytes is the other store's.
        self.open, self.size, self.sizes = blobs.open, blobs.size, blobs.sizes
        self.find, self.listed, self.delete = blobs.find, blobs.listed, blobs.delete
        self.quarantine, self.check = blobs.quarantine, blobs.check
        self.sweep_temporary = blobs.sweep_temporary

    @asynccontextmanager
    async def writer(self, project_id: str, *, limit_bytes: int) -> AsyncIterator[BlobWriter]:
        """See `BlobStore.writer`."""
        reservation = self._stored_bytes.reservation(project_id)
        try:
            async with self._blobs.writer(project_id, limit_bytes=limit_bytes) as writer:
                yield _QuotaWriter(writer, reservation, limit_bytes)
        finally:
            await reservation.release()

    def draft(self, project_id: str, *, limit_bytes: int) -> BlobDraft:
        """See `BlobStore.draft`."""
        draft = self._blobs.draft(project_id, limit_bytes=limit_bytes)
        return _QuotaDraft(draft, self._stored_bytes.reservation(project_id), limit_bytes)

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
        putting = _Putting(self._blobs, self._stored_bytes, project_id, limit_bytes)
        try:
            for source in sources:
                await putting.add(source)
            return await run_to_completion(putting.finish(meanwhile))
        finally:
            await putting.release()


class _Putting:
    """The media of one request, each with room of its own until it is counted."""

    def __init__(
        self, blobs: BlobStore, stored_bytes: StoredBytes, project_id: str, limit_bytes: int
    ) -> None:
        self._blobs = blobs
        self._stored_bytes = stored_bytes
        self._project_id = project_id
        self._limit_bytes = limit_bytes
        self._sources: list[MediaSource] = []
        self._reservations: list[ByteReservation | None] = []
        self._taken: list[ByteReservation] = []
        self._drafts: list[tuple[int, _QuotaDraft]] = []

    async def add(self, source: MediaSource) -> None:
        """Make room for a medium; that of a draft is there."""
        if isinstance(source, DraftMedia) and isinstance(source.draft, _QuotaDraft):
            self._drafts.append((len(self._sources), source.draft))
            self._sources.append(DraftMedia(source.draft.inner, source.declared_mime_type))
            # One that was committed is counted.
            self._reservations.append(None if source.draft.blob else source.draft.reservation)
            return
        reservation = self._stored_bytes.reservation(self._project_id)
        self._taken.append(reservation)
        self._sources.append(source)
        self._reservations.append(reservation)
        if source.size_bytes > self._limit_bytes:
            return
        try:
            await reservation.cover_exactly(source.size_bytes)
        except StoredBytesQuotaError:
            digest = await anyio.to_thread.run_sync(_digest, source)
            is_kept = await reservation.is_kept(digest)
            if not is_kept and digest not in await self._digests_before(source):
                raise

    async def _digests_before(self, source: MediaSource) -> set[str]:
        """Return what may be of the same bytes and has its room already."""
        before = self._sources[:-1]
        alike = [each for each in before if each.size_bytes == source.size_bytes]
        return {await anyio.to_thread.run_sync(_digest, each) for each in alike}

    async def finish(self, meanwhile: Callable[[], None] | None) -> list[StoredBlob]:
        """Keep them, and count them."""
        blobs = await self._blobs.put_all(
            self._project_id, self._sources, limit_bytes=self._limit_bytes, meanwhile=meanwhile
        )
        for blob, reservation in zip(blobs, self._reservations, strict=True):
            if reservation is not None:
                await reservation.settle(blob)
        for place, draft in self._drafts:
            draft.blob = blobs[place]
        return blobs

    async def release(self) -> None:
        """Give back the room of what was not counted; that of a draft goes when it does."""
        for reservation in self._taken:
            await reservation.release()


class _QuotaWriter:
    """A writer that has room for what it writes. See `BlobWriter`."""

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
        # Beyond the limit it is the writer that refuses.
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
            # Whatever is larger has its room by now.
            if not await self._reservation.is_kept(self._hash.hexdigest()):
                raise
        return await run_to_completion(self._finish(expected_digest))

    async def _finish(self, expected_digest: str | None) -> StoredBlob:
        blob = await self._writer.commit(expected_digest)
        await self._reservation.settle(blob)
        return blob


class _QuotaDraft:
    """A draft that has room for what is in it. See `BlobDraft`.

    It is appended to in threads that anyio has started; the room is reserved in the event loop.
    """

    def __init__(self, draft: BlobDraft, reservation: ByteReservation, limit_bytes: int) -> None:
        self.inner = draft
        self.digest, self.rest, self.read = draft.digest, draft.rest, draft.read
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
            self.blob = await run_to_completion(self._finish())
        return self.blob

    async def discard(self) -> None:
        """See `BlobDraft.discard`."""
        await self.inner.discard()
        await self.reservation.release()

    async def _finish(self) -> StoredBlob:
        blob = await self.inner.commit()
        await self.reservation.settle(blob)
        return blob


def _digest(source: MediaSource) -> str:
    digest = hashlib.sha256()
    for chunk in source.chunks():
        digest.update(chunk)
    return digest.hexdigest()
