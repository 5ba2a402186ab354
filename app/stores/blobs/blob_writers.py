"""The base class of blob writers, which buffers chunks, and drafts in local files.

A writer that has failed or was cancelled raises on further use, because its bytes are incomplete.

A draft has bytes whose type is not known yet. It is written piece by piece, and the service can
read it at any position. Clients cannot read it until it is committed, and so becomes a blob. If it
is discarded, its bytes are removed.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

import anyio.to_thread

from app.stores.blobs.store import StoredBlob, too_large_error
from app.stores.blobs.temporary_file import TemporaryFile, translate_failures

_HEAD_BYTES = 4_096


class BufferedWriter(ABC):
    """Buffers chunks, so that a full buffer is stored with one call. See `BlobWriter`.

    Args:
        limit_bytes: The maximum size of the blob.
        buffer_bytes: The size of the buffer; `_append` is not called for a smaller blob.
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
            raise too_large_error(self._limit_bytes)
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
        """Mark the writer as unusable until the operation has succeeded."""
        if not self._usable:
            raise RuntimeError("this blob writer has failed, was cancelled or is committed")
        self._usable = False

    def _take_buffer(self) -> bytearray:
        buffer, self._buffer = self._buffer, bytearray()
        return buffer

    @abstractmethod
    async def _append(self, data: bytes | bytearray) -> None:
        """Hash and store the next bytes; the caller does not change `data` afterwards."""

    @abstractmethod
    async def _finish(self, rest: bytearray, expected_digest: str | None) -> StoredBlob:
        """Store the last bytes, verify the digest, and make the blob durable and visible."""


class FileDraft:
    """A draft in a file. See `BlobDraft`. Its first bytes are read often, and kept in memory.

    `blob` is set by the commit.

    Args:
        temporary: The file.
        publish: Turns the file into a blob.
        limit_bytes: The maximum size of the draft.
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
            raise too_large_error(self._limit_bytes)
        self._head += data[: _HEAD_BYTES - len(self._head)]
        with translate_failures():
            self.temporary.append(data)

    def release(self) -> None:
        """See `BlobDraft.release`."""
        with translate_failures():
            self.temporary.release()

    def read(self, start: int, size_bytes: int) -> bytes:
        """See `BlobDraft.read`."""
        if start + size_bytes <= len(self._head):
            return self._head[start : start + size_bytes]
        with translate_failures():
            return self.temporary.read(start, size_bytes)

    async def commit(self) -> StoredBlob:
        """See `BlobDraft.commit`."""
        if self.blob is None:
            with translate_failures():
                self.blob = await self._publish(self.temporary)
        return self.blob

    async def discard(self) -> None:
        """See `BlobDraft.discard`."""
        if self.temporary.is_published:
            return
        await anyio.to_thread.run_sync(self.temporary.discard)
