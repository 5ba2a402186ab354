"""Places where a write or a sweep can be made to die, so that tests see what it leaves behind.

`PAGEFAULT_CRASH_AT=file-renamed:3` makes the process end itself with SIGKILL when it comes to that
place for the third time. It is read once, when the process comes to the first of them. It is no
setting: nobody but the tests of `tests/faults` has a use for it.
"""

import os
import signal
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from itertools import count
from typing import Final

VARIABLE: Final = "PAGEFAULT_CRASH_AT"


class CrashPoint(StrEnum):
    """What has happened when the process dies there, and by implication what has not."""

    FILE_WRITTEN = "file-written"
    """All bytes of a blob are in a temporary file, and may be in memory only."""
    FILE_SYNCED = "file-synced"
    """They are on the disk."""
    FILE_RENAMED = "file-renamed"
    """The file has its final name, which a power loss may take away."""
    DIRECTORY_SYNCED = "directory-synced"
    """The final name is on the disk; no row refers to it."""
    OBJECT_PUT = "object-put"
    """A blob was put into the bucket under its final name in one step; no row refers to it."""
    OBJECT_ASSEMBLED = "object-assembled"
    """A temporary object has been put together from its parts."""
    OBJECT_COPIED = "object-copied"
    """It was copied to its final name, and is still there itself; no row refers to it."""
    ROWS_WRITTEN = "rows-written"
    """All rows and events of a write are in a transaction that is open."""
    SHARED_ROWS_WRITTEN = "shared-rows-written"
    """Those of all who share a transaction are; it is about to be committed."""
    SHARED_COMMITTED = "shared-committed"
    """It is committed, and none of those who share it knows."""
    RESULT_COMMITTED = "result-committed"
    """A tool result is committed; it was not answered."""
    SEGMENT_KEPT = "segment-kept"
    """A piece of an upload counts; it was not answered, nor the upload completed."""
    BLOBS_CLAIMED = "blobs-claimed"
    """A sweep has claimed what it is about to remove."""
    BLOBS_DELETED = "blobs-deleted"
    """It has removed some of that."""
    CLAIM_DROPPED = "claim-dropped"
    """It has noted that its claim is over."""


def _passed_by(point: CrashPoint) -> None:
    """Go on."""


def _armed(given: str | None) -> Callable[[CrashPoint], None]:
    """Return what `reached` does.

    Raises:
        ValueError: There is no such crash point, or the number is none.
    """
    if not given:
        return _passed_by
    name, _, number = given.partition(":")
    deadly, last = CrashPoint(name), int(number or 1)
    # Several threads come along at once, and each takes a number of its own.
    numbers = count(1)

    def counted(point: CrashPoint) -> None:
        if point is deadly and next(numbers) >= last:
            os.kill(os.getpid(), signal.SIGKILL)

    return counted


@cache
def _of_this_process() -> Callable[[CrashPoint], None]:
    return _armed(os.environ.get(VARIABLE))


def reached(point: CrashPoint) -> None:
    """Tell that the process has come to a crash point; return, unless it is to die there."""
    _of_this_process()(point)
