"""Files that become blobs: each is synced, then renamed, then the directories are synced.

Several files are synced concurrently, which is fastest on disks, and each directory is synced once.
All files are synced before the first is renamed, and a write returns after all directories are
synced.

All functions block, and have to run in a worker thread. They raise `OSError`, which the stores
translate with `translate_failures`.
"""

import hashlib
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from app.crash_points import CrashPoint, reach_crash_point
from app.errors import StoreFullError, StoreUnavailableError
from app.stores.blobs.store import StoredBlob
from app.stores.disk_full import DISK_FULL_ERRNOS
from pagefault_dialects.model.media import CHUNK_BYTES

STORE = "blob store"
_MAX_DURABLE_DIRECTORIES = 10_000
_BEGIN_SYNC_BYTES = 8 * 1024 * 1024
_HASHED_IN_THREAD_BYTES = 128 * 1024
"""Hashing fewer bytes in another thread would take longer than hashing them here."""
_LAST_HASHED_IN_THREAD_BYTES = CHUNK_BYTES
"""The same limit at the end of a file, where nothing else can be done at the same time."""

# SHA-256 takes longer than all other processing of the bytes, and releases the interpreter lock.
_HASHING = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="sha-256")
# These sync in addition to the calling thread. More threads would only wait for the disk.
_SYNCING = ThreadPoolExecutor(4, thread_name_prefix="blob-sync")


class DurableDirectories:
    """Creates directories at and below a root, and syncs the entry of each.

    A directory that another process has created may not be durable yet. So the first use of a
    directory syncs its parent, even if the directory exists; later uses only call `stat`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        # Operations on strings are ten times as fast as those on paths.
        self._root_name = str(root)
        self._durable: set[str] = set()

    def ensure(self, directory: str) -> None:
        """Create the directory if it is missing, and make it durable."""
        if not self._is_durable(directory):
            with self.create([directory]):
                pass

    @contextmanager
    def create(self, directories: Iterable[str]) -> Iterator[None]:
        """Create directories before the block, and make them durable after it.

        The block syncs the files that will be moved into the directories after the block. On a file
        system with a journal, syncing files also makes the new directories durable, so syncing
        their parents after the block is fast.
        """
        new = [path for path in dict.fromkeys(directories) if not self._is_durable(path)]
        subdirectories = [path for path in new if path != self._root_name]
        if len(subdirectories) < len(new):
            self._make_root()
        parents = list(dict.fromkeys(map(os.path.dirname, subdirectories)))
        for parent in parents:
            self.ensure(parent)
        for item in subdirectories:
            with suppress(FileExistsError):
                os.mkdir(item, 0o700)
        yield
        for parent in parents:
            sync_directory(parent)
        if len(self._durable) + len(new) > _MAX_DURABLE_DIRECTORIES:
            self._durable.clear()
        self._durable.update(new)

    def _is_durable(self, directory: str) -> bool:
        return directory in self._durable and os.path.isdir(directory)

    def _make_root(self) -> None:
        missing = [path for path in (self._root, *self._root.parents) if not path.exists()]
        for path in reversed(missing):
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
            sync_directory(str(path.parent))


class TemporaryFile:
    """A blob that is being written; the first `append` creates the file.

    If a task is cancelled, its worker thread continues, so `discard` may be called during an
    `append`. Therefore each method acquires a lock, and after `discard` writes raise. `path` is the
    current path of the file.

    Args:
        directory: The directory for the temporary file.
        directories: Creates the directory.
        digest: The SHA-256 of the bytes, if the caller has computed it already.
    """

    def __init__(
        self, directory: str, directories: DurableDirectories, *, digest: str | None = None
    ) -> None:
        self.path = f"{directory}/{uuid.uuid4().hex}"
        self._directory = directory
        self._directories = directories
        self._descriptor: int | None = None
        self._digest = digest
        self._hash = hashlib.sha256()
        self._hashing: Future[None] | None = None
        self._lock = Lock()
        self._exists = False
        self._discarded = False
        self._sync_started_bytes = 0
        self.size_bytes = 0
        self.is_published = False

    def append(self, data: bytes | bytearray, *, is_last: bool = False) -> None:
        """Hash and write bytes.

        Args:
            data: The bytes. They must not be changed later, because hashing may not have ended.
            is_last: True if no other bytes follow.
        """
        in_thread_bytes = _LAST_HASHED_IN_THREAD_BYTES if is_last else _HASHED_IN_THREAD_BYTES
        with self._lock:
            descriptor = self._open()
            if self._digest is None:
                self._add_to_hash(data, in_thread=len(data) >= in_thread_bytes)
            self.size_bytes += len(data)
            unwritten = memoryview(data)
            while unwritten:
                # One call for several megabytes would take longer than several calls.
                unwritten = unwritten[os.write(descriptor, unwritten[:CHUNK_BYTES]) :]
            self._begin_sync(descriptor)

    def release(self) -> None:
        """Close the file until it is needed again.

        The next sync still reports errors of writes before the close.
        """
        with self._lock:
            self._close()

    def read(self, start: int, size_bytes: int) -> bytes:
        """Return bytes that were written; the file may be published already."""
        with self._lock, open(self.path, "rb") as file:
            file.seek(start)
            # A negative size would read the whole file.
            return file.read(max(size_bytes, 0))

    def digest(self) -> str:
        """Return the SHA-256 of the written bytes, as 64 hex digits."""
        with self._lock:
            return self._digest or self._finish_hashing().hexdigest()

    def sync(self) -> None:
        """Make the bytes durable, and close the file."""
        with self._lock:
            descriptor = self._open()
            reach_crash_point(CrashPoint.FILE_WRITTEN)
            os.fsync(descriptor)
            reach_crash_point(CrashPoint.FILE_SYNCED)
            self._close()

    def rename(self, path: str) -> None:
        """Move the synced file to its final name, replacing an existing file.

        Raises:
            RuntimeError: The file was discarded.
        """
        with self._lock:
            self._check_usable()
            os.replace(self.path, path)
            self.path, self._exists = path, False
            reach_crash_point(CrashPoint.FILE_RENAMED)

    def discard(self) -> None:
        """Remove the file unless it was published. Errors are ignored: a sweep removes the file."""
        with self._lock:
            self._discarded = True
            with suppress(OSError):
                self._close()
            if self._exists:
                with suppress(OSError):
                    os.unlink(self.path)

    def _add_to_hash(self, data: bytes | bytearray, *, in_thread: bool) -> None:
        digest = self._finish_hashing()
        if in_thread:
            self._hashing = _HASHING.submit(digest.update, data)
        else:
            digest.update(data)

    def _finish_hashing(self) -> "hashlib._Hash":
        """Return the hash of all bytes so far, after waiting for the thread that hashes them."""
        if self._hashing is not None:
            self._hashing.result()
            self._hashing = None
        return self._hash

    def _begin_sync(self, descriptor: int) -> None:
        """Let the kernel start writing to the disk, so that the sync at the end is short."""
        unsynced = self.size_bytes - self._sync_started_bytes
        if unsynced >= _BEGIN_SYNC_BYTES and hasattr(os, "posix_fadvise"):
            # The kernel starts to write dirty pages, and evicts only clean ones.
            os.posix_fadvise(descriptor, self._sync_started_bytes, unsynced, os.POSIX_FADV_DONTNEED)
            self._sync_started_bytes = self.size_bytes

    def _check_usable(self) -> None:
        if self._discarded:
            raise RuntimeError("this temporary file was discarded")

    def _open(self) -> int:
        self._check_usable()
        if self._descriptor is None:
            self._directories.ensure(self._directory)
            flags = os.O_WRONLY | os.O_CLOEXEC
            # A file that is opened again has to exist; a new one must not.
            flags |= os.O_APPEND if self._exists else os.O_CREAT | os.O_EXCL
            self._descriptor = os.open(self.path, flags, 0o600)
            self._exists = True
        return self._descriptor

    def _close(self) -> None:
        # Reset before the close. If the close fails, another file may get the same descriptor.
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


class _SyncedFile(NamedTuple):
    """A synced file, and the blob and the path that it gets."""

    file: TemporaryFile
    blob: StoredBlob
    path: str


@dataclass(frozen=True, slots=True)
class BlobPublisher:
    """Turns several temporary files into blobs: `sync` for each group of files, then `finish`."""

    blob_path: Callable[[str], str]
    """Returns the path of the blob of a digest."""
    directories: DurableDirectories
    """Creates the directories of the blobs."""
    _synced: list[_SyncedFile] = field(default_factory=list, init=False)

    def sync(self, files: Sequence[TemporaryFile]) -> None:
        """Sync complete files, and create the directories of their blobs."""
        blobs = [StoredBlob(file.digest(), file.size_bytes) for file in files]
        paths = [self.blob_path(blob.digest) for blob in blobs]
        with self.directories.create(map(os.path.dirname, paths)):
            _run_concurrently([file.sync for file in files])
        self._synced.extend(map(_SyncedFile, files, blobs, paths))

    def finish(self) -> list[StoredBlob]:
        """Rename all synced files, replacing existing ones; return the blobs in their order.

        The blobs are durable when this returns.
        """
        for synced in self._synced:
            synced.file.rename(synced.path)
        folders = dict.fromkeys(os.path.dirname(synced.path) for synced in self._synced)
        _run_concurrently([partial(_sync_blob_directory, folder) for folder in folders])
        for synced in self._synced:
            synced.file.is_published = True
        return [synced.blob for synced in self._synced]


def _sync_blob_directory(folder: str) -> None:
    sync_directory(folder)
    reach_crash_point(CrashPoint.DIRECTORY_SYNCED)


def _run_concurrently(steps: Sequence[Callable[[], None]]) -> None:
    """Run several steps concurrently; raise the first failure after all have ended."""
    running = [_SYNCING.submit(step) for step in steps[1:]]
    try:
        for step in steps[:1]:
            step()
    finally:
        if running:
            wait(running)
    for future in running:
        future.result()


def move_durably(source: str, target: str, directories: DurableDirectories) -> None:
    """Rename a file, replacing an existing one; a missing file is ignored."""
    try:
        os.stat(source)
        directories.ensure(os.path.dirname(target))
        os.replace(source, target)
    except FileNotFoundError:
        return
    sync_directory(os.path.dirname(target))
    sync_directory(os.path.dirname(source))


def sync_directory(directory: str) -> None:
    """Make the entries of a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep_files(directory: Path, older_than_seconds: float, dry_run: bool) -> int:
    """Remove files that were not written for `older_than_seconds`; return their number."""
    newest = time.time() - older_than_seconds
    swept = 0
    with translate_failures(), suppress(FileNotFoundError):
        for entry in list(os.scandir(directory)):
            # Another process may remove or publish the file at the same time.
            with suppress(FileNotFoundError):
                if entry.stat(follow_symlinks=False).st_mtime <= newest:
                    if not dry_run:
                        os.unlink(entry.path)
                    swept += 1
    return swept


@contextmanager
def translate_failures() -> Iterator[None]:
    """Translate an `OSError` of the file system.

    Raises:
        StoreFullError: The disk or a quota is full.
        StoreUnavailableError: Any other `OSError`.
    """
    try:
        yield
    except OSError as exc:
        if exc.errno in DISK_FULL_ERRNOS:
            raise StoreFullError from exc
        raise StoreUnavailableError(STORE) from exc
