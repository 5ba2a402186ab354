"""The zip a bundle is: its members stored, in one order, with nothing in it that varies.

Nothing is compressed, so that there is nothing to inflate and the bytes depend on no compressor;
every member has the same date and the same attributes. It is written without seeking, each
member's checksum and size behind its bytes.
"""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

HISTORY = "history.jsonl"
INTERACTIONS = "interactions.jsonl"
PAGES = "pages.jsonl"
RESOURCES = "resources.jsonl"
MANIFEST = "manifest.json"
LINE_FILES = (HISTORY, INTERACTIONS, PAGES, RESOURCES)
"""The members that hold a JSON value a line."""
BLOBS = "blobs/"

_ATTRIBUTES = 0o100644 << 16
_UNIX = 3
_VERSION = 20
_WHEN = (1980, 1, 1, 0, 0, 0)


class Sink(Protocol):
    """What an archive is written to."""

    def write(self, data: bytes, /) -> int:
        """Take the next bytes of the archive; says how many they were."""
        ...

    def flush(self) -> None:
        """Nothing is held back."""
        ...


class Drain:
    """A sink that is emptied again and again, so that an archive of any length takes no room.

    `size_bytes` is what it holds.
    """

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self.size_bytes = 0

    def write(self, data: bytes, /) -> int:
        """See `Sink.write`."""
        self._held.append(bytes(data))
        self.size_bytes += len(data)
        return len(data)

    def flush(self) -> None:
        """See `Sink.flush`."""

    def take(self) -> bytes:
        """What was written since this was last asked."""
        taken = b"".join(self._held)
        self._held.clear()
        self.size_bytes = 0
        return taken


class Member(Protocol):
    """A member that is being written."""

    def write(self, data: bytes, /) -> int:
        """Append bytes; says how many they were."""
        ...


class ArchiveWriter:
    """Writes the members of a bundle, one behind the other, then `close`."""

    def __init__(self, sink: Sink) -> None:
        # Neither `tell` nor `seek` is offered, so the library does not go back to what it wrote.
        self._zip = zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED)  # type: ignore[call-overload]

    @contextmanager
    def member(self, name: str, size_bytes: int) -> Iterator[Member]:
        """A member of this size, complete when the block ends."""
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
