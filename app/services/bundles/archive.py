"""Write the zip of a bundle: its members stored, in one order, with nothing in it that varies.

Nothing is compressed, so that there is nothing to inflate and the bytes depend on no compressor;
every member has the same date and the same attributes. It is written without seeking, each
member's checksum and size behind its bytes. Bundles are spooled in temporary files on their way in
and out, whose disk may be full.
"""

import errno
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from app.errors import StoreFullError

HISTORY = "history.jsonl"
INTERACTIONS = "interactions.jsonl"
PAGES = "pages.jsonl"
RESOURCES = "resources.jsonl"
MANIFEST = "manifest.json"
LINE_FILES = (HISTORY, INTERACTIONS, PAGES, RESOURCES)
"""The members that hold a JSON value on each line."""
BLOBS = "blobs/"

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_ATTRIBUTES = 0o100644 << 16
_UNIX = 3
_VERSION = 20
_WHEN = (1980, 1, 1, 0, 0, 0)


class ChunkBuffer:
    """A file-like object that is emptied while an archive of any length is written to it.

    `size_bytes` is the size of what is in it.
    """

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self.size_bytes = 0

    def write(self, data: bytes, /) -> int:
        """Take the next bytes of the archive; return how many they were."""
        self._held.append(bytes(data))
        self.size_bytes += len(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: every write goes through at once."""

    def take(self) -> bytes:
        """Return what was written since the last call."""
        taken = b"".join(self._held)
        self._held.clear()
        self.size_bytes = 0
        return taken


class ArchiveWriter:
    """Writes the members of a bundle, one behind the other, then `close`."""

    def __init__(self, sink: ChunkBuffer) -> None:
        # Neither `tell` nor `seek` is offered, so the library does not go back to what it wrote.
        self._zip = zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED)  # type: ignore[call-overload]

    @contextmanager
    def member(self, name: str, size_bytes: int) -> Iterator[IO[bytes]]:
        """Open a member of this size, which is complete when the block ends."""
        info = zipfile.ZipInfo(name, _WHEN)
        info.create_system = _UNIX
        info.create_version = info.extract_version = _VERSION
        info.external_attr = _ATTRIBUTES
        info.file_size = size_bytes
        with self._zip.open(info, "w") as opened:
            yield opened

    def close(self) -> None:
        """Write the directory of the members; the archive is whole."""
        self._zip.close()


@contextmanager
def disk_full_as_store_full() -> Iterator[None]:
    """Raise a full disk as StoreFullError."""
    try:
        yield
    except OSError as exc:
        if exc.errno in _NO_ROOM:
            raise StoreFullError from exc
        raise
