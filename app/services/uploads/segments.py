"""Stores the bodies of uploads as segments: blobs of up to 64 MiB, each with a row.

A segment is committed by one transaction, which adds its row and advances the offset of the upload.
A sweep removes blobs without a row. If a process is killed, its current segment is lost. If a body
ends early for another reason, a shorter segment is stored.

The service may notice only after minutes that a connection is dead. If the client reconnects before
that and requests the offset, the last bytes of the dead request are not committed yet. The client
would send these bytes again, and get an error if the service commits them first. So a request for
the offset first ends the requests of this process that are still receiving bytes of the upload, and
commits their bytes. If several processes receive the same bytes of an upload, only those of the
process that commits first are stored.
"""

import hashlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import anyio
import structlog

from app.errors import ChecksumMismatchError, ConflictError, NotFoundError
from app.models.identity import utc_now
from app.models.upload import Checksum, ResumableUpload, Segment
from app.services.concurrency.background import run_to_completion
from app.services.maintenance.blob_removal import BlobRemoval
from app.stores.blobs.store import BlobStore, BlobWriter
from app.stores.records.records import Records
from app.stores.records.scope import in_batches
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.uploads import UploadRecords
from pagefault_dialects.errors import PagefaultError, PayloadTooLargeError

SEGMENT_BYTES = 64 * 1024 * 1024
# The maximum wait until the bytes of ended requests are committed. After that, the offset is
# returned anyway.
_COMMIT_WAIT_SECONDS = 20.0
_log = structlog.get_logger(__name__)


class UploadBody:
    """The body of one request, which is read in pieces.

    Args:
        chunks: The bytes as they arrive.
        missing_bytes: The number of bytes that the upload lacks. A longer body is an error.
        checksum: The checksum of the bytes, if the client sent one.
    """

    def __init__(
        self, chunks: AsyncIterator[bytes], *, missing_bytes: int, checksum: Checksum | None = None
    ) -> None:
        self._chunks = chunks
        self._missing_bytes = missing_bytes
        self.checksum = checksum
        # The checksum detects damage in transit, not attacks, so SHA-1 is good enough.
        self._hash = hashlib.new(checksum.algorithm, usedforsecurity=False) if checksum else None
        self._buffer = b""
        self._reading: anyio.CancelScope | None = None
        self._is_stopped = False
        self.has_ended = False

    def stop(self) -> None:
        """End the body. Calls of `next` raise a ConflictError from now on, also the current one."""
        self._is_stopped = True
        if self._reading is not None:
            self._reading.cancel()

    async def next(self, max_bytes: int) -> bytes:
        """Return up to `max_bytes` bytes; no bytes at the end of the body.

        Raises:
            PayloadTooLargeError: A chunk exceeds the length of the upload. The chunk is dropped.
            ConflictError: The body was stopped.
        """
        if not self._buffer and max_bytes and not self.has_ended:
            self._buffer = await self._next_chunk()
        piece, self._buffer = self._buffer[:max_bytes], self._buffer[max_bytes:]
        return piece

    def verify_at_end(self) -> None:
        """Compare the bytes with their checksum, if the whole body was read and has a checksum.

        Raises:
            ChecksumMismatchError: The bytes have another checksum.
        """
        if not (self.has_ended and self.checksum and self._hash):
            return
        if self._hash.digest() != self.checksum.digest:
            raise ChecksumMismatchError

    async def _next_chunk(self) -> bytes:
        if self._is_stopped:
            raise _superseded_error()
        with anyio.CancelScope() as self._reading:
            async for chunk in self._chunks:
                self._missing_bytes -= len(chunk)
                if self._missing_bytes < 0:
                    raise too_long_error()
                if chunk:
                    if self._hash:
                        self._hash.update(chunk)
                    return chunk
            self.has_ended = True
            return b""
        raise _superseded_error()


class ReceivingBodies:
    """The bodies of uploads that this process is receiving. Other requests can end them."""

    def __init__(self) -> None:
        # By project and upload: the bodies, each with an event that is set when it has ended.
        self._bodies: dict[tuple[str, str], dict[UploadBody, anyio.Event]] = {}

    @contextmanager
    def register(self, project_id: str, upload_id: str, body: UploadBody) -> Iterator[None]:
        """Register a body during the block."""
        key = (project_id, upload_id)
        bodies = self._bodies.setdefault(key, {})
        ended = bodies[body] = anyio.Event()
        try:
            yield
        finally:
            ended.set()
            del bodies[body]
            if not bodies:
                self._bodies.pop(key, None)

    async def interrupt(self, project_id: str, upload_id: str) -> None:
        """Stop all bodies of an upload; wait up to 20 seconds until their bytes are committed."""
        interrupted = dict(self._bodies.get((project_id, upload_id), {}))
        for body in interrupted:
            body.stop()
        with anyio.move_on_after(_COMMIT_WAIT_SECONDS):
            for ended in interrupted.values():
                await ended.wait()


@dataclass(frozen=True, slots=True)
class SegmentWriter:
    """Stores bodies as segments."""

    records: Records
    blobs: BlobStore
    lifetime: timedelta
    """The time after its last segment at which an upload expires."""
    segment_bytes: int
    """The maximum size of a segment."""

    async def receive(self, project_id: str, upload: ResumableUpload, *, body: UploadBody) -> None:
        """Store a body. If it ends early, the bytes that have arrived are committed.

        A body with a checksum is committed as a whole, and only if the checksum matches.

        Raises:
            ChecksumMismatchError: The checksum does not match.
            ConflictError: Another request has advanced the offset. The later bytes are dropped.
            NotFoundError: The upload was removed while the body was received.
            Exception: The error that has ended the body early. The bytes before it are committed.
        """
        offset, upload_id = upload.received_bytes, upload.upload_id
        # These segments are committed once the checksum of the whole body matches.
        uncommitted: list[Segment] = []

        async def store(draft: _SegmentDraft) -> None:
            blob = await draft.writer.commit()
            segment = Segment(draft.start, blob.size_bytes, blob.digest)
            if body.checksum is None:
                await self._commit(project_id, upload_id, [segment])
            else:
                # From now on, the segment is removed if the request is cancelled.
                uncommitted.append(segment)

        try:
            while not body.has_ended:
                async with self.blobs.writer(project_id, limit_bytes=self.segment_bytes) as writer:
                    draft = _SegmentDraft(writer, start=offset)
                    may_be_partial = body.checksum is None
                    is_valid = False
                    try:
                        await draft.fill(body, self.segment_bytes)
                        body.verify_at_end()
                        is_valid = True
                    finally:
                        if (is_valid or may_be_partial) and draft.can_be_committed:
                            await run_to_completion(store(draft))
                offset += draft.size_bytes
            if uncommitted:
                await run_to_completion(self._commit(project_id, upload_id, uncommitted))
        except BaseException:
            await self._remove(project_id, uncommitted)
            raise

    async def _remove(self, project_id: str, segments: Sequence[Segment]) -> None:
        """Remove the blobs of uncommitted segments, which otherwise the next sweep would remove."""
        removal = BlobRemoval(self.records, self.blobs)
        with anyio.CancelScope(shield=True):
            try:
                for digests in in_batches({segment.digest for segment in segments}):
                    await removal.remove(project_id, digests)
            except PagefaultError as exc:
                _log.warning("pieces left for the next sweep", code=exc.problem_code)

    async def _commit(self, project_id: str, upload_id: str, segments: Sequence[Segment]) -> None:
        """Add the rows of segments, and advance the offset of the upload."""
        expires_at = utc_now() + self.lifetime

        def advance(unit: UnitOfWork) -> None:
            if unit[UploadRecords].advance(upload_id, segments, expires_at=expires_at):
                return
            upload = unit[UploadRecords].find(upload_id)
            raise NotFoundError("upload") if upload is None else wrong_offset_error(upload)

        await self.records.write(project_id, advance)


@dataclass(slots=True)
class _SegmentDraft:
    """A segment that is being written to the blob store."""

    writer: BlobWriter
    start: int
    size_bytes: int = 0
    _is_complete: bool = True

    @property
    def can_be_committed(self) -> bool:
        """True if the segment has bytes, and the store has written all of them."""
        return self._is_complete and self.size_bytes > 0

    async def fill(self, body: UploadBody, max_bytes: int) -> None:
        """Write up to `max_bytes` bytes of a body."""
        while chunk := await body.next(max_bytes - self.size_bytes):
            # If a write were cancelled, the segment could not be committed.
            await run_to_completion(self._write(chunk))

    async def _write(self, chunk: bytes) -> None:
        self._is_complete = False
        await self.writer.write(chunk)
        self._is_complete = True
        self.size_bytes += len(chunk)


def wrong_offset_error(upload: ResumableUpload) -> ConflictError:
    """Return the error for a piece that does not begin at the offset of the upload."""
    return ConflictError(
        f"The upload is at offset {upload.received_bytes}. Read its offset with HEAD, and continue "
        "from there.",
        code="upload-offset",
    )


def _superseded_error() -> ConflictError:
    return ConflictError(
        "Another request has read the offset of this upload, so this request was ended. If it has "
        "no checksum, its bytes so far are stored.",
        code="upload-superseded",
    )


def too_long_error() -> PayloadTooLargeError:
    """Return the error for a body that exceeds the length of the upload."""
    return PayloadTooLargeError(
        "The body goes beyond the length of the upload. The bytes beyond it were dropped."
    )
