"""The end of an upload: its segments become one file, and the file a resource.

It runs within the request that brings the last byte. If the process dies before it is through, the
next question about the upload starts it anew: nothing is noted before all is done, and doing it
twice gives the same resource. A segment that was damaged meanwhile sets the upload back to where it
begins, and the client sends it again.
"""

import hashlib
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from app.errors import BlobSweptError, ConflictError, NotFoundError
from app.media.settling import HEAD_BYTES
from app.models.upload import ResumableUpload, Segment
from app.services.resources.aliases import check_room_for_alias, name_resource
from app.services.resources.resources import Upload, describe_blob
from app.stores.blobs import BlobMissingError, BlobStore, StoredBlob, read_whole
from app.stores.records import Records, UnitOfWork


class _DamagedSegmentError(Exception):
    """A segment is gone, or no longer what came."""

    def __init__(self, segment: Segment) -> None:
        super().__init__(f"the segment from byte {segment.start} on")
        self.segment = segment


@dataclass(frozen=True, slots=True, eq=False)
class UploadCompletion:
    """Makes resources of uploads that are whole."""

    records: Records
    blobs: BlobStore
    # An impatient client asks again and again: each time would copy gigabytes.
    _turns: WeakValueDictionary[tuple[str, str], anyio.Lock] = field(
        init=False, default_factory=WeakValueDictionary
    )

    async def completed(self, project_id: str, upload: ResumableUpload) -> ResumableUpload:
        """Return the upload, made a resource if all of it is there.

        Raises:
            NotFoundError: The upload was removed meanwhile; no resource came of it.
            ConflictError: Its alias names another resource; nothing has changed.
            BlobSweptError: A sweep has removed the whole file meanwhile; nothing has changed.
            StoreUnavailableError: A store did not answer; nothing has changed.
        """
        if upload.resource_id is not None or upload.left_bytes:
            return upload
        turn = self._turns.setdefault((project_id, upload.upload_id), anyio.Lock())
        async with turn:
            return await self._complete(project_id, upload.upload_id)

    async def _complete(self, project_id: str, upload_id: str) -> ResumableUpload:
        # In this order: whoever completes it elsewhere drops the segments with the same commit.
        segments, upload = await self.records.read(
            project_id,
            lambda unit: (unit.uploads.segments(upload_id), unit.uploads.find(upload_id)),
        )
        if upload is None:
            raise NotFoundError("upload")
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
                project_id, lambda unit: unit.uploads.set_back(upload_id, start)
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
            stored, _ = unit.resources.ensure(resource)
            if alias is not None:
                with _kept_whole():
                    name_resource(unit, alias, stored)
            if not unit.uploads.complete(upload_id, resource.resource_id):
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
