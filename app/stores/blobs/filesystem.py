"""Blobs in a local directory, the embedded default.

    <root>/                                  0700
      tmp/<random>                           0600, a blob on its way
      blobs/<sha-256(project)[:16]>/         0700
        <aa>/<digest>                        0600, whole, named by its SHA-256
      quarantine/<the same 16>/<digest>      0600, damaged, moved there to be looked at

A write goes: temporary file, write, verify, fsync, rename onto the final name, fsync the directory
(and, the first time, those above it). So at any moment there is nothing under the final name, or
the whole blob. A file that is already there is replaced and not trusted: it may be damaged. A
failed fsync fails the write and is never retried, because the kernel may have dropped the pages
it could not write and would report success the second time.

Reading is `os.pread` in worker threads, one hop for a megabyte and one in all for a small blob.
Measured beside obstore's LocalStore on two cores, from the page cache, it was the faster one: a
64 MiB file at 5.6 GB/s against 0.3, 10 KiB files at 4,200 a second against 1,600.
"""

import errno
import os
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Iterator,
    Mapping,
)
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from functools import partial
from io import FileIO
from pathlib import Path

import anyio
import anyio.to_thread

from app.errors import StoreFullError, StoreUnavailableError
from app.models.media import CHUNK_BYTES, MediaSource
from app.stores.blobs.directory_listing import found_file, listed_files
from app.stores.blobs.gathering import GatheringWriter
from app.stores.blobs.store import (
    BlobMissingError,
    BlobReader,
    ListedBlob,
    StoredBlob,
    blob_path,
    project_path,
    quarantine_path,
    too_large,
)
from app.stores.blobs.temporary_file import DurableDirectories, TemporaryFile, move_durably

_STORE = "blob store"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


class FilesystemBlobStore:
    """Keeps blobs under a directory. See `BlobStore`.

    Args:
        root: The directory; it and what is missing above it are made on the first write. All of it
            must be on one file system.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._directories = DurableDirectories(root)

    @asynccontextmanager
    async def writer(
        self, project_id: str, *, limit_bytes: int
    ) -> AsyncIterator["_FilesystemWriter"]:
        """See `BlobStore.writer`."""
        temporary = self._new_temporary()
        place = partial(self._place, project_id)
        try:
            yield _FilesystemWriter(temporary, place, limit_bytes=limit_bytes)
        finally:
            if not temporary.is_published:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(temporary.discard)

    async def put(self, project_id: str, source: MediaSource, *, limit_bytes: int) -> StoredBlob:
        """See `BlobStore.put`."""
        if source.size_bytes > limit_bytes:
            raise too_large(limit_bytes)
        return await anyio.to_thread.run_sync(self._put, project_id, source, limit_bytes)

    async def open(
        self, project_id: str, digest: str, *, start: int = 0, end: int | None = None
    ) -> BlobReader:
        """See `BlobStore.open`."""
        reader = _FileReader(self._place(project_id, digest), start, end)
        await anyio.to_thread.run_sync(reader.open)
        return reader

    async def size(self, project_id: str, digest: str) -> int | None:
        """See `BlobStore.size`."""
        return await anyio.to_thread.run_sync(_size_bytes, self._place(project_id, digest))

    async def sizes(self, project_id: str, digests: Collection[str]) -> dict[str, int]:
        """See `BlobStore.sizes`; one thread hop for all."""
        places = {digest: self._place(project_id, digest) for digest in digests}
        return await anyio.to_thread.run_sync(_all_sizes, places) if places else {}

    async def find(self, project_id: str, digest: str) -> ListedBlob | None:
        """See `BlobStore.find`."""
        with _failures_translated():
            return await anyio.to_thread.run_sync(found_file, self._place(project_id, digest))

    async def listed(self, project_id: str) -> AsyncGenerator[ListedBlob, None]:
        """See `BlobStore.listed`."""
        async with aclosing(listed_files(self._root / project_path(project_id))) as blobs:
            while True:
                # Only the listing's own failures are translated, not what a caller throws in.
                with _failures_translated():
                    blob = await anext(blobs, None)
                if blob is None:
                    return
                yield blob

    async def delete(self, project_id: str, digest: str) -> None:
        """See `BlobStore.delete`.

        The directory is not synced: a blob that a power loss brings back is garbage to be swept.
        """
        await anyio.to_thread.run_sync(_unlink, self._place(project_id, digest))

    async def quarantine(self, project_id: str, digest: str) -> None:
        """See `BlobStore.quarantine`."""
        place = self._root / quarantine_path(project_id, digest)
        with _failures_translated():
            await anyio.to_thread.run_sync(
                move_durably, self._place(project_id, digest), place, self._directories
            )

    async def check(self) -> None:
        """See `BlobStore.check`."""
        await anyio.to_thread.run_sync(self._check)

    async def sweep_temporary(self, older_than_seconds: float, *, dry_run: bool = False) -> int:
        """See `BlobStore.sweep_temporary`; the age is the time since the last write."""
        return await anyio.to_thread.run_sync(self._sweep, older_than_seconds, dry_run)

    def _place(self, project_id: str, digest: str) -> Path:
        return self._root / blob_path(project_id, digest)

    def _new_temporary(self) -> TemporaryFile:
        return TemporaryFile(self._root / "tmp", self._directories)

    def _put(self, project_id: str, source: MediaSource, limit_bytes: int) -> StoredBlob:
        temporary = self._new_temporary()
        try:
            for chunk in source.chunks():
                # The handle's own word on its size is a claim like any other.
                if temporary.size_bytes + len(chunk) > limit_bytes:
                    raise too_large(limit_bytes)
                with _failures_translated():
                    temporary.append(chunk)
            with _failures_translated():
                return temporary.publish(partial(self._place, project_id))
        finally:
            temporary.discard()

    def _check(self) -> None:
        probe = self._new_temporary()
        try:
            with _failures_translated():
                self._directories.ensure(self._root / "blobs")
                probe.append(b"ready?")
        finally:
            probe.discard()

    def _sweep(self, older_than_seconds: float, dry_run: bool) -> int:
        newest = time.time() - older_than_seconds
        swept = 0
        with _failures_translated(), suppress(FileNotFoundError):
            for entry in list(os.scandir(self._root / "tmp")):
                # Another process may sweep, or publish the file, at the same time.
                with suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_mtime <= newest:
                        if not dry_run:
                            os.unlink(entry.path)
                        swept += 1
        return swept


class _FilesystemWriter(GatheringWriter):
    """Pays one thread hop per megabyte, and one in all for a smaller blob. See `BlobWriter`."""

    def __init__(
        self, temporary: TemporaryFile, place_of: Callable[[str], Path], *, limit_bytes: int
    ) -> None:
        super().__init__(limit_bytes=limit_bytes, buffer_bytes=CHUNK_BYTES)
        self._temporary = temporary
        self._place_of = place_of

    async def _append(self, data: bytes | bytearray) -> None:
        with _failures_translated():
            await anyio.to_thread.run_sync(self._temporary.append, data)

    async def _finish(self, rest: bytearray, expected_digest: str | None) -> StoredBlob:
        with _failures_translated():
            return await anyio.to_thread.run_sync(self._publish, rest, expected_digest)

    def _publish(self, rest: bytearray, expected_digest: str | None) -> StoredBlob:
        self._temporary.append(rest)
        return self._temporary.publish(self._place_of, expected_digest)


class _FileReader:
    """Reads a file range in pieces, the first of them while opening it. See `BlobReader`.

    The file is closed in the same thread hop that reads the last piece. A `FileIO` and not a bare
    descriptor holds it, so that a reader abandoned by a cancelled task does not leak it.
    """

    def __init__(self, path: Path, start: int, end: int | None) -> None:
        self._path = path
        self._position = start
        self._wanted_end = end
        self._end = start
        self._file: FileIO | None = None
        self._first = b""

    def open(self) -> None:
        """Open the file and read the first piece; blocks."""
        with _failures_translated():
            try:
                file = self._file = FileIO(self._path)
            except FileNotFoundError as exc:
                raise BlobMissingError from exc
            try:
                self._end = self._clamped_end(os.fstat(file.fileno()).st_size)
                self._first = self._read(file)
            except BaseException:
                file.close()
                raise

    def __aiter__(self) -> "_FileReader":
        return self

    async def __anext__(self) -> bytes:
        piece, self._first = self._first, b""
        if not piece and self._file is not None:
            with _failures_translated():
                piece = await anyio.to_thread.run_sync(self._read, self._file)
        if not piece:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        """See `BlobReader.aclose`."""
        file, self._file = self._file, None
        self._first = b""
        if file is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(file.close)

    def _clamped_end(self, size_bytes: int) -> int:
        end = size_bytes if self._wanted_end is None else min(self._wanted_end, size_bytes)
        return max(self._position, end)

    def _read(self, file: FileIO) -> bytes:
        wanted = min(CHUNK_BYTES, self._end - self._position)
        piece = os.pread(file.fileno(), wanted, self._position)
        if wanted and not piece:
            # Blobs are never cut in place, so a file shorter than it was is damaged.
            raise StoreUnavailableError(_STORE)
        self._position += len(piece)
        if self._position >= self._end:
            self._file = None
            file.close()
        return piece


def _size_bytes(path: Path) -> int | None:
    with _failures_translated():
        try:
            return path.stat().st_size
        except FileNotFoundError:
            return None


def _all_sizes(places: Mapping[str, Path]) -> dict[str, int]:
    found = {digest: _size_bytes(path) for digest, path in places.items()}
    return {digest: size for digest, size in found.items() if size is not None}


def _unlink(path: Path) -> None:
    with _failures_translated():
        path.unlink(missing_ok=True)


@contextmanager
def _failures_translated() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        if exc.errno in _NO_ROOM:
            raise StoreFullError from exc
        raise StoreUnavailableError(_STORE) from exc
