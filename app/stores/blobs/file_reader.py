"""Read blobs in a directory, from the page cache or in worker threads, and list them.

In worker threads, there is one call for each megabyte; the first one also opens the file. If the
file is in the page cache, using a thread takes ten times as long as reading. So `CachedFiles` tries
to read small files in the event loop, with system calls of Linux that never wait for the disk:
`openat2` with `RESOLVE_CACHED` fails if the path is not cached, and `RWF_NOWAIT` if the pages are
not in memory. If these calls are not available, all files are read in worker threads.

Blobs may be stored and removed while they are listed. Blobs that are removed meanwhile are skipped.
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
MAX_CACHED_BYTES = 64 * 1024
"""The maximal number of bytes to read in the event loop. Copying more would delay requests."""

# The number of the system call is the same on all processors that Python 3.11 supports.
_OPENAT2 = 437
_RESOLVE_CACHED = 0x20
_AT_FDCWD = -100
_NOWAIT = getattr(os, "RWF_NOWAIT", 0)


class _OpenHow(ctypes.Structure):
    """The `struct open_how` of Linux, which `openat2` takes."""

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

    The call that reads the last piece also closes the file. The file is a `FileIO`, which the
    garbage collector closes if a task was cancelled; a descriptor would stay open.
    """

    def __init__(self, path: Path, start: int, end: int | None) -> None:
        self._path = path
        self._position = start
        self._requested_end = end
        self._end = start
        self._file: FileIO | None = None
        self._first_piece = b""

    def open(self) -> None:
        """Open the file and read the first piece. This blocks."""
        with translate_failures():
            try:
                file = self._file = FileIO(self._path)
            except FileNotFoundError as exc:
                raise BlobMissingError from exc
            try:
                size_bytes = os.fstat(file.fileno()).st_size
                requested_end = size_bytes if self._requested_end is None else self._requested_end
                self._end = max(self._position, min(requested_end, size_bytes))
                self._first_piece = self._read(file)
            except BaseException:
                file.close()
                raise

    def __aiter__(self) -> "FileReader":
        return self

    async def __anext__(self) -> bytes:
        piece, self._first_piece = self._first_piece, b""
        if not piece and self._file is not None:
            with translate_failures():
                piece = await anyio.to_thread.run_sync(self._read, self._file)
        if not piece:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        """See `BlobReader.aclose`."""
        file, self._file = self._file, None
        self._first_piece = b""
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
    """Yield bytes that were read already, as one piece; nothing if they are empty."""
    if data:
        yield data


class CachedFiles:
    """Reads files of one file system from the page cache, if the operating system supports that."""

    def __init__(self) -> None:
        self._is_supported = sys.platform == "linux" and _NOWAIT != 0
        if self._is_supported:
            self._system_call = ctypes.CDLL(None, use_errno=True).syscall
            self._system_call.argtypes = (
                ctypes.c_long,
                ctypes.c_int,
                ctypes.c_char_p,
                ctypes.c_void_p,
                ctypes.c_size_t,
            )

    def read(self, path: str, start: int, end: int | None) -> bytes | None:
        """Return the bytes of a file from `start` to before `end`, clamped like a slice.

        Returns:
            `None` if there are more than `MAX_CACHED_BYTES`, if the path or the bytes are not in
            the cache, or if the file does not exist.
        """
        if end is not None and end - start > MAX_CACHED_BYTES:
            return None
        descriptor = self._open(path)
        if descriptor is None:
            return None
        try:
            status = os.fstat(descriptor)
            size_bytes = status.st_size
            length = (size_bytes if end is None else min(end, size_bytes)) - start
            if length > MAX_CACHED_BYTES or not S_ISREG(status.st_mode):
                return None
            return self._read_cached_pages(descriptor, start, length) if length > 0 else b""
        finally:
            os.close(descriptor)

    def has(self, path: str) -> bool:
        """Return whether a file exists and its path is cached. If not, the file may exist."""
        descriptor = self._open(path)
        if descriptor is None:
            return False
        os.close(descriptor)
        return True

    def _open(self, path: str) -> int | None:
        if not self._is_supported:
            return None
        descriptor: int = self._system_call(
            _OPENAT2, _AT_FDCWD, os.fsencode(path), _HOW, _HOW_BYTES
        )
        if descriptor >= 0:
            return descriptor
        # Older kernels do not have this call, and containers may forbid it.
        if ctypes.get_errno() in (errno.ENOSYS, errno.EPERM, errno.EINVAL):
            self._is_supported = False
        return None

    def _read_cached_pages(self, descriptor: int, start: int, length: int) -> bytes | None:
        """Return `length` bytes, or `None` if some are not in the page cache."""
        buffer = bytearray(length)
        try:
            read = os.preadv(descriptor, [buffer], start, _NOWAIT)
        except OSError as exc:
            # The file system does not support this, or the pages are not in memory.
            if exc.errno == errno.EOPNOTSUPP:
                self._is_supported = False
            return None
        return bytes(buffer) if read == length else None


async def list_files(directory: Path) -> AsyncGenerator[ListedBlob, None]:
    """Yield the blobs in the directory of a project, in no particular order.

    Worker threads read the directories.
    """
    for folder in await anyio.to_thread.run_sync(_list_folders, directory):
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
    """Return the blob at a path without reading it; `None` if it does not exist. This blocks."""
    with translate_failures(), suppress(FileNotFoundError):
        return _listed_blob(path.name, path.stat(follow_symlinks=False))
    return None


class _DirectoryScan:
    """A directory that is read in batches.

    If a task is cancelled, its worker thread continues. A directory must not be closed while a
    thread reads it, so each method acquires a lock.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries: Iterator[os.DirEntry[str]] | None = None
        self._closed = False
        self._lock = Lock()

    def read(self) -> list[ListedBlob | None]:
        """Return the next batch of blobs, with `None` for other entries; empty at the end."""
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


def _list_folders(directory: Path) -> list[Path]:
    with translate_failures(), suppress(FileNotFoundError), os.scandir(directory) as entries:
        return [Path(entry.path) for entry in entries]
    return []


def _listed_blob(name: str, status: os.stat_result) -> ListedBlob | None:
    if not S_ISREG(status.st_mode):
        return None
    return ListedBlob(name, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))
