"""Points at which tests kill the process, to check the state after a write or a sweep.

With `PAGEFAULT_CRASH_AT=file-renamed:3` the process kills itself with SIGKILL when it reaches this
point for the third time. The variable is read when the first point is reached. It is not a setting,
and only `tests/faults` uses it.
"""

import os
import signal
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from itertools import count
from typing import Final

CRASH_POINT_VARIABLE: Final = "PAGEFAULT_CRASH_AT"


class CrashPoint(StrEnum):
    """A point in a write or a sweep, named after the step that was just completed."""

    FILE_WRITTEN = "file-written"
    """All bytes of a blob are in a temporary file, but perhaps not yet on the disk."""
    FILE_SYNCED = "file-synced"
    """The bytes are on the disk."""
    FILE_RENAMED = "file-renamed"
    """The file has its final name, which a power failure may undo."""
    DIRECTORY_SYNCED = "directory-synced"
    """The final name is on the disk; no row refers to the blob yet."""
    OBJECT_PUT = "object-put"
    """A blob was put into the bucket under its final name in one step; no row refers to it yet."""
    OBJECT_ASSEMBLED = "object-assembled"
    """A temporary object was assembled from its parts."""
    OBJECT_COPIED = "object-copied"
    """The temporary object was copied to its final name, but not deleted; no row refers to it."""
    ROWS_WRITTEN = "rows-written"
    """All rows and events of a write are in an open transaction."""
    SHARED_ROWS_WRITTEN = "shared-rows-written"
    """All rows of a transaction that several requests share are written; it is not committed."""
    SHARED_COMMITTED = "shared-committed"
    """A transaction that several requests share is committed; they have no responses yet."""
    RESULT_COMMITTED = "result-committed"
    """A tool result is committed; its request has no response yet."""
    SEGMENT_KEPT = "segment-kept"
    """A piece of an upload is stored; its request has no response yet. Other pieces are missing."""
    BLOBS_CLAIMED = "blobs-claimed"
    """A sweep has claimed the blobs that it removes next."""
    BLOBS_DELETED = "blobs-deleted"
    """The sweep has removed some of the claimed blobs."""
    CLAIM_DROPPED = "claim-dropped"
    """The sweep has ended its claim."""


def _do_nothing(point: CrashPoint) -> None:
    """Do nothing."""


def _parse_variable(value: str | None) -> Callable[[CrashPoint], None]:
    """Return the function to call at each crash point, for a value of the variable.

    Raises:
        ValueError: There is no such crash point, or the number is invalid.
    """
    if not value:
        return _do_nothing
    name, _, number = value.partition(":")
    selected, fatal_pass = CrashPoint(name), int(number or 1)
    # Several threads may pass the point at the same time; `next` gives each of them another number.
    passes = count(1)

    def kill_process(point: CrashPoint) -> None:
        if point is selected and next(passes) >= fatal_pass:
            os.kill(os.getpid(), signal.SIGKILL)

    return kill_process


@cache
def _get_action() -> Callable[[CrashPoint], None]:
    return _parse_variable(os.environ.get(CRASH_POINT_VARIABLE))


def reach_crash_point(point: CrashPoint) -> None:
    """Kill the process if the variable selects this crash point."""
    _get_action()(point)
