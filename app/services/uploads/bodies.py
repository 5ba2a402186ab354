"""The bodies of the pieces of uploads: bounded, hashed, read in the stretches asked for.

Bodies that are being read are known, so that a client that comes back is not kept out. A connection
may be dead for long before the service learns of it. Its client is back meanwhile and asks where to
go on; were it told what counts so far, it would send again what is already here, and be refused
when the dead request's bytes count in the end. So the question ends that request first. A request
in another process is not reached: there, the first to be counted wins.
"""

import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import anyio

from app.errors import ChecksumMismatchError, ConflictError, PayloadTooLargeError
from app.models.upload import Checksum

# What has come may take some time to be made durable; the question is answered all the same.
_PATIENCE_SECONDS = 20.0


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
        """Return the next bytes, at most so many; nothing where those or the body are at an end.

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
        if not (self.is_over and self._checksum and self._hash):
            return
        if self._hash.digest() != self._checksum.digest:
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


class UploadTurns:
    """The bodies that are being read, by project and upload."""

    def __init__(self) -> None:
        self._sending: dict[tuple[str, str], dict[UploadBody, anyio.Event]] = {}

    @contextmanager
    def sending(self, project_id: str, upload_id: str, body: UploadBody) -> Iterator[None]:
        """Know of a body while the block takes it in."""
        key = (project_id, upload_id)
        bodies = self._sending.setdefault(key, {})
        ended = bodies[body] = anyio.Event()
        try:
            yield
        finally:
            ended.set()
            del bodies[body]
            if not bodies:
                self._sending.pop(key, None)

    async def interrupt(self, project_id: str, upload_id: str) -> None:
        """Stop all bodies of an upload, and wait until what came of them counts."""
        interrupted = dict(self._sending.get((project_id, upload_id), {}))
        for body in interrupted:
            body.stop()
        with anyio.move_on_after(_PATIENCE_SECONDS):
            for ended in interrupted.values():
                await ended.wait()


def _superseded() -> ConflictError:
    return ConflictError(
        "Somebody has asked where to go on with this upload, so this request has ended. Without a "
        "checksum, what came of it is kept.",
        code="upload-superseded",
    )


def beyond_the_end() -> PayloadTooLargeError:
    """Return the error for bytes past the length that an upload was created with."""
    return PayloadTooLargeError(
        "The body goes beyond the length the upload was created with. Nothing of what lies beyond "
        "it was kept."
    )
