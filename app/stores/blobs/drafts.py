"""Bytes that came before it was known what they are: readable here, visible to nobody.

A draft is written piece by piece, may be read at any place, and becomes a blob when it is
committed. Whatever happens instead, discarding it leaves nothing behind.
"""

from collections.abc import Awaitable, Callable, Iterator

import anyio.to_thread

from app.models.media import CHUNK_BYTES
from app.stores.blobs.store import BlobDraft, StoredBlob, too_large
from app.stores.blobs.temporary_file import TemporaryFile, failures_translated

_HEAD_BYTES = 4_096


class FileDraft:
    """A draft in a file. See `BlobDraft`. Its beginning is looked at often, and kept in memory.

    `blob` is what became of it, once it was committed.

    Args:
        temporary: The file.
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
        self._temporary = temporary
        self._publish = publish
        self._limit_bytes = limit_bytes
        self._head = b""
        self.blob: StoredBlob | None = None

    @property
    def size_bytes(self) -> int:
        """See `BlobDraft.size_bytes`."""
        return self._temporary.size_bytes

    def digest(self) -> str:
        """See `BlobDraft.digest`."""
        return self._temporary.digest()

    def append(self, data: bytes) -> None:
        """See `BlobDraft.append`."""
        if self.size_bytes + len(data) > self._limit_bytes:
            raise too_large(self._limit_bytes)
        self._head += data[: _HEAD_BYTES - len(self._head)]
        with failures_translated():
            self._temporary.append(data)

    def rest(self) -> None:
        """See `BlobDraft.rest`."""
        with failures_translated():
            self._temporary.rest()

    def read(self, start: int, size_bytes: int) -> bytes:
        """See `BlobDraft.read`."""
        if start + size_bytes <= len(self._head):
            return self._head[start : start + size_bytes]
        with failures_translated():
            return self._temporary.read(start, size_bytes)

    @property
    def temporary(self) -> TemporaryFile:
        """The file, for the store that it belongs to."""
        return self._temporary

    async def commit(self) -> StoredBlob:
        """See `BlobDraft.commit`."""
        if self.blob is None:
            with failures_translated():
                self.blob = await self._publish(self._temporary)
        return self.blob

    async def discard(self) -> None:
        """See `BlobDraft.discard`."""
        if self._temporary.is_published:
            return
        await anyio.to_thread.run_sync(self._temporary.discard)


class DraftMedia:
    """A medium whose bytes are in a draft. See `MediaSource`; reading blocks.

    Args:
        draft: The bytes, all of them.
        declared_mime_type: The MIME type that came with them.
    """

    __slots__ = ("_declared_mime_type", "draft")

    def __init__(self, draft: BlobDraft, declared_mime_type: str | None = None) -> None:
        self.draft = draft
        self._declared_mime_type = declared_mime_type

    @property
    def size_bytes(self) -> int:
        """See `MediaSource.size_bytes`."""
        return self.draft.size_bytes

    @property
    def declared_mime_type(self) -> str | None:
        """See `MediaSource.declared_mime_type`."""
        return self._declared_mime_type

    def head(self, size_bytes: int) -> bytes:
        """See `MediaSource.head`."""
        return self.draft.read(0, size_bytes)

    def read(self, start: int, size_bytes: int) -> bytes:
        """See `MediaSource.read`."""
        return self.draft.read(start, size_bytes)

    def chunks(self) -> Iterator[bytes]:
        """See `MediaSource.chunks`."""
        for start in range(0, self.size_bytes, CHUNK_BYTES):
            yield self.draft.read(start, CHUNK_BYTES)
