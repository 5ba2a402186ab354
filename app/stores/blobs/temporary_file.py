"""A file on its way to its final name, and directories that survive a power loss.

Everything here blocks and belongs in a worker thread. Foreign exceptions (`OSError`) pass through;
the store translates them.
"""

import hashlib
import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock

from app.errors import DigestMismatchError
from app.stores.blobs.store import StoredBlob

_REMEMBERED_DIRECTORIES = 10_000


class DurableDirectories:
    """Makes directories at and below a root, and syncs the entry of each.

    A directory another process made may not be durable yet when this one sees it, so the first
    use of each syncs its parent, whoever made it; later uses cost one `stat`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._durable: set[Path] = set()

    def ensure(self, directory: Path) -> None:
        """Make sure that the directory exists and will after a power loss."""
        if directory in self._durable and directory.is_dir():
            return
        if directory == self._root:
            self._make_root()
        else:
            self.ensure(directory.parent)
            with suppress(FileExistsError):
                os.mkdir(directory, 0o700)
            sync_directory(directory.parent)
        if len(self._durable) >= _REMEMBERED_DIRECTORIES:
            self._durable.clear()
        self._durable.add(directory)

    def _make_root(self) -> None:
        missing = [place for place in (self._root, *self._root.parents) if not place.exists()]
        for place in reversed(missing):
            with suppress(FileExistsError):
                os.mkdir(place, 0o700)
            sync_directory(place.parent)


class TemporaryFile:
    """A blob being written; the file is made by the first `append`.

    A cancelled task leaves its worker thread running, so the thread that cleans up may arrive while
    an append is under way: each step holds a lock, and after `discard` nothing is written any more.
    """

    def __init__(self, directory: Path, directories: DurableDirectories) -> None:
        self._path = directory / uuid.uuid4().hex
        self._directories = directories
        self._descriptor: int | None = None
        self._hash = hashlib.sha256()
        self._lock = Lock()
        self._exists = False
        self._discarded = False
        self.size_bytes = 0
        self.is_published = False

    def append(self, data: bytes | bytearray) -> None:
        """Hash and write bytes."""
        with self._lock:
            descriptor = self._opened()
            self._hash.update(data)
            self.size_bytes += len(data)
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]

    def publish(
        self, place_of: Callable[[str], Path], expected_digest: str | None = None
    ) -> StoredBlob:
        """Verify, sync, and rename onto the place of the digest, replacing what is there.

        Raises:
            DigestMismatchError: The bytes have another digest than expected.
        """
        with self._lock:
            descriptor = self._opened()
            digest = self._hash.hexdigest()
            if expected_digest is not None and digest != expected_digest:
                raise DigestMismatchError
            os.fsync(descriptor)
            self._close()
            place = place_of(digest)
            self._directories.ensure(place.parent)
            os.replace(self._path, place)
            self._exists = False
            sync_directory(place.parent)
            self.is_published = True
            return StoredBlob(digest, self.size_bytes)

    def discard(self) -> None:
        """Remove the file unless it was published; never fails, a sweep gets what it leaves."""
        with self._lock:
            self._discarded = True
            with suppress(OSError):
                self._close()
            if self._exists:
                with suppress(OSError):
                    os.unlink(self._path)

    def _opened(self) -> int:
        if self._discarded:
            raise RuntimeError("this temporary file was discarded")
        if self._descriptor is None:
            self._directories.ensure(self._path.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o600)
            self._exists = True
        return self._descriptor

    def _close(self) -> None:
        # Forgotten before it is closed: after a failed close the number may be another file's.
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def move_durably(source: Path, target: Path, directories: DurableDirectories) -> None:
    """Rename a file, replacing what is there; nothing happens if there is no such file."""
    try:
        os.stat(source)
        directories.ensure(target.parent)
        os.replace(source, target)
    except FileNotFoundError:
        return
    sync_directory(target.parent)
    sync_directory(source.parent)


def sync_directory(directory: Path) -> None:
    """Make the entries of a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
