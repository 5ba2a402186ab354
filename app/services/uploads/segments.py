"""What arrives of an upload becomes segments: blobs of up to 64 MiB, each with a row.

A segment counts from the moment its row is committed, in the transaction that moves the offset on.
Until then its blob is garbage like any other. A process that is killed loses the segment it was
at; a body that ends early in any other way leaves a shorter one.
"""

from collections.abc import Sequence
from datetime import timedelta

import anyio
import structlog

from app.errors import ConflictError, NotFoundError, ServiceError
from app.models.identity import utc_now
from app.models.upload import ResumableUpload, Segment
from app.services.concurrency.background import run_to_completion
from app.services.maintenance.blob_removal import BlobRemoval
from app.services.uploads.bodies import UploadBody
from app.stores.blobs import BlobStore, BlobWriter
from app.stores.records import Records, UnitOfWork
from app.stores.records.swept_blobs import DIGESTS_AT_ONCE

SEGMENT_BYTES = 64 * 1024 * 1024
_log = structlog.get_logger(__name__)


class SegmentIntake:
    """Takes bodies in.

    Args:
        records: Where segments are noted.
        blobs: Where their bytes go.
        keep_seconds: How long an upload may lie after a segment has come.
        segment_bytes: The largest segment.
    """

    def __init__(
        self,
        records: Records,
        blobs: BlobStore,
        *,
        keep_seconds: float,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self._records = records
        self._blobs = blobs
        self._removal = BlobRemoval(records, blobs)
        self._kept_for = timedelta(seconds=keep_seconds)
        self._segment_bytes = segment_bytes

    async def receive(self, project_id: str, upload: ResumableUpload, *, body: UploadBody) -> None:
        """Keep a body; what has come of it counts, however it ends.

        Raises:
            ConflictError: Something else has moved the offset; what came since does not count.
            NotFoundError: The upload was removed meanwhile.
            Exception: What ended the body early, after what came before was kept.
        """
        offset = upload.received_bytes
        while not body.is_over:
            async with self._blobs.writer(project_id, limit_bytes=self._segment_bytes) as writer:
                stretch = _Stretch(writer, start=offset)
                try:
                    await stretch.fill(body, self._segment_bytes)
                finally:
                    if stretch.can_be_kept:
                        await run_to_completion(self._keep(project_id, upload.upload_id, stretch))
            offset += stretch.size_bytes

    async def receive_verified(
        self, project_id: str, upload: ResumableUpload, *, body: UploadBody
    ) -> None:
        """Keep a body whose checksum holds; of any other, nothing counts.

        Raises:
            ChecksumMismatchError: It does not hold.
            ConflictError, NotFoundError: See `receive`.
        """
        segments: list[Segment] = []
        try:
            await self._store(project_id, upload, body, segments)
            if segments:
                await run_to_completion(self._count(project_id, upload.upload_id, segments))
        except BaseException:
            await self._remove(project_id, segments)
            raise

    async def _store(
        self,
        project_id: str,
        upload: ResumableUpload,
        body: UploadBody,
        segments: list[Segment],
    ) -> None:
        """Store a body in segments; the last only if the checksum of all of it holds."""
        offset = upload.received_bytes
        while not body.is_over:
            async with self._blobs.writer(project_id, limit_bytes=self._segment_bytes) as writer:
                stretch = _Stretch(writer, start=offset)
                await stretch.fill(body, self._segment_bytes)
                body.verify_at_end()
                if stretch.can_be_kept:
                    await run_to_completion(_commit(stretch, segments))
            offset += stretch.size_bytes

    async def _remove(self, project_id: str, segments: Sequence[Segment]) -> None:
        """Remove segments that no upload has, so that they take no room until the next sweep."""
        digests = sorted({segment.digest for segment in segments})
        with anyio.CancelScope(shield=True):
            try:
                for start in range(0, len(digests), DIGESTS_AT_ONCE):
                    batch = digests[start : start + DIGESTS_AT_ONCE]
                    await self._removal.remove(project_id, batch)
            except ServiceError as exc:
                _log.warning("pieces left for the next sweep", code=exc.problem_code)

    async def _keep(self, project_id: str, upload_id: str, stretch: "_Stretch") -> None:
        await self._count(project_id, upload_id, [await stretch.commit()])

    async def _count(self, project_id: str, upload_id: str, segments: Sequence[Segment]) -> None:
        expires_at = utc_now() + self._kept_for

        def advance(unit: UnitOfWork) -> None:
            if unit.uploads.advance(upload_id, segments, expires_at=expires_at):
                return
            upload = unit.uploads.find(upload_id)
            raise NotFoundError("upload") if upload is None else wrong_offset(upload)

        await self._records.write(project_id, advance)


async def _commit(stretch: "_Stretch", segments: list[Segment]) -> None:
    """Note a segment as soon as it is stored, so that it is removed if the caller has gone."""
    segments.append(await stretch.commit())


class _Stretch:
    """A segment on its way into the blob store."""

    def __init__(self, writer: BlobWriter, *, start: int) -> None:
        self._writer = writer
        self._start = start
        self._is_sound = True
        self.size_bytes = 0

    @property
    def can_be_kept(self) -> bool:
        """Whether there is something, and the store has failed at none of it."""
        return self._is_sound and self.size_bytes > 0

    async def fill(self, body: UploadBody, most_bytes: int) -> None:
        """Write the next bytes of a body, at most so many."""
        while chunk := await body.next(most_bytes - self.size_bytes):
            # A writer that is cancelled within a write cannot be committed any more.
            await run_to_completion(self._write(chunk))

    async def commit(self) -> Segment:
        """Make it durable."""
        blob = await self._writer.commit()
        return Segment(self._start, blob.size_bytes, blob.digest)

    async def _write(self, chunk: bytes) -> None:
        self._is_sound = False
        await self._writer.write(chunk)
        self._is_sound = True
        self.size_bytes += len(chunk)


def wrong_offset(upload: ResumableUpload) -> ConflictError:
    """The error for a piece that does not begin where the upload is."""
    return ConflictError(
        f"The upload is at offset {upload.received_bytes}. Ask for its offset with HEAD, and go on "
        "from there.",
        code="upload-offset",
    )
