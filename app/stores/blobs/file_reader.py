"""Reading a directory of blobs: the bytes of a file, those the kernel has in memory, and lists.

A file is read in worker threads: one call for each megabyte, the first while opening. If the file
is in the page cache, the thread takes ten times as long as the read. Linux can open a file only if
its path is cached (`openat2` with `RESOLVE_CACHED`), and read it only if its pages are in memory
(`RWF_NOWAIT`). If these calls are not available, everything is read in worker threads.

Blobs may be stored and removed while they are listed: blobs that vanish are skipped.
"""

import ctypes
import errno
import os
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from io import FileIO
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from threading import Lock

import anyio
import anyio.to_thread

from app.errors import StoreUnavailableError
from app.stores.blobs.store import BlobMissingError, ListedBlob, is_blob_name
from app.stores.blobs.temporary_file import STORE, translate_failures
from pagefault_dialects.model.media import CHUNK_BYTES

_ENTRIES_AT_ONCE = 1_000
MAX_BYTES = 64 * 1024
"""The most bytes that are read in the event loop: copying more would delay other requests."""

# The number of the system call is the same on all processors that Python 3.11 supports.
_OPENAT2 = 437
_RESOLVE_CACHED = 0x20
_AT_FDCWD = -100
_NOWAIT = getattr(os, "RWF_NOWAIT", 0)


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


_OPEN_HOW = _OpenHow(os.O_RDONLY | getattr(os, "O_CLOEXEC", 0), 0, _RESOLVE_CACHED)
_HOW = ctypes.byref(_OPEN_HOW)
_HOW_BYTES = ctypes.sizeof(_OPEN_HOW)


class FileReader:
    """Reads a range of a file in pieces. See `BlobReader`.

    The call that reads the last piece also closes the file. It is a `FileIO` and not a descriptor,
    so that the garbage collector closes it after a cancelled task.
    """

    def __init__(self, path: Path, start: int, end: int | None) -> None:
        self._path = path
        self._position = start
        self._stop = end
        self._end = start
        self._file: FileIO | None = None
        self._first = b""

    def open(self) -> None:
        """Open the file and read the first piece; blocks."""
        with translate_failures():
            try:
                file = self._file = FileIO(self._path)
            except FileNotFoundError as exc:
                raise BlobMissingError from exc
            try:
                size_bytes = os.fstat(file.fileno()).st_size
                end = size_bytes if self._stop is None else min(self._stop, size_bytes)
                self._end = max(self._position, end)
                self._first = self._read(file)
            except BaseException:
                file.close()
                raise

    def __aiter__(self) -> "FileReader":
        return self

    async def __anext__(self) -> bytes:
        piece, self._first = self._first, b""
        if not piece and self._file is not None:
            with translate_failures():
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

    def _read(self, file: FileIO) -> bytes:
        length = min(CHUNK_BYTES, self._end - self._position)
        piece = os.pread(file.fileno(), length, self._position)
        if length and not piece:
            # Blobs are never truncated, so a file that has become shorter is damaged.
            raise StoreUnavailableError(STORE)
        self._position += len(piece)
        if self._position >= self._end:
            self._file = None
            file.close()
        return piece


async def read_bytes(data: bytes) -> AsyncGenerator[bytes, None]:
    """Yield bytes that were read already; empty bytes yield nothing, as a `BlobReader` does."""
    if data:
        yield data


class CachedFiles:
    """Reads files of one file system from the page cache, if the operating system supports that."""

    def __init__(self) -> None:
        self._is_offered = sys.platform == "linux" and _NOWAIT != 0
        if self._is_offered:
            self._system_call = ctypes.CDLL(None, use_errno=True).syscall
            self._system_call.argtypes = (
                ctypes.c_long,
                ctypes.c_int,
                ctypes.c_char_p,
                ctypes.c_void_p,
                ctypes.c_size_t,
            )

    def read(self, path: str, start: int, end: int | None) -> bytes | None:
        """Return the bytes from `start` up to, not including, `end`, clamped like a slice.

        Returns:
            `None` if they are more than `MAX_BYTES`, if the path or the bytes are not cached, or if
            the file does not exist.
        """
        if end is not None and end - start > MAX_BYTES:
            return None
        descriptor = self._open(path)
        if descriptor is None:
            return None
        try:
            status = os.fstat(descriptor)
            size_bytes = status.st_size
            length = (size_bytes if end is None else min(end, size_bytes)) - start
            if length > MAX_BYTES or not S_ISREG(status.st_mode):
                return None
            return self._pages(descriptor, start, length) if length > 0 else b""
        finally:
            os.close(descriptor)

    def has(self, path: str) -> bool:
        """Return whether the kernel has the path in memory; if not, the file may still exist."""
        descriptor = self._open(path)
        if descriptor is None:
            return False
        os.close(descriptor)
        return True

    def _open(self, path: str) -> int | None:
        if not self._is_offered:
            return None
        descriptor: int = self._system_call(
            _OPENAT2, _AT_FDCWD, os.fsencode(path), _HOW, _HOW_BYTES
        )
        if descriptor >= 0:
            return descriptor
        # An older kernel does not have the call; a container may forbid it.
        if ctypes.get_errno() in (errno.ENOSYS, errno.EPERM, errno.EINVAL):
            self._is_offered = False
        return None

    def _pages(self, descriptor: int, start: int, length: int) -> bytes | None:
        """Return `length` bytes, or `None` if some are not in the page cache."""
        buffer = bytearray(length)
        try:
            read = os.preadv(descriptor, [buffer], start, _NOWAIT)
        except OSError as exc:
            # Not supported by the file system; or not in memory, and a worker thread reads it.
            if exc.errno == errno.EOPNOTSUPP:
                self._is_offered = False
            return None
        return bytes(buffer) if read == length else None


async def list_files(directory: Path) -> AsyncGenerator[ListedBlob, None]:
    """Yield the blobs in the directory of a project, in no order; it is read in worker threads."""
    for folder in await anyio.to_thread.run_sync(_folders, directory):
        scan = _DirectoryScan(folder)
        try:
            while batch := await anyio.to_thread.run_sync(scan.read):
                for blob in batch:
                    if blob is not None:
                        yield blob
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(scan.close)


def find_file(path: Path) -> ListedBlob | None:
    """Return the blob of a file without reading it, `None` if there is none; blocks."""
    with translate_failures(), suppress(FileNotFoundError):
        return _listed_blob(path.name, path.stat(follow_symlinks=False))
    return None


class _DirectoryScan:
    """A directory that is read in batches.

    The worker thread of a cancelled task continues, and a directory must not be closed while
    another thread reads it, so each method acquires a lock.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries: Iterator[os.DirEntry[str]] | None = None
        self._closed = False
        self._lock = Lock()

    def read(self) -> list[ListedBlob | None]:
        """Return the next batch of entries, `None` for each that is no blob; empty at the end."""
        with translate_failures(), self._lock:
            if self._closed:
                return []
            if self._entries is None:
                try:
                    self._entries = os.scandir(self._folder)
                except (FileNotFoundError, NotADirectoryError):
                    return []
            return [self._blob(entry) for entry in islice(self._entries, _ENTRIES_AT_ONCE)]

    def close(self) -> None:
        """Close the directory."""
        with self._lock:
            self._closed = True
            if self._entries is not None:
                self._entries.close()  # type: ignore[attr-defined]

    def _blob(self, entry: os.DirEntry[str]) -> ListedBlob | None:
        if not is_blob_name(self._folder.name, entry.name):
            return None
        with suppress(FileNotFoundError):
            return _listed_blob(entry.name, entry.stat(follow_symlinks=False))
        return None


def _folders(directory: Path) -> list[Path]:
    with translate_failures(), suppress(FileNotFoundError), os.scandir(directory) as entries:
        return [Path(entry.path) for entry in entries]
    return []


def _listed_blob(name: str, status: os.stat_result) -> ListedBlob | None:
    if not S_ISREG(status.st_mode):
        return None
    return ListedBlob(name, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))
