"""The sources of uploads, with their names and types."""

import base64
import hashlib
import io
import mimetypes
import os
from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

Source: TypeAlias = (
    bytes
    | bytearray
    | memoryview
    | str
    | os.PathLike[str]
    | BinaryIO
    | Iterable[bytes]
    | AsyncIterable[bytes]
)
"""Bytes, the path of a file, an open binary file, or an iterable of pieces."""

SyncSource: TypeAlias = (
    bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO | Iterable[bytes]
)

# From this size on, the digest is sent first, and the bytes only if the project has not got them.
ASK_FIRST_BYTES = 20_000
ONE_REQUEST_BYTES = 8 * 1024 * 1024
PIECE_BYTES = 8 * 1024 * 1024
HASHED_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class UploadProgress:
    """The progress of an upload.

    Attributes:
        sent: The number of bytes that are stored.
        total: The total number of bytes.
        upload_id: The id with which another process can resume: `upload(…, upload_id=…)`. None for
            a small file, which is sent in one request.
    """

    sent: int
    total: int
    upload_id: str | None


OnProgress: TypeAlias = Callable[[UploadProgress], object]


@dataclass(slots=True)
class OpenedSource:
    """An open source of an upload.

    Attributes:
        file: The file; None for an iterable.
        length: The length in bytes, if known.
        name: The filename, if known.
        is_owned: The client opened the file, and closes it.
        pieces: The reader of an iterable whose length is known.
    """

    file: BinaryIO | None
    length: int | None
    name: str | None
    is_owned: bool = False
    pieces: Any = None

    def close(self) -> None:
        """Close the file if the client opened it."""
        if self.is_owned and self.file is not None:
            self.file.close()


def open_source(source: object) -> OpenedSource:
    """Open a source for reading.

    Raises:
        TypeError: The source has an unsupported type.
        OSError: The file cannot be opened.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return OpenedSource(io.BytesIO(source), memoryview(source).nbytes, None)
    if isinstance(source, str | os.PathLike):
        file: BinaryIO = Path(source).open("rb")  # noqa: SIM115 - `close` closes it
        return OpenedSource(file, os.fstat(file.fileno()).st_size, _filename(source), is_owned=True)
    read = getattr(source, "read", None)
    if callable(read):
        return _open_file(source)
    if isinstance(source, Iterable | AsyncIterable):
        return OpenedSource(None, None, None)
    raise TypeError(
        f"{type(source).__name__} cannot be uploaded: pass bytes, a path, a binary file, or an "
        "iterable of bytes"
    )


def _open_file(file: object) -> OpenedSource:
    if isinstance(file, io.TextIOBase):
        raise TypeError('a text file cannot be uploaded: open it with mode "rb"')
    path = getattr(file, "name", None)
    name = _filename(path) if isinstance(path, str) else None
    length: int | None = None
    seekable = getattr(file, "seekable", None)
    if seekable is not None and seekable():
        position = file.tell()  # type: ignore[attr-defined]
        length = file.seek(0, io.SEEK_END) - position  # type: ignore[attr-defined]
        file.seek(position)  # type: ignore[attr-defined]
    return OpenedSource(file, length, name)  # type: ignore[arg-type]


def _filename(path: str | os.PathLike[str]) -> str:
    """Return the name of a file; bytes that are not UTF-8 are replaced."""
    return os.fsencode(Path(path).name).decode("utf-8", "replace")


def type_of_name(filename: str | None) -> str:
    """Guess a MIME type from a name. Types that the service detects take precedence."""
    guessed = mimetypes.guess_type(filename)[0] if filename else None
    return guessed or "application/octet-stream"


def tus_metadata(**values: str | None) -> str:
    """Return the value of `Upload-Metadata`."""
    return ",".join(
        f"{name} {base64.b64encode(value.encode()).decode()}"
        for name, value in values.items()
        if value
    )


def digest_of_rest(file: BinaryIO, length: int) -> bytes:
    """Return the SHA-256 of the next bytes of a file, and leave its position."""
    position, digest = file.tell(), hashlib.sha256()
    while length and (piece := file.read(min(length, HASHED_BYTES))):
        digest.update(piece)
        length -= len(piece)
    file.seek(position)
    return digest.digest()


def digest_header(digest: bytes) -> str:
    """Return the value of `Repr-Digest` (RFC 9530) for a SHA-256."""
    return f"sha-256=:{base64.b64encode(digest).decode()}:"
