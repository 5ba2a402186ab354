"""Blobs in an S3-compatible bucket, the production store.

    <bucket>/<prefix>/
      tmp/<random>                                   a large blob that is being written
      blobs/<sha-256(project)[:16]>/<aa>/<digest>    whole, named by its SHA-256
      quarantine/<the same 16 digits>/<digest>       damaged, moved there for the operator

A blob that fits into one buffer is hashed and put under its final name. A larger blob is written to
a temporary object by multipart upload, and its digest is verified. Then the server copies the
object to its final name, the size of the copy is checked, and the temporary object is deleted. A
put and a copy are atomic in S3, so an object with a final name is always complete.

An object is read in windows of some megabytes, with one request for each. So a slow client does not
keep a connection open, and each request can have a timeout. Requests are retried a few times, and
fail after seconds. If a process is killed during a multipart upload, invisible parts remain, which
only the bucket can remove: give it a lifecycle rule for incomplete uploads.
"""

import asyncio
import hashlib
import uuid
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

import anyio
import anyio.to_thread
import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from app.crash_points import CrashPoint, reach_crash_point
from app.errors import DigestMismatchError, StoreUnavailableError
from app.stores.blobs.blob_writers import BufferedWriter, FileDraft
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.s3_errors import STORE
from app.stores.blobs.s3_objects import (
    StoreProbe,
    connect,
    find_object,
    ignore_missing,
    list_objects,
    object_size,
    object_sizes,
    open_object,
    sign_link,
    translate_failures,
)
from app.stores.blobs.store import (
    BlobReader,
    ListedBlob,
    StoredBlob,
    blob_path,
    project_path,
    quarantine_path,
    too_large_error,
)
from app.stores.blobs.temporary_file import DurableDirectories, TemporaryFile, sweep_files
from pagefault_dialects.model.media import CHUNK_BYTES, MediaSource

if TYPE_CHECKING:
    from obstore import AsyncWritableFile
    from obstore.store import S3Config

_CHUNKS = 8
_BUFFER_BYTES = _CHUNKS * CHUNK_BYTES
# The server copies an object up to this size, or assembles it from parts, within the usual timeout.
_FAST_COPY_BYTES = 1024**3
# S3 does not copy a larger object in one request, so this is the maximal size of a blob.
_LARGEST_COPY_BYTES = 5 * 1024**3
# An upload has at most three buffers in memory: the one that is filled, and two that are sent.
_PARTS_IN_FLIGHT = 2
# The timeout of requests in which the server copies an object before it responds.
_COPY_TIMEOUT = timedelta(minutes=2)


class S3BlobStore:
    """Stores blobs in a bucket. See `BlobStore`.

    A blob has at most 5 GiB, because S3 copies no larger objects. Arguments that are `None` are
    read from the environment variables `AWS_*`.

    Args:
        bucket: The bucket's name; it has to exist.
        prefix: The prefix of every key, followed by `/`.
        endpoint: The URL of a store other than Amazon's.
        spool: A local directory for drafts, which is created when it is needed.
        region: The bucket's region.
        access_key_id: The id of the key to sign with.
        secret_access_key: The secret of the key.
    """

    def __init__(
        self,
        *,
        bucket: str,
        spool: Path,
        prefix: str | None = None,
        endpoint: str | None = None,
        region: str | None = None,
        access_key_id: str | None = None,
        secret_access_key: str | None = None,
    ) -> None:
        configured = {
            "bucket": bucket,
            "endpoint": endpoint,
            "region": region,
            "access_key_id": access_key_id,
            "secret_access_key": secret_access_key,
        }
        config = cast(
            "S3Config", {name: value for name, value in configured.items() if value is not None}
        )
        self._objects = connect(config, prefix)
        # A client with a longer timeout.
        self._copier = connect(config, prefix, _COPY_TIMEOUT)
        self._probe = StoreProbe(self._objects, bucket)
        self._secret_access_key = secret_access_key
        self._spool = spool
        self._directories = DurableDirectories(spool)
        self._cleanups: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def writer(self, project_id: str, *, limit_bytes: int) -> AsyncIterator["_S3Writer"]:
        """See `BlobStore.writer`."""
        writer = _S3Writer(
            self._objects,
            self._copier,
            self._probe,
            project_id=project_id,
            limit_bytes=min(limit_bytes, _LARGEST_COPY_BYTES),
        )
        is_available = True
        try:
            yield writer
        except StoreUnavailableError:
            is_available = False
            raise
        finally:
            # The event loop has only weak references to tasks, so the task is kept in a set.
            cleanup = asyncio.ensure_future(writer.discard())
            self._cleanups.add(cleanup)
            cleanup.add_done_callback(self._cleanups.discard)
            # If the store does not respond, the clean-up times out as well, so the caller does not
            # wait for it.
            if is_available:
                with anyio.CancelScope(shield=True):
                    await asyncio.shield(cleanup)

    def draft(self, project_id: str, *, limit_bytes: int) -> FileDraft:
        """See `BlobStore.draft`. A draft is a local file: unfinished objects cannot be read."""
        return FileDraft(
            TemporaryFile(str(self._spool), self._directories),
            partial(self._put_file, project_id),
            limit_bytes=min(limit_bytes, _LARGEST_COPY_BYTES),
        )

    async def _put_file(self, project_id: str, temporary: TemporaryFile) -> StoredBlob:
        """Upload the file of a draft under its final name."""
        digest = await anyio.to_thread.run_sync(temporary.digest)
        path = blob_path(project_id, digest)
        size_bytes = temporary.size_bytes
        with self._probe.writing():
            await obstore.put_async(
                self._copier if size_bytes > _FAST_COPY_BYTES else self._objects,
                path,
                Path(temporary.path),
                use_multipart=size_bytes > _BUFFER_BYTES,
                chunk_size=_BUFFER_BYTES,
                max_concurrency=_PARTS_IN_FLIGHT,
            )
            reach_crash_point(CrashPoint.OBJECT_PUT)
            if await object_size(self._objects, path) != size_bytes:
                raise StoreUnavailableError(STORE)
        return StoredBlob(digest, size_bytes)

    async def put(self, project_id: str, source: MediaSource, *, limit_bytes: int) -> StoredBlob:
        """See `BlobStore.put`."""
        if source.size_bytes > limit_bytes:
            raise too_large_error(limit_bytes)
        chunks = source.chunks()
        async with self.writer(project_id, limit_bytes=limit_bytes) as writer:
            while batch := await anyio.to_thread.run_sync(lambda: [*islice(chunks, _CHUNKS)]):
                for chunk in batch:
                    await writer.write(chunk)
            return await writer.commit()

    async def put_all(
        self,
        project_id: str,
        sources: Sequence[MediaSource],
        *,
        limit_bytes: int,
        meanwhile: Callable[[], None] | None = None,
    ) -> list[StoredBlob]:
        """See `BlobStore.put_all`. The sources are stored one after the other."""
        if meanwhile is not None:
            await anyio.to_thread.run_sync(meanwhile)
        return [
            await source.draft.commit()
            if isinstance(source, DraftMedia)
            else await self.put(project_id, source, limit_bytes=limit_bytes)
            for source in sources
        ]

    async def open(
        self, project_id: str, digest: str, *, start: int = 0, end: int | None = None
    ) -> BlobReader:
        """See `BlobStore.open`."""
        return await open_object(self._objects, blob_path(project_id, digest), start, end)

    async def link(
        self, project_id: str, digest: str, *, content_type: str, disposition: str, seconds: int
    ) -> str:
        """See `LinkedBlobs.link`.

        Raises:
            ValueError: The store was created without `secret_access_key`. A key from the
                environment cannot sign links.
        """
        if self._secret_access_key is None:
            raise ValueError("links are signed with a secret that is set")
        with translate_failures():
            url = await obstore.sign_async(
                self._objects, "GET", blob_path(project_id, digest), timedelta(seconds=seconds)
            )
        signed_parameters = {
            "response-content-type": content_type,
            "response-content-disposition": disposition,
        }
        return sign_link(url, signed_parameters, self._secret_access_key)

    async def size(self, project_id: str, digest: str) -> int | None:
        """See `BlobStore.size`."""
        return await object_size(self._objects, blob_path(project_id, digest))

    async def sizes(self, project_id: str, digests: Collection[str]) -> dict[str, int]:
        """See `BlobStore.sizes`. A few requests are sent at the same time."""
        paths = {digest: blob_path(project_id, digest) for digest in digests}
        return await object_sizes(self._objects, paths)

    async def find(self, project_id: str, digest: str) -> ListedBlob | None:
        """See `BlobStore.find`."""
        return await find_object(self._objects, blob_path(project_id, digest))

    def list_blobs(self, project_id: str) -> AsyncGenerator[ListedBlob, None]:
        """See `BlobStore.list_blobs`."""
        return list_objects(self._objects, project_path(project_id))

    async def delete(self, project_id: str, digest: str) -> None:
        """See `BlobStore.delete`."""
        with translate_failures(), ignore_missing():
            await obstore.delete_async(self._objects, blob_path(project_id, digest))

    async def quarantine(self, project_id: str, digest: str) -> None:
        """See `BlobStore.quarantine`."""
        path = blob_path(project_id, digest)
        with translate_failures(), ignore_missing():
            await obstore.copy_async(self._copier, path, quarantine_path(project_id, digest))
            await obstore.delete_async(self._objects, path)

    async def check(self) -> None:
        """See `BlobStore.check`."""
        await self._probe.check()

    async def sweep_temporary(self, older_than_seconds: float, *, dry_run: bool = False) -> int:
        """See `BlobStore.sweep_temporary`. The age of an object is the time since its creation."""
        newest = datetime.now(UTC) - timedelta(seconds=older_than_seconds)
        swept = await anyio.to_thread.run_sync(
            sweep_files, self._spool, older_than_seconds, dry_run
        )
        with translate_failures():
            async for batch in obstore.list(self._objects, "tmp"):
                old = [found["path"] for found in batch if found["last_modified"] <= newest]
                if old and not dry_run:
                    await obstore.delete_async(self._objects, old)
                swept += len(old)
        return swept


class _S3Writer(BufferedWriter):
    """Puts a small blob with one request, and uploads a large one in parts. See `BlobWriter`.

    If a request of an upload were cancelled, nobody could remove the parts that are uploaded. So
    each step of an upload runs in a separate task: if the caller is cancelled, the step continues,
    and the clean-up waits for the step before it removes the object.
    """

    def __init__(
        self,
        objects: S3Store,
        copier: S3Store,
        probe: StoreProbe,
        *,
        project_id: str,
        limit_bytes: int,
    ) -> None:
        super().__init__(limit_bytes=limit_bytes, buffer_bytes=_BUFFER_BYTES)
        self._objects = objects
        self._copier = copier
        self._probe = probe
        self._project_id = project_id
        self._hash = hashlib.sha256()
        self._temporary_path = f"tmp/{uuid.uuid4().hex}"
        self._upload: AsyncWritableFile | None = None
        self._upload_is_complete = False
        self._step: asyncio.Future[object] | None = None

    async def _append(self, data: bytes | bytearray) -> None:
        await anyio.to_thread.run_sync(self._hash.update, data)
        # `write` may return before the part is sent, so it does not prove that the store works.
        with self._probe.writing(is_proof=False):
            if self._upload is None:
                self._upload = obstore.open_writer_async(
                    # For the server, assembling an object takes as long as copying it.
                    self._copier if self._limit_bytes > _FAST_COPY_BYTES else self._objects,
                    self._temporary_path,
                    buffer_size=_BUFFER_BYTES,
                    max_concurrency=_PARTS_IN_FLIGHT,
                )
            await self._run_step(self._upload.write(data))

    async def _finish(self, rest: bytearray, expected_digest: str | None) -> StoredBlob:
        if self._upload is None:
            await anyio.to_thread.run_sync(self._hash.update, rest)
        else:
            await self._append(rest)
        blob = StoredBlob(self._hash.hexdigest(), self._size_bytes)
        if expected_digest is not None and blob.digest != expected_digest:
            raise DigestMismatchError
        path = blob_path(self._project_id, blob.digest)
        with self._probe.writing():
            if self._upload is None:
                put = await obstore.put_async(self._objects, path, rest, use_multipart=False)
                self._probe.note_version(put)
                reach_crash_point(CrashPoint.OBJECT_PUT)
            else:
                await self._publish(self._upload, path, blob.size_bytes)
        return blob

    async def _publish(self, upload: "AsyncWritableFile", path: str, size_bytes: int) -> None:
        await self._run_step(upload.close())
        self._upload_is_complete = True
        reach_crash_point(CrashPoint.OBJECT_ASSEMBLED)
        await obstore.copy_async(self._copier, self._temporary_path, path)
        reach_crash_point(CrashPoint.OBJECT_COPIED)
        if await object_size(self._objects, path) != size_bytes:
            raise StoreUnavailableError(STORE)

    async def _run_step(self, step: Awaitable[object]) -> None:
        self._step = asyncio.ensure_future(step)
        await asyncio.shield(self._step)

    async def discard(self) -> None:
        """Remove the temporary object, if there is one; if that fails, a sweep removes it."""
        if self._upload is None:
            return
        if self._step is not None:
            await asyncio.gather(self._step, return_exceptions=True)
        with suppress(BaseError, OSError):
            if not self._upload_is_complete:
                # obstore cannot abort an upload, so it is completed, and the object is deleted.
                await self._upload.close()
        with suppress(BaseError, OSError):
            await obstore.delete_async(self._objects, self._temporary_path)
