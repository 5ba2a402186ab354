"""The half of a blob writer that every store shares: limit, gathering, and a sound end.

Bytes arrive in whatever pieces a client's network makes of them. They are gathered so that a
thread or a network round trip is paid for a buffer, not for a chunk. A writer that failed or was
cancelled midway refuses to go on: what it would commit is not what the caller wrote.
"""

from abc import ABC, abstractmethod

from app.stores.blobs.store import StoredBlob, too_large


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
        """Hash and keep the next bytes, which nobody else will touch any more."""

    @abstractmethod
    async def _finish(self, rest: bytearray, expected_digest: str | None) -> StoredBlob:
        """Hash and keep the last bytes, then verify, make durable and publish."""
