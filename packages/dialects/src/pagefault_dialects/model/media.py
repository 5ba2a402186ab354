"""The bytes of media during normalization and persistence, never as a base64 string."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

CHUNK_BYTES = 1024 * 1024


class MediaSource(Protocol):
    """Decoded bytes of known length that can be read repeatedly.

    The bytes may be in memory, in a temporary file, or in the blob store already.
    """

    @property
    def size_bytes(self) -> int:
        """The number of bytes that `chunks` yields in all."""
        ...

    @property
    def declared_mime_type(self) -> str | None:
        """The MIME type declared with the bytes; `None` if there was none."""
        ...

    def head(self, size_bytes: int) -> bytes:
        """Return the first `size_bytes` bytes, fewer only if the medium is shorter."""
        ...

    def read(self, start: int, size_bytes: int) -> bytes:
        """Return `size_bytes` bytes from `start`, fewer only at the end of the medium."""
        ...

    def chunks(self) -> Iterator[bytes]:
        """Yield all bytes in order, in pieces of at most `CHUNK_BYTES`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class InMemoryMedia:
    """A medium whose bytes are in memory. See `MediaSource`."""

    data: bytes
    declared_mime_type: str | None = None

    @property
    def size_bytes(self) -> int:
        """See `MediaSource.size_bytes`."""
        return len(self.data)

    def head(self, size_bytes: int) -> bytes:
        """See `MediaSource.head`."""
        return self.data[:size_bytes]

    def read(self, start: int, size_bytes: int) -> bytes:
        """See `MediaSource.read`."""
        return self.data[start : start + size_bytes]

    def chunks(self) -> Iterator[bytes]:
        """See `MediaSource.chunks`."""
        view = memoryview(self.data)
        for start in range(0, len(view), CHUNK_BYTES):
            yield bytes(view[start : start + CHUNK_BYTES])
