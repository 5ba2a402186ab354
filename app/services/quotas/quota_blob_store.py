"""A blob store whose projects may keep so many bytes: all that is put goes through it.

Room for bytes is reserved before they are written, and the blob is counted in its place as soon as
it is durable; whatever happens instead gives the room back. What is small is held in memory until
its end is known, so that it takes one reservation, of just its size, and none if the project keeps
the same bytes already.
"""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager

import anyio.from_thread
import anyio.to_thread

from app.errors import StoredBytesQuotaError
from app.models.media import CHUNK_BYTES, MediaSource
from app.services.concurrency.background import run_to_completion
from app.services.quotas.stored_bytes import ByteReservation, StoredBytes
from app.stores.blobs import (
    BlobDraft,
    BlobReader,
    BlobStore,
    BlobWriter,
    DraftMedia,
    ListedBlob,
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

    @asynccontextmanager
    async def writer(self, project_id: str, *, limit_bytes: int) -> AsyncIterator[BlobWriter]:
        """See `BlobStore.writer`."""
        room = _Room(self._stored_bytes, project_id)
        try:
            async with self._blobs.writer(project_id, limit_bytes=limit_bytes) as writer:
                yield _QuotaWriter(writer, room, limit_bytes)
        finally:
            await room.reservation.release()

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

    async def open(
        self, project_id: str, digest: str, *, start: int = 0, end: int | None = None
    ) -> BlobReader:
        """See `BlobStore.open`."""
        return await self._blobs.open(project_id, digest, start=start, end=end)

    async def size(self, project_id: str, digest: str) -> int | None:
        """See `BlobStore.size`."""
        return await self._blobs.size(project_id, digest)

    async def sizes(self, project_id: str, digests: Collection[str]) -> dict[str, int]:
        """See `BlobStore.sizes`."""
        return await self._blobs.sizes(project_id, digests)

    async def find(self, project_id: str, digest: str) -> ListedBlob | None:
        """See `BlobStore.find`."""
        return await self._blobs.find(project_id, digest)

    def listed(self, project_id: str) -> AsyncGenerator[ListedBlob, None]:
        """See `BlobStore.listed`."""
        return self._blobs.listed(project_id)

    async def delete(self, project_id: str, digest: str) -> None:
        """See `BlobStore.delete`."""
        await self._blobs.delete(project_id, digest)

    async def quarantine(self, project_id: str, digest: str) -> None:
        """See `BlobStore.quarantine`."""
        await self._blobs.quarantine(project_id, digest)

    async def check(self) -> None:
        """See `BlobStore.check`."""
        await self._blobs.check()

    async def sweep_temporary(self, older_than_seconds: float, *, dry_run: bool = False) -> int:
        """See `BlobStore.sweep_temporary`."""
        return await self._blobs.sweep_temporary(older_than_seconds, dry_run=dry_run)


class _Room:
    """The room for one blob of a project, and whether it keeps the same bytes already."""

    def __init__(self, stored_bytes: StoredBytes, project_id: str) -> None:
        self._stored_bytes = stored_bytes
        self._project_id = project_id
        self.reservation = stored_bytes.reservation(project_id)

    async def is_kept(self, digest: str) -> bool:
        return await self._stored_bytes.keeps(self._project_id, digest)


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
        self._rooms: list[_Room] = []
        self._drafts: list[tuple[int, _QuotaDraft]] = []

    async def add(self, source: MediaSource) -> None:
        """Make room for a medium; that of a draft is there."""
        if isinstance(source, DraftMedia) and isinstance(source.draft, _QuotaDraft):
            self._drafts.append((len(self._sources), source.draft))
            self._sources.append(DraftMedia(source.draft.inner, source.declared_mime_type))
            # One that was committed is counted.
            self._reservations.append(None if source.draft.blob else source.draft.reservation)
            return
        room = _Room(self._stored_bytes, self._project_id)
        self._rooms.append(room)
        self._sources.append(source)
        self._reservations.append(room.reservation)
        if source.size_bytes > self._limit_bytes:
            return
        try:
            await room.reservation.cover_exactly(source.size_bytes)
        except StoredBytesQuotaError:
            digest = await anyio.to_thread.run_sync(_digest, source)
            if not await room.is_kept(digest) and digest not in await self._digests_before(source):
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
        for room in self._rooms:
            await room.reservation.release()


class _QuotaWriter:
    """A writer that has room for what it writes. See `BlobWriter`."""

    def __init__(self, writer: BlobWriter, room: _Room, limit_bytes: int) -> None:
        self._writer = writer
        self._room = room
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
            await self._room.reservation.cover(self._size_bytes)
            self._is_refused = False
        await self._writer.write(chunk)

    async def commit(self, expected_digest: str | None = None) -> StoredBlob:
        """See `BlobWriter.commit`."""
        if self._is_refused:
            raise RuntimeError("this blob writer had no room, or was cancelled")
        try:
            await self._room.reservation.cover_exactly(self._size_bytes)
        except StoredBytesQuotaError:
            # Whatever is larger has its room by now.
            if not await self._room.is_kept(self._hash.hexdigest()):
                raise
        return await run_to_completion(self._finish(expected_digest))

    async def _finish(self, expected_digest: str | None) -> StoredBlob:
        blob = await self._writer.commit(expected_digest)
        await self._room.reservation.settle(blob)
        return blob


class _QuotaDraft:
    """A draft that has room for what is in it. See `BlobDraft`.

    It is appended to in threads that anyio has started; the room is reserved in the event loop.
    """

    def __init__(self, draft: BlobDraft, reservation: ByteReservation, limit_bytes: int) -> None:
        self.inner = draft
        self.reservation = reservation
        self._limit_bytes = limit_bytes
        self.blob: StoredBlob | None = None

    @property
    def size_bytes(self) -> int:
        """See `BlobDraft.size_bytes`."""
        return self.inner.size_bytes

    def digest(self) -> str:
        """See `BlobDraft.digest`."""
        return self.inner.digest()

    def append(self, data: bytes) -> None:
        """See `BlobDraft.append`."""
        size_bytes = self.inner.size_bytes + len(data)
        if self.reservation.size_bytes < size_bytes <= self._limit_bytes:
            anyio.from_thread.run(self.reservation.cover, size_bytes)
        self.inner.append(data)

    def rest(self) -> None:
        """See `BlobDraft.rest`."""
        self.inner.rest()

    def read(self, start: int, size_bytes: int) -> bytes:
        """See `BlobDraft.read`."""
        return self.inner.read(start, size_bytes)

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
