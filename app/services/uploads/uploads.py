"""Uploads in pieces: a file of gigabytes arrives over many requests, and survives all of them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

from app.crash_points import CrashPoint, reached
from app.errors import GoneError, NotFoundError, PayloadTooLargeError, StoreUnavailableError
from app.models.alias import check_alias
from app.models.identity import is_id, new_id, utc_now
from app.models.limits import Limits
from app.models.resource import Resource
from app.models.upload import Checksum, ResumableUpload
from app.services.quotas.stored_bytes import StoredBytes
from app.services.resources.aliases import check_room_for_alias
from app.services.uploads.bodies import UploadBody, UploadTurns, beyond_the_end
from app.services.uploads.completion import UploadCompletion
from app.services.uploads.segments import SEGMENT_BYTES, SegmentIntake, wrong_offset
from app.stores.blobs import BlobStore
from app.stores.records import Records, UnitOfWork

_KEPT_YET_FAILED = (
    "The bytes of this piece were kept, and what was to follow has failed: a store did not answer, "
    "or there is no room for the whole file. Nothing is lost: ask for the offset with HEAD, later, "
    "and go on from there."
)


@dataclass(frozen=True, slots=True)
class UploadDraft:
    """What a client says about a file before it sends any of it.

    `metadata` are its words as they came; `filename` and `mime_type` are what they claim, `alias`
    is what else the resource is to be called.
    """

    length_bytes: int
    metadata: str | None
    filename: str | None
    mime_type: str | None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """What a client says about a piece it sends: where it begins, and perhaps its length."""

    offset: int
    announced_bytes: int | None
    checksum: Checksum | None


class Uploads:
    """Takes files in pieces.

    Args:
        records: Where uploads are noted.
        blobs: Where their bytes go.
        limits: How long a file may be, and how long it may take.
        segment_bytes: How much is kept as one; a killed process loses no more of an upload.
        stored_bytes: Counts what projects keep, where that is to be counted.
    """

    def __init__(
        self,
        records: Records,
        blobs: BlobStore,
        *,
        limits: Limits,
        segment_bytes: int = SEGMENT_BYTES,
        stored_bytes: StoredBytes | None = None,
    ) -> None:
        self._records = records
        self._stored_bytes = stored_bytes
        self._limits = limits
        self._intake = SegmentIntake(
            records, blobs, keep_seconds=limits.upload_seconds, segment_bytes=segment_bytes
        )
        self._turns = UploadTurns()
        self._completion = UploadCompletion(records, blobs)

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
        if draft.length_bytes > self._limits.upload_bytes:
            raise PayloadTooLargeError(
                f"An upload may have {self._limits.upload_bytes} bytes at most."
            )
        if self._stored_bytes is not None:
            await self._stored_bytes.check_room(project_id, draft.length_bytes)
        now = utc_now()
        upload = ResumableUpload(
            upload_id=new_id(),
            length_bytes=draft.length_bytes,
            received_bytes=0,
            metadata=draft.metadata,
            filename=draft.filename,
            mime_type=draft.mime_type,
            created_at=now,
            expires_at=now + timedelta(seconds=self._limits.upload_seconds),
            alias=draft.alias,
        )

        def add(unit: UnitOfWork) -> None:
            if upload.alias is not None:
                check_room_for_alias(unit, upload.alias, upload.length_bytes)
            unit.uploads.add(upload)

        await self._records.write(project_id, add)
        return await self._completion.completed(project_id, upload)

    async def get(self, project_id: str, upload_id: str) -> ResumableUpload:
        """Return an upload and its offset; make it a resource if all of it has come.

        Raises:
            NotFoundError: The project has none with this id.
            GoneError: Its time is over.
        """
        upload = await self._find(project_id, upload_id)
        return await self._completion.completed(project_id, upload)

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
            resource = await self._records.read(
                project_id, lambda unit: unit.resources.find(resource_id)
            )
        return upload, resource

    async def receive(
        self, project_id: str, upload_id: str, *, piece: Piece, chunks: AsyncIterator[bytes]
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
        take = self._intake.receive_verified if piece.checksum else self._intake.receive
        with self._turns.sending(project_id, upload_id, body):
            await take(project_id, upload, body=body)
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
        if not is_id(upload_id) or not await self._records.write(
            project_id, lambda unit: unit.uploads.remove(upload_id)
        ):
            raise NotFoundError("upload")

    async def _find(self, project_id: str, upload_id: str) -> ResumableUpload:
        upload = None
        if is_id(upload_id):
            upload = await self._records.read(project_id, lambda unit: unit.uploads.find(upload_id))
        if upload is None:
            raise NotFoundError("upload")
        if utc_now() >= upload.expires_at:
            raise GoneError("The time for this upload is over. Begin a new one.")
        return upload
