"""Media whose bytes are in drafts, because they were received before their type was known."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from app.stores.blobs.store import BlobDraft
from pagefault_dialects.model.media import CHUNK_BYTES, MediaSource
from pagefault_dialects.streams.long_strings import LongString

StreamedMedia: TypeAlias = Mapping[bytes, LongString[BlobDraft]]
"""Media in drafts, by the bytes of their placeholders."""


@dataclass(frozen=True, slots=True, eq=False)
class DraftMedia:
    """A medium whose bytes are in a draft. See `MediaSource`; reading blocks."""

    draft: BlobDraft
    """All bytes of the medium."""
    declared_mime_type: str | None = None
    """The MIME type that the tool has declared."""

    @property
    def size_bytes(self) -> int:
        """See `MediaSource.size_bytes`."""
        return self.draft.size_bytes

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


def digest_of(source: MediaSource) -> str:
    """Return the SHA-256 of a medium as 64 hex digits; blocks, unless it is a draft."""
    if isinstance(source, DraftMedia):
        return source.draft.digest()
    sha256 = hashlib.sha256()
    for chunk in source.chunks():
        sha256.update(chunk)
    return sha256.hexdigest()
