"""The blobs in a project's directory, a few at a time.

Blobs may be put and removed while they are listed: what vanishes in between is passed over.
Foreign exceptions (`OSError`) pass through; the store translates them.
"""

import os
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from threading import Lock

import anyio
import anyio.to_thread

from app.stores.blobs.store import ListedBlob, is_blob_name

_ENTRIES_AT_ONCE = 1_000


async def listed_files(directory: Path) -> AsyncGenerator[ListedBlob, None]:
    """The blobs of a project, read in worker threads; `directory` is the project's."""
    for folder in await anyio.to_thread.run_sync(_folders, directory):
        scan = _Scan(folder)
        try:
            while batch := await anyio.to_thread.run_sync(scan.read):
                for blob in batch:
                    if blob is not None:
                        yield blob
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(scan.close)


def found_file(path: Path) -> ListedBlob | None:
    """What is known of one blob without reading it; blocks."""
    try:
        return _described(path.name, path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return None


class _Scan:
    """One folder, open.

    A cancelled task leaves its worker thread running, and the system cannot close a folder that
    another thread is reading: each step holds a lock.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries: Iterator[os.DirEntry[str]] | None = None
        self._closed = False
        self._lock = Lock()

    def read(self) -> list[ListedBlob | None]:
        """The next entries, `None` for each that is no blob; empty at the end."""
        with self._lock:
            if self._closed:
                return []
            if self._entries is None:
                try:
                    self._entries = os.scandir(self._folder)
                except (FileNotFoundError, NotADirectoryError):
                    return []
            return [self._blob(entry) for entry in islice(self._entries, _ENTRIES_AT_ONCE)]

    def close(self) -> None:
        """Let go of the folder."""
        with self._lock:
            self._closed = True
            if self._entries is not None:
                self._entries.close()  # type: ignore[attr-defined]

    def _blob(self, entry: os.DirEntry[str]) -> ListedBlob | None:
        if not is_blob_name(self._folder.name, entry.name):
            return None
        try:
            return _described(entry.name, entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            return None


def _folders(directory: Path) -> list[Path]:
    try:
        with os.scandir(directory) as entries:
            return [Path(entry.path) for entry in entries]
    except FileNotFoundError:
        return []


def _described(name: str, status: os.stat_result) -> ListedBlob | None:
    if not S_ISREG(status.st_mode):
        return None
    return ListedBlob(name, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))
