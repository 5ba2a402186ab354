"""The writer that all stores share, which buffers chunks, and drafts in local files.

Bytes arrive in pieces of any size. They are buffered, so that a thread or a network round trip is
needed for each buffer, and not for each chunk. A writer that has failed or was cancelled raises on
further use, because its bytes are incomplete.

A draft has bytes that are received before their type is known. It is not visible to clients. It is
written piece by piece, can be read at any position, and becomes a blob when it is committed. If it
is discarded, all its bytes are removed.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

import anyio.to_thread

from app.stores.blobs.store import StoredBlob, too_large
from app.stores.blobs.temporary_file import TemporaryFile, failures_translated

_HEAD_BYTES = 4_096


class GatheringWriter(ABC):
    """Gathers chunks into buffers. See `BlobWriter`.

    Args:
        limit_bytes: How many bytes are accepted in all.
        buffer_bytes: How many are gathered; a blob up to this size never reaches `_append`.
    """

    def __init__(self, *, limit_bytes: int, buffer_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._buffer_bytes = buffer_bytes
        self._buffer = bytearray()
        self._size_bytes = 0
        self._usable = True

    async def write(self, chunk: bytes) -> None:
        """See `BlobWriter.write`."""
        self._begin()
        self._size_bytes += len(chunk)
        if self._size_bytes > self._limit_bytes:
            raise too_large(self._limit_bytes)
        if self._buffer and len(self._buffer) + len(chunk) > self._buffer_bytes:
            await self._append(self._take_buffer())
        if len(chunk) > self._buffer_bytes:
            await self._append(chunk)
        else:
            self._buffer += chunk
        self._usable = True

    async def commit(self, expected_digest: str | None = None) -> StoredBlob:
        """See `BlobWriter.commit`."""
        self._begin()
        return await self._finish(self._take_buffer(), expected_digest)

    def _begin(self) -> None:
        if not self._usable:
            raise RuntimeError("this blob writer has failed, was cancelled or is committed")
        self._usable = False

    def _take_buffer(self) -> bytearray:
        buffer, self._buffer = self._buffer, bytearray()
        return buffer

    @abstractmethod
    async def _append(self, data: bytes | bytearray) -> None:
        """Hash and store the next bytes, which are not changed any more."""

    @abstractmethod
    async def _finish(self, rest: bytearray, expected_digest: str | None) -> StoredBlob:
        """Hash and keep the last bytes, then verify, make durable and publish."""


class FileDraft:
    """A draft in a file. See `BlobDraft`. Its beginning is looked at often, and kept in memory.

    `blob` is what became of it, once it was committed.

    Args:
        temporary: The file, for the store that it belongs to.
        publish: Makes a blob of it.
        limit_bytes: How many bytes are accepted in all.
    """

    def __init__(
        self,
        temporary: TemporaryFile,
        publish: Callable[[TemporaryFile], Awaitable[StoredBlob]],
        *,
        limit_bytes: int,
    ) -> None:
        self.temporary = temporary
        self.digest = temporary.digest
        self._publish = publish
        self._limit_bytes = limit_bytes
        self._head = b""
        self.blob: StoredBlob | None = None

    @property
    def size_bytes(self) -> int:
        """See `BlobDraft.size_bytes`."""
        return self.temporary.size_bytes

    def append(self, data: bytes) -> None:
        """See `BlobDraft.append`."""
        if self.size_bytes + len(data) > self._limit_bytes:
            raise too_large(self._limit_bytes)
        self._head += data[: _HEAD_BYTES - len(self._head)]
        with failures_translated():
            self.temporary.append(data)

    def rest(self) -> None:
        """See `BlobDraft.rest`."""
        with failures_translated():
            self.temporary.rest()

    def read(self, start: int, size_bytes: int) -> bytes:
        """See `BlobDraft.read`."""
        if start + size_bytes <= len(self._head):
            return self._head[start : start + size_bytes]
        with failures_translated():
            return self.temporary.read(start, size_bytes)

    async def commit(self) -> StoredBlob:
        """See `BlobDraft.commit`."""
        if self.blob is None:
            with failures_translated():
                self.blob = await self._publish(self.temporary)
        return self.blob

    async def discard(self) -> None:
        """See `BlobDraft.discard`."""
        if self.temporary.is_published:
            return
        await anyio.to_thread.run_sync(self.temporary.discard)
