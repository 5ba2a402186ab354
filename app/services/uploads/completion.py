"""The end of an upload: its segments become one file, and the file a resource.

It runs within the request that brings the last byte. If the process dies before it is through, the
next question about the upload starts it anew: nothing is noted before all is done, and doing it
twice gives the same resource. A segment that was damaged meanwhile sets the upload back to where it
begins, and the client sends it again.
"""

import hashlib
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from app.errors import BlobSweptError, ConflictError, NotFoundError
from app.media.settling import HEAD_BYTES
from app.models.resource import Resource
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


class UploadCompletion:
    """Completes uploads."""

    def __init__(self, records: Records, blobs: BlobStore) -> None:
        self._records = records
        self._blobs = blobs
        # An impatient client asks again and again: each time would copy gigabytes.
        self._turns: WeakValueDictionary[tuple[str, str], anyio.Lock] = WeakValueDictionary()

    async def completed(self, project_id: str, upload: ResumableUpload) -> ResumableUpload:
        """The upload, and a resource if all of it is there.

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
        segments, upload = await self._records.read(
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
                await self._records.read(
                    project_id, lambda unit: check_room_for_alias(unit, alias, upload.length_bytes)
                )
        try:
            blob = await self._whole(project_id, upload, segments)
        except _DamagedSegmentError as exc:
            return await self._set_back(project_id, upload, exc.segment)
        resource = await self._described(project_id, upload, blob)

        def complete(unit: UnitOfWork) -> None:
            stored, _ = unit.resources.ensure(resource)
            if alias is not None:
                with _kept_whole():
                    name_resource(unit, alias, stored)
            if not unit.uploads.complete(upload_id, resource.resource_id):
                raise NotFoundError("upload")

        await self._records.write(project_id, complete)
        return replace(upload, resource_id=resource.resource_id)

    async def _whole(
        self, project_id: str, upload: ResumableUpload, segments: Sequence[Segment]
    ) -> StoredBlob:
        """The blob of the whole file: the only segment's, or one written from all of them."""
        if len(segments) == 1:
            async with aclosing(self._verified(project_id, segments[0])) as pieces:
                async for _ in pieces:
                    pass
            return StoredBlob(segments[0].digest, segments[0].size_bytes)
        async with self._blobs.writer(project_id, limit_bytes=upload.length_bytes) as writer:
            for segment in segments:
                async with aclosing(self._verified(project_id, segment)) as pieces:
                    async for piece in pieces:
                        await writer.write(piece)
            return await writer.commit()

    async def _verified(self, project_id: str, segment: Segment) -> AsyncGenerator[bytes, None]:
        """The bytes of a segment; raises, at the latest at their end, if they are not what came."""
        hashing = hashlib.sha256()
        try:
            async with aclosing(await self._blobs.open(project_id, segment.digest)) as pieces:
                async for piece in pieces:
                    await anyio.to_thread.run_sync(hashing.update, piece)
                    yield piece
        except BlobMissingError as exc:
            raise _DamagedSegmentError(segment) from exc
        if hashing.hexdigest() != segment.digest:
            raise _DamagedSegmentError(segment)

    async def _set_back(
        self, project_id: str, upload: ResumableUpload, damaged: Segment
    ) -> ResumableUpload:
        """The upload at the offset where a segment is damaged, so that its client goes on there."""
        await self._records.write(
            project_id,
            lambda unit: unit.uploads.set_back(upload.upload_id, damaged.start),
        )
        return replace(upload, received_bytes=damaged.start)

    async def _described(
        self, project_id: str, upload: ResumableUpload, blob: StoredBlob
    ) -> Resource:
        try:
            head = await read_whole(self._blobs, project_id, blob.digest, end=HEAD_BYTES)
        except BlobMissingError as exc:
            # No row says yet that it is needed, so a sweep may have been faster.
            raise BlobSweptError from exc
        claim = Upload(upload.mime_type, upload.filename, digest=None)
        return await describe_blob(self._blobs, project_id, blob=blob, claim=claim, head=head)


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
