"""The body of a piece of an upload, as it is read: bounded, hashed, in the stretches asked for."""

import hashlib
from collections.abc import AsyncIterator
from typing import TypeVar

import anyio

from app.errors import ChecksumMismatchError, ConflictError, PayloadTooLargeError
from app.models.upload import Checksum

_T = TypeVar("_T")


class UploadBody:
    """The bytes of one request, handed out in stretches and never past the end of the file.

    Args:
        chunks: The bytes as they arrive.
        left_bytes: How many the upload still lacks.
        checksum: What they are to hash to, if the client said so.
    """

    def __init__(
        self, chunks: AsyncIterator[bytes], *, left_bytes: int, checksum: Checksum | None = None
    ) -> None:
        self._chunks = chunks
        self._left_bytes = left_bytes
        self._checksum = checksum
        # Against damage on the way, not against anybody: for that, SHA-1 is still good.
        self._hash = hashlib.new(checksum.algorithm, usedforsecurity=False) if checksum else None
        self._held = b""
        self._reading: anyio.CancelScope | None = None
        self._is_stopped = False
        self.is_over = False

    def stop(self) -> None:
        """Hand out nothing any more; who waits for the next bytes, or will, is told to give up."""
        self._is_stopped = True
        if self._reading is not None:
            self._reading.cancel()

    async def next(self, most_bytes: int) -> bytes:
        """The next bytes, at most so many; nothing where those or the body are at an end.

        Raises:
            PayloadTooLargeError: There are more than the upload lacks; none of the chunk that goes
                beyond it is handed out.
            ConflictError: It was stopped.
        """
        if not self._held and most_bytes and not self.is_over:
            self._held = await self._next_chunk()
        taken, self._held = self._held[:most_bytes], self._held[most_bytes:]
        return taken

    def verify_at_end(self) -> None:
        """Compare the bytes that were handed out with their checksum, once the body is over.

        Raises:
            ChecksumMismatchError: They have another one.
        """
        if (
            self.is_over
            and self._checksum
            and self._hash
            and self._hash.digest() != self._checksum.digest
        ):
            raise ChecksumMismatchError

    async def _next_chunk(self) -> bytes:
        if self._is_stopped:
            raise _superseded()
        with anyio.CancelScope() as self._reading:
            async for chunk in self._chunks:
                self._left_bytes -= len(chunk)
                if self._left_bytes < 0:
                    raise beyond_the_end()
                if chunk:
                    if self._hash:
                        self._hash.update(chunk)
                    return chunk
            self.is_over = True
            return b""
        raise _superseded()


def _superseded() -> ConflictError:
    return ConflictError(
        "Somebody has asked where to go on with this upload, so this request has ended. Without a "
        "checksum, what came of it is kept.",
        code="upload-superseded",
    )


def beyond_the_end() -> PayloadTooLargeError:
    """The error for bytes past the length that an upload was created with."""
    return PayloadTooLargeError(
        "The body goes beyond the length the upload was created with. Nothing of what lies beyond "
        "it was kept."
    )
