"""Blobs in a local directory, the embedded default.

    <root>/                                  0700
      tmp/<random>                           0600, a blob that is being written
      blobs/<sha-256(project)[:16]>/         0700
        <aa>/<digest>                        0600, whole, named by its SHA-256
      quarantine/<same 16 digits>/<digest>   0600, damaged, moved there for the operator

The steps of a write are: create a temporary file, write it, verify the digest, fsync the file,
rename it to its final name, fsync the directory. For a new directory, its parents are synced before
the rename. So a file with a final name is always complete. All files of a request are written in
one worker thread, and their fsyncs run concurrently. An existing file is replaced, because it may
be damaged. If an fsync fails, the write fails and the fsync is not retried: the kernel may have
dropped the pages that it could not write, and would report success the second time.

Files are read with `os.pread` in worker threads, with one call for each megabyte. Small blobs in
the page cache are read in the event loop. Compared with obstore's LocalStore, on two cores and from
the page cache, this reads a 64 MiB file at 5.6 GB/s instead of 0.3 GB/s, and 4,200 files of 10 KiB
per second instead of 1,600.
"""

import os
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from app.errors import DigestMismatchError
from app.stores.blobs.blob_writers import BufferedWriter, FileDraft
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.file_reader import (
    CachedFiles,
    FileReader,
    find_file,
    list_files,
    read_bytes,
)
from app.stores.blobs.store import (
    BlobMissingError,
    BlobReader,
    ListedBlob,
    StoredBlob,
    blob_path,
    project_path,
    quarantine_path,
    too_large_error,
)
from app.stores.blobs.temporary_file import (
    BlobPublisher,
    DurableDirectories,
    TemporaryFile,
    move_durably,
    sweep_files,
    translate_failures,
)
from pagefault_dialects.model.media import CHUNK_BYTES, InMemoryMedia, MediaSource

# The number of files that are open and synced at the same time.
_SYNCED_AT_ONCE = 32


class FilesystemBlobStore:
    """Stores blobs under a directory. See `BlobStore`.

    Args:
        root: The directory, which is created with its parents by the first write. It must not
            contain mount points, because files are renamed in it.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        # Joining strings is ten times as fast as joining paths.
        self._root_name = str(root)
        self._temporary_name = str(root / "tmp")
        self._directories = DurableDirectories(root)
        self._cached = CachedFiles()

    @asynccontextmanager
    async def writer(
        self, project_id: str, *, limit_bytes: int
    ) -> AsyncIterator["_FilesystemWriter"]:
        """See `BlobStore.writer`."""
        temporary = self._new_temporary()
        publish = partial(self._publish_file, project_id)
        try:
            yield _FilesystemWriter(temporary, publish, limit_bytes=limit_bytes)
        finally:
            if not temporary.is_published:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(temporary.discard)

    def draft(self, project_id: str, *, limit_bytes: int) -> FileDraft:
        """See `BlobStore.draft`."""
        return FileDraft(
            self._new_temporary(),
            lambda file: anyio.to_thread.run_sync(self._publish_file, project_id, file),
            limit_bytes=limit_bytes,
        )

    async def put(self, project_id: str, source: MediaSource, *, limit_bytes: int) -> StoredBlob:
        """See `BlobStore.put`."""
        return (await self.put_all(project_id, [source], limit_bytes=limit_bytes))[0]

    async def put_all(
        self,
        project_id: str,
        sources: Sequence[MediaSource],
        *,
        limit_bytes: int,
        meanwhile: Callable[[], None] | None = None,
    ) -> list[StoredBlob]:
        """See `BlobStore.put_all`. One worker thread stores all sources."""
        if any(source.size_bytes > limit_bytes for source in sources):
            raise too_large_error(limit_bytes)
        return await anyio.to_thread.run_sync(
            self._put_all, project_id, sources, limit_bytes, meanwhile
        )

    async def open(
        self, project_id: str, digest: str, *, start: int = 0, end: int | None = None
    ) -> BlobReader:
        """See `BlobStore.open`."""
        name = self._blob_path(project_id, digest)
        if (small := self._cached.read(name, start, end)) is not None:
            return read_bytes(small)
        reader = FileReader(Path(name), start, end)
        await anyio.to_thread.run_sync(reader.open)
        return reader

    async def path(self, project_id: str, digest: str) -> Path:
        """See `LocalBlobs.path`."""
        path = self._root.absolute() / blob_path(project_id, digest)
        if not self._cached.has(str(path)) and await self.size(project_id, digest) is None:
            raise BlobMissingError
        return path

    async def size(self, project_id: str, digest: str) -> int | None:
        """See `BlobStore.size`."""
        return (await self.sizes(project_id, [digest])).get(digest)

    async def sizes(self, project_id: str, digests: Collection[str]) -> dict[str, int]:
        """See `BlobStore.sizes`. One worker thread reads all sizes."""
        paths = {digest: self._blob_path(project_id, digest) for digest in digests}
        return await anyio.to_thread.run_sync(_read_sizes, paths) if paths else {}

    async def find(self, project_id: str, digest: str) -> ListedBlob | None:
        """See `BlobStore.find`."""
        return await anyio.to_thread.run_sync(find_file, Path(self._blob_path(project_id, digest)))

    def list_blobs(self, project_id: str) -> AsyncGenerator[ListedBlob, None]:
        """See `BlobStore.list_blobs`."""
        return list_files(self._root / project_path(project_id))

    async def delete(self, project_id: str, digest: str) -> None:
        """See `BlobStore.delete`.

        The directory is not synced: if a power loss restores the blob, a sweep removes it.
        """
        unlink = partial(Path(self._blob_path(project_id, digest)).unlink, missing_ok=True)
        with translate_failures():
            await anyio.to_thread.run_sync(unlink)

    async def quarantine(self, project_id: str, digest: str) -> None:
        """See `BlobStore.quarantine`."""
        target = f"{self._root_name}/{quarantine_path(project_id, digest)}"
        with translate_failures():
            await anyio.to_thread.run_sync(
                move_durably, self._blob_path(project_id, digest), target, self._directories
            )

    async def check(self) -> None:
        """See `BlobStore.check`."""
        await anyio.to_thread.run_sync(self._check)

    async def sweep_temporary(self, older_than_seconds: float, *, dry_run: bool = False) -> int:
        """See `BlobStore.sweep_temporary`. The age of a file is the time since its last write."""
        return await anyio.to_thread.run_sync(
            sweep_files, self._root / "tmp", older_than_seconds, dry_run
        )

    def _blob_path(self, project_id: str, digest: str) -> str:
        return f"{self._root_name}/{blob_path(project_id, digest)}"

    def _new_temporary(self, *, digest: str | None = None) -> TemporaryFile:
        return TemporaryFile(self._temporary_name, self._directories, digest=digest)

    def _put_all(
        self,
        project_id: str,
        sources: Sequence[MediaSource],
        limit_bytes: int,
        meanwhile: Callable[[], None] | None,
    ) -> list[StoredBlob]:
        """Store sources in groups: write the files of a group, then sync them.

        At the end, the files of all groups are renamed. Drafts have files already, which are only
        synced and renamed.
        """
        publisher = self._new_publisher(project_id)
        items = [_draft_of(source) or source for source in sources]
        uncommitted = [item for item in dict.fromkeys(items) if _blob_of(item) is None]
        written: list[TemporaryFile] = []
        try:
            for start in range(0, len(uncommitted) or 1, _SYNCED_AT_ONCE):
                files: list[TemporaryFile] = []
                for item in uncommitted[start : start + _SYNCED_AT_ONCE]:
                    if isinstance(item, FileDraft):
                        files.append(item.temporary)
                        continue
                    digest = item.draft.digest() if isinstance(item, DraftMedia) else None
                    files.append(self._new_temporary(digest=digest))
                    written.append(files[-1])
                    _write_source(files[-1], item, limit_bytes)
                if meanwhile is not None and not start:
                    # The kernel writes the files to the disk at the same time.
                    meanwhile()
                with translate_failures():
                    publisher.sync(files)
            with translate_failures():
                blobs = dict(zip(uncommitted, publisher.finish(), strict=True))
        finally:
            for file in written:
                file.discard()
        for item, blob in blobs.items():
            if isinstance(item, FileDraft):
                item.blob = blob
        return [_blob_of(item) or blobs[item] for item in items]

    def _publish_file(self, project_id: str, temporary: TemporaryFile) -> StoredBlob:
        publisher = self._new_publisher(project_id)
        publisher.sync([temporary])
        return publisher.finish()[0]

    def _new_publisher(self, project_id: str) -> BlobPublisher:
        return BlobPublisher(partial(self._blob_path, project_id), self._directories)

    def _check(self) -> None:
        probe = self._new_temporary()
        try:
            with translate_failures():
                self._directories.ensure(f"{self._root_name}/blobs")
                probe.append(b"ready?")
        finally:
            probe.discard()


class _FilesystemWriter(BufferedWriter):
    """Writes each megabyte in a worker thread. See `BlobWriter`."""

    def __init__(
        self,
        temporary: TemporaryFile,
        publish: Callable[[TemporaryFile], StoredBlob],
        *,
        limit_bytes: int,
    ) -> None:
        super().__init__(limit_bytes=limit_bytes, buffer_bytes=CHUNK_BYTES)
        self._temporary = temporary
        self._publish = publish

    async def _append(self, data: bytes | bytearray) -> None:
        with translate_failures():
            await anyio.to_thread.run_sync(self._temporary.append, data)

    async def _finish(self, rest: bytearray, expected_digest: str | None) -> StoredBlob:
        with translate_failures():
            return await anyio.to_thread.run_sync(self._end, rest, expected_digest)

    def _end(self, rest: bytearray, expected_digest: str | None) -> StoredBlob:
        self._temporary.append(rest, is_last=True)
        if expected_digest is not None and self._temporary.digest() != expected_digest:
            raise DigestMismatchError
        return self._publish(self._temporary)


def _draft_of(source: MediaSource) -> FileDraft | None:
    """Return the draft of a medium, if it has one of this store."""
    if isinstance(source, DraftMedia) and isinstance(source.draft, FileDraft):
        return source.draft
    return None


def _blob_of(item: MediaSource | FileDraft) -> StoredBlob | None:
    """Return the blob of a draft that was committed before."""
    return item.blob if isinstance(item, FileDraft) else None


def _write_source(temporary: TemporaryFile, source: MediaSource, limit_bytes: int) -> None:
    """Write the bytes of a source to a file.

    Raises:
        PayloadTooLargeError: The source has more than `limit_bytes`.
    """
    if isinstance(source, InMemoryMedia):
        # `head` does not copy the bytes if it returns all of them.
        pieces = iter([source.head(limit_bytes + 1)])
    else:
        pieces = source.chunks()
    for piece in pieces:
        # The bytes are counted, because `source.size_bytes` may be wrong.
        if temporary.size_bytes + len(piece) > limit_bytes:
            raise too_large_error(limit_bytes)
        with translate_failures():
            # As at the end of a file, this thread has nothing to do while another one hashes.
            temporary.append(piece, is_last=True)


def _read_sizes(paths: Mapping[str, str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    with translate_failures():
        for digest, path in paths.items():
            with suppress(FileNotFoundError):
                sizes[digest] = os.stat(path).st_size
    return sizes
