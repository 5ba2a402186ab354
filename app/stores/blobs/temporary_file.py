"""Files that become blobs: each is synced, then renamed, then the directories are synced.

Several files are synced concurrently, which is fastest on disks, and each directory is synced once.
All files are synced before the first is renamed, and a write returns after all directories are
synced.

Everything here blocks, and has to run in a worker thread. Foreign exceptions (`OSError`) pass
through; the stores translate them with `failures_translated`.
"""

import errno
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

from app.crash_points import CrashPoint, reached
from app.errors import StoreFullError, StoreUnavailableError
from app.stores.blobs.store import StoredBlob
from pagefault_dialects.model.media import CHUNK_BYTES

STORE = "blob store"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_REMEMBERED_DIRECTORIES = 10_000
_BEGIN_SYNC_BYTES = 8 * 1024 * 1024
_HASHED_BESIDE_BYTES = 128 * 1024
"""Hashing less than this in another thread costs more than it saves."""
_WHOLE_HASHED_BESIDE_BYTES = CHUNK_BYTES
"""The same limit for the last bytes of a file, while no others can be received."""

# SHA-256 takes longer than all other processing of bytes, and releases the interpreter lock.
_HASHING = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="sha-256")
# In addition to the thread that waits for them. More would wait in the queue of the disk.
_SYNCING = ThreadPoolExecutor(4, thread_name_prefix="blob-sync")


class DurableDirectories:
    """Makes directories at and below a root, and syncs the entry of each.

    A directory another process made may not be durable yet when this one sees it, so the first
    use of each syncs its parent, even of an existing one; later uses cost one `stat`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        # Paths are put together, compared and taken apart at a tenth of the speed of strings.
        self._root_name = str(root)
        self._durable: set[str] = set()

    def ensure(self, directory: str) -> None:
        """Make sure that the directory exists and will after a power loss."""
        if not self._is_durable(directory):
            with self.made([directory]):
                pass

    @contextmanager
    def made(self, directories: Iterable[str]) -> Iterator[None]:
        """Create directories before the block, and make them durable after it.

        On a file system with a journal, files that are synced in the block sync the directories as
        well. The parents are synced once, after the block. Files may be moved into the directories
        only after the block.
        """
        new = [path for path in dict.fromkeys(directories) if not self._is_durable(path)]
        below = [item for item in new if item != self._root_name]
        if len(below) < len(new):
            self._make_root()
        parents = list(dict.fromkeys(map(os.path.dirname, below)))
        for parent in parents:
            self.ensure(parent)
        for item in below:
            with suppress(FileExistsError):
                os.mkdir(item, 0o700)
        yield
        for parent in parents:
            sync_directory(parent)
        if len(self._durable) + len(new) > _REMEMBERED_DIRECTORIES:
            self._durable.clear()
        self._durable.update(new)

    def _is_durable(self, directory: str) -> bool:
        return directory in self._durable and os.path.isdir(directory)

    def _make_root(self) -> None:
        missing = [place for place in (self._root, *self._root.parents) if not place.exists()]
        for place in reversed(missing):
            with suppress(FileExistsError):
                os.mkdir(place, 0o700)
            sync_directory(str(place.parent))


class TemporaryFile:
    """A blob being written; the file is made by the first `append`.

    The worker thread of a cancelled task continues, so a thread that cleans up may run while an
    append is running. Each step acquires a lock, and `discard` prevents further writes. `path` is
    the current place of the bytes.

    Args:
        directory: The directory for the temporary file.
        directories: Creates the directory.
        digest: The SHA-256 of the bytes, if the service has computed it before.
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
        self._begun_bytes = 0
        self.size_bytes = 0
        self.is_published = False

    def append(self, data: bytes | bytearray, *, is_last: bool = False) -> None:
        """Hash and write bytes. They must not be changed, because hashing may end later.

        Args:
            data: The bytes.
            is_last: No other bytes follow.
        """
        beside_bytes = _WHOLE_HASHED_BESIDE_BYTES if is_last else _HASHED_BESIDE_BYTES
        with self._lock:
            descriptor = self._opened()
            if self._digest is None:
                self._add_to_hash(data, is_beside=len(data) >= beside_bytes)
            self.size_bytes += len(data)
            unwritten = memoryview(data)
            while unwritten:
                # One call for several megabytes takes several times as long.
                unwritten = unwritten[os.write(descriptor, unwritten[:CHUNK_BYTES]) :]
            self._begin_sync(descriptor)

    def rest(self) -> None:
        """Close the file until it is needed again.

        Errors of earlier writes are reported by the next sync, even of a file that was opened
        again.
        """
        with self._lock:
            self._close()

    def read(self, start: int, size_bytes: int) -> bytes:
        """Return bytes that were written, before or after they were published."""
        with self._lock, open(self.path, "rb") as file:
            file.seek(start)
            # A negative size would read all of the file.
            return file.read(max(size_bytes, 0))

    def digest(self) -> str:
        """Return the SHA-256 of the written bytes, as 64 hex digits."""
        with self._lock:
            return self._digest or self._hashed().hexdigest()

    def sync(self) -> None:
        """Make the bytes durable, and close the file."""
        with self._lock:
            descriptor = self._opened()
            reached(CrashPoint.FILE_WRITTEN)
            os.fsync(descriptor)
            reached(CrashPoint.FILE_SYNCED)
            self._close()

    def rename(self, place: str) -> None:
        """Move the synced file to its final name, replacing an existing file.

        Raises:
            RuntimeError: It was discarded meanwhile.
        """
        with self._lock:
            self._check_usable()
            os.replace(self.path, place)
            self.path, self._exists = place, False
            reached(CrashPoint.FILE_RENAMED)

    def discard(self) -> None:
        """Remove the file unless it was published. It never fails; a sweep removes the rest."""
        with self._lock:
            self._discarded = True
            with suppress(OSError):
                self._close()
            if self._exists:
                with suppress(OSError):
                    os.unlink(self.path)

    def _add_to_hash(self, data: bytes | bytearray, *, is_beside: bool) -> None:
        digest = self._hashed()
        if is_beside:
            self._hashing = _HASHING.submit(digest.update, data)
        else:
            digest.update(data)

    def _hashed(self) -> "hashlib._Hash":
        """Return the digest of all bytes so far; waits for those that are being hashed."""
        if self._hashing is not None:
            self._hashing.result()
            self._hashing = None
        return self._hash

    def _begin_sync(self, descriptor: int) -> None:
        """Start writing to the disk, so that the sync at the end is short."""
        unsynced = self.size_bytes - self._begun_bytes
        if unsynced >= _BEGIN_SYNC_BYTES and hasattr(os, "posix_fadvise"):
            # This starts to write dirty pages, and drops only clean ones.
            os.posix_fadvise(descriptor, self._begun_bytes, unsynced, os.POSIX_FADV_DONTNEED)
            self._begun_bytes = self.size_bytes

    def _check_usable(self) -> None:
        if self._discarded:
            raise RuntimeError("this temporary file was discarded")

    def _opened(self) -> int:
        self._check_usable()
        if self._descriptor is None:
            self._directories.ensure(self._directory)
            flags = os.O_WRONLY | os.O_CLOEXEC
            # Opened again, it has to be there; opened first, it must not.
            flags |= os.O_APPEND if self._exists else os.O_CREAT | os.O_EXCL
            self._descriptor = os.open(self.path, flags, 0o600)
            self._exists = True
        return self._descriptor

    def _close(self) -> None:
        # Forgotten before it is closed: after a failed close the number may be another file's.
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Publishing:
    """Makes blobs of the files of one request."""

    place_of: Callable[[str], str]
    """The path of the blob of a digest."""
    directories: DurableDirectories
    """Makes what that is in."""
    _synced: list[tuple[TemporaryFile, StoredBlob, str]] = field(default_factory=list, init=False)

    def sync(self, files: Sequence[TemporaryFile]) -> None:
        """Sync files that are whole, and the directories that they will be in into theirs."""
        blobs = [StoredBlob(file.digest(), file.size_bytes) for file in files]
        places = [self.place_of(blob.digest) for blob in blobs]
        with self.directories.made(map(os.path.dirname, places)):
            _side_by_side([file.sync for file in files])
        self._synced.extend(zip(files, blobs, places, strict=True))

    def finish(self) -> list[StoredBlob]:
        """Rename all synced files, replacing existing ones; return the blobs in their order.

        They survive a power loss when this returns.
        """
        for file, _, place in self._synced:
            file.rename(place)
        folders = dict.fromkeys(os.path.dirname(place) for _, _, place in self._synced)
        _side_by_side([partial(_synced_directory, folder) for folder in folders])
        for file, _, _ in self._synced:
            file.is_published = True
        return [blob for _, blob, _ in self._synced]


def _synced_directory(folder: str) -> None:
    sync_directory(folder)
    reached(CrashPoint.DIRECTORY_SYNCED)


def _side_by_side(steps: Sequence[Callable[[], None]]) -> None:
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


def swept_files(directory: Path, older_than_seconds: float, dry_run: bool) -> int:
    """Remove files that were not written to for so long; return how many."""
    newest = time.time() - older_than_seconds
    swept = 0
    with failures_translated(), suppress(FileNotFoundError):
        for entry in list(os.scandir(directory)):
            # Another process may sweep, or publish the file, at the same time.
            with suppress(FileNotFoundError):
                if entry.stat(follow_symlinks=False).st_mtime <= newest:
                    if not dry_run:
                        os.unlink(entry.path)
                    swept += 1
    return swept


@contextmanager
def failures_translated() -> Iterator[None]:
    """Raise the file system's own faults as the store's.

    Raises:
        StoreFullError: There is no room.
        StoreUnavailableError: Anything else.
    """
    try:
        yield
    except OSError as exc:
        if exc.errno in _NO_ROOM:
            raise StoreFullError from exc
        raise StoreUnavailableError(STORE) from exc
