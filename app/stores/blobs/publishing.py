"""Files that become blobs: each synced, then renamed, then the directories synced, in that order.

Of several files those of one step are synced side by side, as disks like it best, and each
directory is synced once. Nothing is renamed before all are synced, and nobody is told of any
before all directories are. Everything here blocks.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

from app.crash_points import CrashPoint, reached
from app.stores.blobs.store import StoredBlob
from app.stores.blobs.temporary_file import DurableDirectories, TemporaryFile, sync_directory

# Beside the thread that waits for them: more would wait in the queue of the disk.
_SYNCING = ThreadPoolExecutor(4, thread_name_prefix="blob-sync")


class Publishing:
    """Makes blobs of the files of one request.

    Args:
        place_of: Where the blob of a digest belongs.
        directories: Makes what that is in.
    """

    def __init__(self, place_of: Callable[[str], Path], directories: DurableDirectories) -> None:
        self._place_of = place_of
        self._directories = directories
        self._synced: list[tuple[TemporaryFile, StoredBlob, Path]] = []

    def sync(self, files: Sequence[TemporaryFile]) -> None:
        """Sync files that are whole, and the directories that they will be in into theirs."""
        blobs = [StoredBlob(file.digest(), file.size_bytes) for file in files]
        places = [self._place_of(blob.digest) for blob in blobs]
        with self._directories.made(place.parent for place in places):
            _side_by_side([file.sync for file in files])
        self._synced += zip(files, blobs, places, strict=True)

    def finish(self) -> list[StoredBlob]:
        """Rename all that were synced, replacing what is there; the blobs in the order they came.

        They would survive a power loss when this returns.
        """
        for file, _, place in self._synced:
            file.rename(place)
        folders = dict.fromkeys(place.parent for _, _, place in self._synced)
        _side_by_side([partial(_synced_directory, folder) for folder in folders])
        for file, _, _ in self._synced:
            file.is_published = True
        return [blob for _, blob, _ in self._synced]


def _synced_directory(folder: Path) -> None:
    sync_directory(folder)
    reached(CrashPoint.DIRECTORY_SYNCED)


def _side_by_side(steps: Sequence[Callable[[], None]]) -> None:
    """Take several steps at once; all have ended when the first failure of any is raised."""
    others = [_SYNCING.submit(step) for step in steps[1:]]
    try:
        for step in steps[:1]:
            step()
    finally:
        if others:
            wait(others)
    for other in others:
        other.result()
