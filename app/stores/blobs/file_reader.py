"""The bytes of a file, read in worker threads: one hop for a megabyte, the first while opening."""

import os
from io import FileIO
from pathlib import Path

import anyio
import anyio.to_thread

from app.errors import StoreUnavailableError
from app.models.media import CHUNK_BYTES
from app.stores.blobs.store import BlobMissingError
from app.stores.blobs.temporary_file import STORE, failures_translated


class FileReader:
    """Reads a range of a file in pieces. See `BlobReader`.

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
        with failures_translated():
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

    def __aiter__(self) -> "FileReader":
        return self

    async def __anext__(self) -> bytes:
        piece, self._first = self._first, b""
        if not piece and self._file is not None:
            with failures_translated():
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
            raise StoreUnavailableError(STORE)
        self._position += len(piece)
        if self._position >= self._end:
            self._file = None
            file.close()
        return piece


class ReadBytes:
    """Bytes that were read already, as a reader of them. See `BlobReader`."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __aiter__(self) -> "ReadBytes":
        return self

    async def __anext__(self) -> bytes:
        data, self._data = self._data, b""
        if not data:
            raise StopAsyncIteration
        return data

    async def aclose(self) -> None:
        """See `BlobReader.aclose`."""
        self._data = b""
