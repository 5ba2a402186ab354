"""What can be uploaded, and what it is called."""

import base64
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

ONE_REQUEST_BYTES = 8 * 1024 * 1024
PIECE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class UploadProgress:
    """How far an upload is.

    Attributes:
        sent: How many bytes the service has stored for good.
        total: How many there are.
        upload_id: What to go on with, should this process end: `upload(…, upload_id=…)`. None for
            a small file, which goes in one request.
    """

    sent: int
    total: int
    upload_id: str | None


OnProgress: TypeAlias = Callable[[UploadProgress], object]


@dataclass(slots=True)
class Opened:
    """A source that is being read.

    Attributes:
        file: The file; None for an iterable.
        length: Its length; None if only its end will tell.
        name: What it is called, if it is called anything.
        is_ours: Whether it was opened here, and is to be closed here.
        pieces: The reader of an iterable whose length is known.
    """

    file: BinaryIO | None
    length: int | None
    name: str | None
    is_ours: bool = False
    pieces: Any = None

    def close(self) -> None:
        """Close the file if it was opened here."""
        if self.is_ours and self.file is not None:
            self.file.close()


def opened(source: object) -> Opened:
    """Return a source, ready to be read.

    Raises:
        TypeError: It is none.
        OSError: The file cannot be opened.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return Opened(io.BytesIO(source), memoryview(source).nbytes, None)
    if isinstance(source, str | os.PathLike):
        file: BinaryIO = Path(source).open("rb")  # noqa: SIM115 - `close` closes it
        return Opened(file, os.fstat(file.fileno()).st_size, _name(source), is_ours=True)
    read = getattr(source, "read", None)
    if callable(read):
        return _of_file(source)
    if isinstance(source, Iterable | AsyncIterable):
        return Opened(None, None, None)
    raise TypeError(
        f"{type(source).__name__} cannot be uploaded: give bytes, a path, a binary file, or an "
        "iterable of bytes"
    )


def _of_file(file: object) -> Opened:
    if isinstance(file, io.TextIOBase):
        raise TypeError('a file of text cannot be uploaded: open it with mode "rb"')
    named = getattr(file, "name", None)
    name = _name(named) if isinstance(named, str) else None
    length: int | None = None
    seekable = getattr(file, "seekable", None)
    if seekable is not None and seekable():
        position = file.tell()  # type: ignore[attr-defined]
        length = file.seek(0, io.SEEK_END) - position  # type: ignore[attr-defined]
        file.seek(position)  # type: ignore[attr-defined]
    return Opened(file, length, name)  # type: ignore[arg-type]


def _name(path: str | os.PathLike[str]) -> str:
    """Return the name of a file in characters, also if its bytes are none."""
    return os.fsencode(Path(path).name).decode("utf-8", "replace")


def type_of_name(filename: str | None) -> str:
    """Return the MIME type that a name suggests. The service goes by the bytes where they tell."""
    guessed = mimetypes.guess_type(filename)[0] if filename else None
    return guessed or "application/octet-stream"


def tus_metadata(**values: str | None) -> str:
    """Return the value of `Upload-Metadata`."""
    return ",".join(
        f"{name} {base64.b64encode(value.encode()).decode()}"
        for name, value in values.items()
        if value
    )


def digest_header(digest: bytes) -> str:
    """Return the value of `Repr-Digest` (RFC 9530) for a SHA-256."""
    return f"sha-256=:{base64.b64encode(digest).decode()}:"
