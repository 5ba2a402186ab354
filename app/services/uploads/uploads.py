"""Resumable uploads: a large file is received in many requests.

The request with the last byte completes the upload: it joins the stored segments into one file,
which becomes a resource. If the process is killed while it does this, nothing is recorded, and the
next request completes the upload. Completing an upload twice has the same result. If a segment is
damaged, the offset of the upload is set back to the beginning of the segment, and the client sends
the segment again.
"""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from app.crash_points import CrashPoint, reach_crash_point
from app.errors import (
    BlobSweptError,
    ConflictError,
    GoneError,
    NotFoundError,
    StoreUnavailableError,
)
from app.models.identity import is_id, new_id, utc_now
from app.models.limits import Limits
from app.models.resource_descriptor import check_alias
from app.models.upload import Checksum, ResumableUpload, Segment
from app.services.quotas.storage_quota import StorageQuota
from app.services.requests.validation import require_found
from app.services.resources.aliases import assign_alias, check_alias_size
from app.services.resources.resources import Upload, describe_blob
from app.services.uploads.segments import (
    SEGMENT_BYTES,
    ReceivingBodies,
    SegmentWriter,
    UploadBody,
    too_long_error,
    wrong_offset_error,
)
from app.stores.blobs.store import BlobMissingError, BlobStore, StoredBlob, read_whole
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.uploads import UploadRecords
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.media.file_type import HEAD_BYTES
from pagefault_dialects.model.resource import Resource

_COMPLETION_FAILED = (
    "The bytes of this piece were stored, but the upload could not be completed: a store did not "
    "answer, or has no room for the whole file. Nothing is lost: read the offset with HEAD later, "
    "and continue from there."
)


@dataclass(frozen=True, slots=True)
class UploadDraft:
    """The description of a file that a client sends before the bytes."""

    length_bytes: int
    metadata: str | None
    """The header `Upload-Metadata` as it was sent. The other fields have its values."""
    filename: str | None
    mime_type: str | None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class UploadPiece:
    """The description of a piece of a file, from the headers of its request."""

    offset: int
    """The position of the piece in the file."""
    declared_bytes: int | None
    """The length of the piece, if the request has it."""
    checksum: Checksum | None
    """The checksum of the piece, if the request has one."""


@dataclass(eq=False)
class _DamagedSegmentError(Exception):
    """A segment is missing or damaged."""

    segment: Segment


@dataclass(frozen=True, slots=True, eq=False)
class Uploads:
    """Receives files in pieces."""

    records: Records
    blobs: BlobStore
    limits: Limits
    """Limits the size of a file and the lifetime of an upload."""
    segment_bytes: int = SEGMENT_BYTES
    """The size of a segment. If a process is killed, an upload loses at most this many bytes."""
    quota: StorageQuota | None = None
    """The quota of stored bytes, if there is one."""
    _receiving: ReceivingBodies = field(init=False, default_factory=ReceivingBodies)
    # Completing an upload copies gigabytes, so only the first of several requests does it.
    _completing: WeakValueDictionary[tuple[str, str], anyio.Lock] = field(
        init=False, default_factory=WeakValueDictionary
    )

    async def create(self, project_id: str, draft: UploadDraft) -> ResumableUpload:
        """Create an upload. The upload of an empty file is complete at once.

        Raises:
            InvalidPayloadError: The alias is invalid.
            ConflictError: The alias belongs to a file of another length.
            PayloadTooLargeError: The file is longer than the limit.
            StoredBytesQuotaError: The file does not fit into the quota of the project.
        """
        if draft.alias is not None:
            check_alias(draft.alias)
        if draft.length_bytes > self.limits.upload_bytes:
            raise PayloadTooLargeError(
                f"An upload may have {self.limits.upload_bytes} bytes at most."
            )
        if self.quota is not None:
            await self.quota.check_room(project_id, draft.length_bytes)
        now = utc_now()
        upload = ResumableUpload(
            upload_id=new_id(),
            received_bytes=0,
            created_at=now,
            expires_at=now + timedelta(seconds=self.limits.upload_seconds),
            **asdict(draft),
        )

        def add(unit: UnitOfWork) -> None:
            if upload.alias is not None:
                check_alias_size(unit, upload.alias, upload.length_bytes)
            unit[UploadRecords].add(upload)

        await self.records.write(project_id, add)
        return await self._complete_received(project_id, upload)

    async def get(self, project_id: str, upload_id: str) -> ResumableUpload:
        """Return an upload with its offset. An upload with all its bytes is completed first.

        Raises:
            NotFoundError: The project has no such upload.
            GoneError: The upload has expired.
        """
        upload = await self._find(project_id, upload_id)
        return await self._complete_received(project_id, upload)

    async def resume(self, project_id: str, upload_id: str) -> ResumableUpload:
        """End the requests whose bodies this process is receiving for an upload; return the upload.

        Raises:
            NotFoundError, GoneError: See `get`.
        """
        await self._receiving.interrupt(project_id, upload_id)
        return await self.get(project_id, upload_id)

    async def describe(
        self, project_id: str, upload_id: str
    ) -> tuple[ResumableUpload, Resource | None]:
        """Return an upload as `get` does, and its resource if it exists."""
        upload = await self.get(project_id, upload_id)
        resource = None
        if resource_id := upload.resource_id:
            resource = await self.records.read(
                project_id, lambda unit: unit[ResourceRecords].find(resource_id)
            )
        return upload, resource

    async def receive(
        self, project_id: str, upload_id: str, *, piece: UploadPiece, chunks: AsyncIterator[bytes]
    ) -> ResumableUpload:
        """Store a piece while it arrives. The last piece completes the upload.

        If a piece without a checksum ends early, the bytes that have arrived are stored. A piece
        with a checksum is only stored as a whole.

        Raises:
            NotFoundError, GoneError: See `get`.
            ConflictError: The piece does not begin at the offset of the upload. Or another request
                has resumed the upload. Or all bytes are stored, but the alias is in use.
            PayloadTooLargeError: The piece exceeds the length of the upload.
            ChecksumMismatchError: The checksum does not match; the piece is dropped.
            StoreUnavailableError: A store did not respond, or has no room for the whole file. The
                next `get` returns the offset.
        """
        upload = await self._find(project_id, upload_id)
        if piece.offset != upload.received_bytes:
            raise wrong_offset_error(upload)
        if piece.declared_bytes is not None and piece.declared_bytes > upload.missing_bytes:
            raise too_long_error()
        body = UploadBody(chunks, missing_bytes=upload.missing_bytes, checksum=piece.checksum)
        writer = SegmentWriter(
            self.records,
            self.blobs,
            lifetime=timedelta(seconds=self.limits.upload_seconds),
            segment_bytes=self.segment_bytes,
        )
        with self._receiving.register(project_id, upload_id, body):
            await writer.receive(project_id, upload, body=body)
        reach_crash_point(CrashPoint.SEGMENT_KEPT)
        try:
            return await self.get(project_id, upload_id)
        except StoreUnavailableError as exc:
            # The default text says that nothing was stored.
            exc.detail = _COMPLETION_FAILED
            raise

    async def remove(self, project_id: str, upload_id: str) -> None:
        """Delete an upload. Its resource is not deleted.

        Raises:
            NotFoundError: The project has no such upload.
        """
        if not is_id(upload_id) or not await self.records.write(
            project_id, lambda unit: unit[UploadRecords].remove(upload_id)
        ):
            raise NotFoundError("upload")

    async def _find(self, project_id: str, upload_id: str) -> ResumableUpload:
        found = None
        if is_id(upload_id):
            found = await self.records.read(
                project_id, lambda unit: unit[UploadRecords].find(upload_id)
            )
        upload = require_found(found, "upload")
        if utc_now() >= upload.expires_at:
            raise GoneError("The upload has expired. Create a new one.")
        return upload

    async def _complete_received(self, project_id: str, upload: ResumableUpload) -> ResumableUpload:
        """Complete an upload if all its bytes are stored, and return it.

        Raises:
            NotFoundError: The upload was removed by another request.
            ConflictError: The alias belongs to another resource.
            BlobSweptError: A sweep has removed the joined file, because it has no row yet.
            StoreUnavailableError: A store did not respond.
        """
        if upload.resource_id is not None or upload.missing_bytes:
            return upload
        lock = self._completing.setdefault((project_id, upload.upload_id), anyio.Lock())
        async with lock:
            return await self._complete(project_id, upload.upload_id)

    async def _complete(self, project_id: str, upload_id: str) -> ResumableUpload:
        # The segments are read before the upload. If another process completes the upload between
        # the two reads, the upload has a resource, and the segments are not needed.
        segments, found = await self.records.read(
            project_id,
            lambda unit: (
                unit[UploadRecords].segments(upload_id),
                unit[UploadRecords].find(upload_id),
            ),
        )
        upload = require_found(found, "upload")
        if upload.resource_id is not None:
            return upload
        alias = upload.alias
        if alias is not None:
            # `assign_alias` checks this again, but only after gigabytes were copied.
            with _explain_alias_conflict():
                await self.records.read(
                    project_id, lambda unit: check_alias_size(unit, alias, upload.length_bytes)
                )
        try:
            blob = await self._join_segments(project_id, upload, segments)
        except _DamagedSegmentError as exc:
            # The client sends the damaged segment again, and all segments after it.
            start = exc.segment.start
            await self.records.write(
                project_id, lambda unit: unit[UploadRecords].set_back(upload_id, start)
            )
            return replace(upload, received_bytes=start)
        try:
            head = await read_whole(self.blobs, project_id, blob.digest, end=HEAD_BYTES)
        except BlobMissingError as exc:
            # No row refers to the blob yet, so a sweep may have removed it.
            raise BlobSweptError from exc
        metadata = Upload(upload.mime_type, upload.filename, digest=None)
        resource = await describe_blob(
            self.blobs, project_id, blob=blob, upload=metadata, head=head
        )

        def complete(unit: UnitOfWork) -> None:
            stored, _ = unit[ResourceRecords].ensure(resource)
            if alias is not None:
                with _explain_alias_conflict():
                    assign_alias(unit, alias, stored)
            if not unit[UploadRecords].complete(upload_id, resource.resource_id):
                raise NotFoundError("upload")

        await self.records.write(project_id, complete)
        return replace(upload, resource_id=resource.resource_id)

    async def _join_segments(
        self, project_id: str, upload: ResumableUpload, segments: Sequence[Segment]
    ) -> StoredBlob:
        """Return the blob of the file: the only segment, or a new blob with all segments."""
        if len(segments) == 1:
            async with aclosing(self._read_verified(project_id, segments[0])) as pieces:
                async for _ in pieces:
                    pass
            return StoredBlob(segments[0].digest, segments[0].size_bytes)
        async with self.blobs.writer(project_id, limit_bytes=upload.length_bytes) as writer:
            for segment in segments:
                async with aclosing(self._read_verified(project_id, segment)) as pieces:
                    async for piece in pieces:
                        await writer.write(piece)
            return await writer.commit()

    async def _read_verified(
        self, project_id: str, segment: Segment
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a segment.

        Raises:
            _DamagedSegmentError: The segment is missing, or (after its last byte) is damaged.
        """
        hashing = hashlib.sha256()
        try:
            async with aclosing(await self.blobs.open(project_id, segment.digest)) as pieces:
                async for piece in pieces:
                    await anyio.to_thread.run_sync(hashing.update, piece)
                    yield piece
        except BlobMissingError as exc:
            raise _DamagedSegmentError(segment) from exc
        if hashing.hexdigest() != segment.digest:
            raise _DamagedSegmentError(segment)


@contextmanager
def _explain_alias_conflict() -> Iterator[None]:
    """Replace the text of alias errors, which says that nothing was stored."""
    try:
        yield
    except ConflictError as exc:
        exc.detail = (
            "All bytes of the file are stored, but the resource cannot have this alias: it names "
            "another resource, or the resource has too many aliases. Delete the alias or one of "
            "the others, and read the offset with HEAD, which completes the upload."
        )
        raise
