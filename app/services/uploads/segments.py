"""Take in what arrives of an upload as segments: blobs of up to 64 MiB, each with a row.

A segment counts from the moment its row is committed, in the transaction that moves the offset on.
Until then its blob is garbage like any other. A process that is killed loses the segment it was
at; a body that ends early in any other way leaves a shorter one.

Bodies that are being read are known, so that a client that comes back is not kept out. A connection
may be dead for long before the service learns of it. Its client is back meanwhile and asks where to
go on; were it told what counts so far, it would send again what is already here, and be refused
when the dead request's bytes count in the end. So the question ends that request first. A request
in another process is not reached: there, the first to be counted wins.
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
# What has come may take some time to be made durable; the question is answered all the same.
_PATIENCE_SECONDS = 20.0
_log = structlog.get_logger(__name__)


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
        self.checksum = checksum
        # Against damage on the way, not against anybody: for that, SHA-1 is still good.
        self._hash = hashlib.new(checksum.algorithm, usedforsecurity=False) if checksum else None
        self._rest = b""
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
        if not self._rest and most_bytes and not self.is_over:
            self._rest = await self._next_chunk()
        piece, self._rest = self._rest[:most_bytes], self._rest[most_bytes:]
        return piece

    def verify_at_end(self) -> None:
        """Compare the bytes that were handed out with their checksum, once the body is over.

        Raises:
            ChecksumMismatchError: They have another one.
        """
        if not (self.is_over and self.checksum and self._hash):
            return
        if self._hash.digest() != self.checksum.digest:
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


@dataclass(frozen=True, slots=True)
class SegmentIntake:
    """Takes bodies in."""

    records: Records
    """The records of segments."""
    blobs: BlobStore
    """The store of their bytes."""
    kept_for: timedelta
    """The time an upload is kept after its last segment."""
    segment_bytes: int
    """The largest segment."""

    async def receive(self, project_id: str, upload: ResumableUpload, *, body: UploadBody) -> None:
        """Keep a body; what has come of it counts, however it ends.

        Of one with a checksum, all of it counts, or nothing if that does not hold.

        Raises:
            ChecksumMismatchError: The checksum does not hold.
            ConflictError: Something else has moved the offset; what came since does not count.
            NotFoundError: The upload was removed meanwhile.
            Exception: What ended the body early, after what counts of it was kept.
        """
        offset, upload_id = upload.received_bytes, upload.upload_id
        # What counts once the checksum of all of it holds.
        uncounted: list[Segment] = []

        async def keep(stretch: _Stretch) -> None:
            blob = await stretch.writer.commit()
            segment = Segment(stretch.start, blob.size_bytes, blob.digest)
            if body.checksum is None:
                await self._count(project_id, upload_id, [segment])
            else:
                # As soon as it is durable, so that it is removed if the caller has gone.
                uncounted.append(segment)

        try:
            while not body.is_over:
                async with self.blobs.writer(project_id, limit_bytes=self.segment_bytes) as writer:
                    stretch = _Stretch(writer, start=offset)
                    is_sound = body.checksum is None
                    try:
                        await stretch.fill(body, self.segment_bytes)
                        body.verify_at_end()
                        is_sound = True
                    finally:
                        if is_sound and stretch.can_be_kept:
                            await run_to_completion(keep(stretch))
                offset += stretch.size_bytes
            if uncounted:
                await run_to_completion(self._count(project_id, upload_id, uncounted))
        except BaseException:
            await self._remove(project_id, uncounted)
            raise

    async def _remove(self, project_id: str, segments: Sequence[Segment]) -> None:
        """Remove segments that no upload has, so that they take no room until the next sweep."""
        removal = BlobRemoval(self.records, self.blobs)
        with anyio.CancelScope(shield=True):
            try:
                for digests in in_batches({segment.digest for segment in segments}):
                    await removal.remove(project_id, digests)
            except PagefaultError as exc:
                _log.warning("pieces left for the next sweep", code=exc.problem_code)

    async def _count(self, project_id: str, upload_id: str, segments: Sequence[Segment]) -> None:
        expires_at = utc_now() + self.kept_for

        def advance(unit: UnitOfWork) -> None:
            if unit[UploadRecords].advance(upload_id, segments, expires_at=expires_at):
                return
            upload = unit[UploadRecords].find(upload_id)
            raise NotFoundError("upload") if upload is None else wrong_offset(upload)

        await self.records.write(project_id, advance)


@dataclass(slots=True)
class _Stretch:
    """A segment on its way into the blob store."""

    writer: BlobWriter
    start: int
    size_bytes: int = 0
    _is_sound: bool = True

    @property
    def can_be_kept(self) -> bool:
        """True if there are bytes, and the store has taken all of them."""
        return self._is_sound and self.size_bytes > 0

    async def fill(self, body: UploadBody, most_bytes: int) -> None:
        """Write the next bytes of a body, at most so many."""
        while chunk := await body.next(most_bytes - self.size_bytes):
            # A writer that is cancelled within a write cannot be committed any more.
            await run_to_completion(self._write(chunk))

    async def _write(self, chunk: bytes) -> None:
        self._is_sound = False
        await self.writer.write(chunk)
        self._is_sound = True
        self.size_bytes += len(chunk)


def wrong_offset(upload: ResumableUpload) -> ConflictError:
    """Return the error for a piece that does not begin where the upload is."""
    return ConflictError(
        f"The upload is at offset {upload.received_bytes}. Ask for its offset with HEAD, and go on "
        "from there.",
        code="upload-offset",
    )


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
