"""Uploads in pieces: a file of gigabytes arrives over many requests, and survives all of them.

In the end its segments become one file, and the file a resource, within the request that brings the
last byte. If the process dies before it is through, the next question about the upload starts it
anew: nothing is noted before all is done, and doing it twice gives the same resource. A segment
that was damaged meanwhile sets the upload back to where it begins, and the client sends it again.
"""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from app.crash_points import CrashPoint, reached
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
from app.services.resources.aliases import check_room_for_alias, name_resource
from app.services.resources.resources import Upload, describe_blob
from app.services.uploads.segments import (
    SEGMENT_BYTES,
    SegmentIntake,
    UploadBody,
    UploadTurns,
    beyond_the_end,
    wrong_offset,
)
from app.stores.blobs.store import BlobMissingError, BlobStore, StoredBlob, read_whole
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.uploads import UploadRecords
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.media.file_type import HEAD_BYTES
from pagefault_dialects.model.resource import Resource

_KEPT_YET_FAILED = (
    "The bytes of this piece were kept, and what was to follow has failed: a store did not answer, "
    "or there is no room for the whole file. Nothing is lost: ask for the offset with HEAD, later, "
    "and go on from there."
)


@dataclass(frozen=True, slots=True)
class UploadDraft:
    """The description of a file that a client sends before its bytes.

    `metadata` are its words as they came; `filename` and `mime_type` are what they claim, `alias`
    is what else the resource is to be called.
    """

    length_bytes: int
    metadata: str | None
    filename: str | None
    mime_type: str | None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class UploadPiece:
    """The description of a piece: its offset, and its length if known."""

    offset: int
    announced_bytes: int | None
    checksum: Checksum | None


@dataclass(eq=False)
class _DamagedSegmentError(Exception):
    """A segment is gone, or no longer what came."""

    segment: Segment


@dataclass(frozen=True, slots=True, eq=False)
class Uploads:
    """Takes files in pieces."""

    records: Records
    """The records of uploads."""
    blobs: BlobStore
    """Where their bytes go."""
    limits: Limits
    """How long a file may be, and how long it may take."""
    segment_bytes: int = SEGMENT_BYTES
    """How much is kept as one; a killed process loses no more of an upload."""
    stored_bytes: StorageQuota | None = None
    """Counts what projects keep, where that is to be counted."""
    _turns: UploadTurns = field(init=False, default_factory=UploadTurns)
    # An impatient client asks again and again: each time would copy gigabytes.
    _completing: WeakValueDictionary[tuple[str, str], anyio.Lock] = field(
        init=False, default_factory=WeakValueDictionary
    )

    async def create(self, project_id: str, draft: UploadDraft) -> ResumableUpload:
        """Begin an upload; one of an empty file is complete at once.

        Raises:
            InvalidPayloadError: The alias cannot be one.
            ConflictError: The alias names a file of another length.
            PayloadTooLargeError: The file is longer than an upload may be.
            StoredBytesQuotaError: The project has no room for it now; later there may be none.
        """
        if draft.alias is not None:
            check_alias(draft.alias)
        if draft.length_bytes > self.limits.upload_bytes:
            raise PayloadTooLargeError(
                f"An upload may have {self.limits.upload_bytes} bytes at most."
            )
        if self.stored_bytes is not None:
            await self.stored_bytes.check_room(project_id, draft.length_bytes)
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
                check_room_for_alias(unit, upload.alias, upload.length_bytes)
            unit[UploadRecords].add(upload)

        await self.records.write(project_id, add)
        return await self._completed(project_id, upload)

    async def get(self, project_id: str, upload_id: str) -> ResumableUpload:
        """Return an upload and its offset; make it a resource if all of it has come.

        Raises:
            NotFoundError: The project has none with this id.
            GoneError: Its time is over.
        """
        upload = await self._find(project_id, upload_id)
        return await self._completed(project_id, upload)

    async def resume(self, project_id: str, upload_id: str) -> ResumableUpload:
        """End what is still being sent to an upload here, then return it to be gone on with.

        Raises:
            NotFoundError, GoneError: See `get`.
        """
        await self._turns.interrupt(project_id, upload_id)
        return await self.get(project_id, upload_id)

    async def describe(
        self, project_id: str, upload_id: str
    ) -> tuple[ResumableUpload, Resource | None]:
        """Return what `get` returns, and the resource that became of it, unless it is deleted."""
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
        """Take a piece, read as it arrives; the last one makes the upload a resource.

        Without a checksum, what has come counts even if the piece ends early. With one, all of it
        counts or nothing.

        Raises:
            NotFoundError, GoneError: See `get`.
            ConflictError: It does not begin where the upload is, and the sentence says where that
                is; or somebody went on with the upload meanwhile; or its alias is taken, and all
                of it is kept.
            PayloadTooLargeError: It goes beyond the end; what goes beyond is not kept.
            ChecksumMismatchError: Its checksum does not hold; nothing of it is kept.
            StoreUnavailableError: A store did not answer, or has no room for the whole file; what
                the next `get` says is kept.
        """
        upload = await self._find(project_id, upload_id)
        if piece.offset != upload.received_bytes:
            raise wrong_offset(upload)
        if piece.announced_bytes is not None and piece.announced_bytes > upload.left_bytes:
            raise beyond_the_end()
        body = UploadBody(chunks, left_bytes=upload.left_bytes, checksum=piece.checksum)
        intake = SegmentIntake(
            self.records,
            self.blobs,
            kept_for=timedelta(seconds=self.limits.upload_seconds),
            segment_bytes=self.segment_bytes,
        )
        with self._turns.sending(project_id, upload_id, body):
            await intake.receive(project_id, upload, body=body)
        reached(CrashPoint.SEGMENT_KEPT)
        try:
            return await self.get(project_id, upload_id)
        except StoreUnavailableError as exc:
            # Its own words are those of a request that has stored nothing.
            exc.detail = _KEPT_YET_FAILED
            raise

    async def remove(self, project_id: str, upload_id: str) -> None:
        """Forget an upload; a resource that came of it stays.

        Raises:
            NotFoundError: The project has none with this id.
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
            raise GoneError("The time for this upload is over. Begin a new one.")
        return upload

    async def _completed(self, project_id: str, upload: ResumableUpload) -> ResumableUpload:
        """Return the upload, made a resource if all of it is there.

        Raises:
            NotFoundError: The upload was removed meanwhile; no resource came of it.
            ConflictError: Its alias names another resource; nothing has changed.
            BlobSweptError: A sweep has removed the whole file meanwhile; nothing has changed.
            StoreUnavailableError: A store did not answer; nothing has changed.
        """
        if upload.resource_id is not None or upload.left_bytes:
            return upload
        turn = self._completing.setdefault((project_id, upload.upload_id), anyio.Lock())
        async with turn:
            return await self._complete(project_id, upload.upload_id)

    async def _complete(self, project_id: str, upload_id: str) -> ResumableUpload:
        # In this order: whoever completes it elsewhere drops the segments with the same commit.
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
            # Before gigabytes are copied, again with every question.
            with _kept_whole():
                await self.records.read(
                    project_id, lambda unit: check_room_for_alias(unit, alias, upload.length_bytes)
                )
        try:
            blob = await self._whole(project_id, upload, segments)
        except _DamagedSegmentError as exc:
            # Its client sends again what is damaged, and goes on from there.
            start = exc.segment.start
            await self.records.write(
                project_id, lambda unit: unit[UploadRecords].set_back(upload_id, start)
            )
            return replace(upload, received_bytes=start)
        try:
            head = await read_whole(self.blobs, project_id, blob.digest, end=HEAD_BYTES)
        except BlobMissingError as exc:
            # No row says yet that it is needed, so a sweep may have been faster.
            raise BlobSweptError from exc
        claim = Upload(upload.mime_type, upload.filename, digest=None)
        resource = await describe_blob(self.blobs, project_id, blob=blob, claim=claim, head=head)

        def complete(unit: UnitOfWork) -> None:
            stored, _ = unit[ResourceRecords].ensure(resource)
            if alias is not None:
                with _kept_whole():
                    name_resource(unit, alias, stored)
            if not unit[UploadRecords].complete(upload_id, resource.resource_id):
                raise NotFoundError("upload")

        await self.records.write(project_id, complete)
        return replace(upload, resource_id=resource.resource_id)

    async def _whole(
        self, project_id: str, upload: ResumableUpload, segments: Sequence[Segment]
    ) -> StoredBlob:
        """Return the blob of the whole file: that of the only segment, or one written of all."""
        if len(segments) == 1:
            async with aclosing(self._verified(project_id, segments[0])) as pieces:
                async for _ in pieces:
                    pass
            return StoredBlob(segments[0].digest, segments[0].size_bytes)
        async with self.blobs.writer(project_id, limit_bytes=upload.length_bytes) as writer:
            for segment in segments:
                async with aclosing(self._verified(project_id, segment)) as pieces:
                    async for piece in pieces:
                        await writer.write(piece)
            return await writer.commit()

    async def _verified(self, project_id: str, segment: Segment) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a segment; raise, at their end at last, if they are not what came."""
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
def _kept_whole() -> Iterator[None]:
    """Say of an alias that cannot be given what becomes of the bytes that have come."""
    try:
        yield
    except ConflictError as exc:
        exc.detail = (
            "All bytes of the file have come and are kept, and its alias cannot be given to it: it "
            "names another resource, or the resource has as many as it may. Delete that alias, or "
            "one of those, and ask for the offset with HEAD, which completes the upload."
        )
        raise
