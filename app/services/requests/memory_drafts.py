"""Drafts in memory: media of bodies that are in memory as a whole, and have room there."""

import hashlib

from app.models.media import InMemoryMedia
from app.stores.blobs import BlobStore, StoredBlob


class HeldDraft:
    """A draft in memory. See `BlobDraft`; nothing is written before it is committed.

    Args:
        blobs: Where it becomes a blob.
        project_id: Whose it is.
        limit_bytes: The largest blob taken. What is appended has no limit of its own: it is part of
            a body that is here.
    """

    def __init__(self, blobs: BlobStore, project_id: str, *, limit_bytes: int) -> None:
        self._blobs = blobs
        self._project_id = project_id
        self._limit_bytes = limit_bytes
        self._data = bytearray()
        self._digest: str | None = None
        self._blob: StoredBlob | None = None

    @property
    def size_bytes(self) -> int:
        """See `BlobDraft.size_bytes`."""
        return len(self._data)

    def digest(self) -> str:
        """See `BlobDraft.digest`; nothing is appended afterwards."""
        if self._digest is None:
            self._digest = hashlib.sha256(self._data).hexdigest()
        return self._digest

    def append(self, data: bytes) -> None:
        """See `BlobDraft.append`."""
        self._data += data

    def rest(self) -> None:
        """See `BlobDraft.rest`."""

    def read(self, start: int, size_bytes: int) -> bytes:
        """See `BlobDraft.read`."""
        return bytes(memoryview(self._data)[start : start + size_bytes])

    async def commit(self) -> StoredBlob:
        """See `BlobDraft.commit`."""
        if self._blob is None:
            media = InMemoryMedia(bytes(self._data))
            self._blob = await self._blobs.put(
                self._project_id, media, limit_bytes=self._limit_bytes
            )
        return self._blob

    async def discard(self) -> None:
        """See `BlobDraft.discard`."""
