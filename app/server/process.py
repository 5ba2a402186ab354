"""Settings of a whole process, set once by the command that starts it.

**Nesting.** CPython 3.11 counts the nesting of JSON against the recursion limit, which is 1,000 by
default. Settings bound the accepted depth far below the size of thread stacks.

**Garbage.** A short command collects garbage rarely. A server collects old objects only in
`app.services.memory_budget.garbage`: a full collection blocks the interpreter for half a second
while a history of 60,000 messages is in memory.

**Threads.** The event loop shares the interpreter with threads that render. It waits for up to one
switch interval, which is 5 ms by default.

**Freed memory.** Bodies are processed in pieces of a megabyte. By default glibc returns the memory
of each piece to the kernel and requests new memory for the next piece, which takes longer than
decoding it. It also creates up to eight heaps per core for threads. No heap becomes smaller, so the
process would grow for hours.
"""

import ctypes
import gc
import sys
from collections.abc import Mapping
from contextlib import suppress

# mallopt(3), <malloc.h>.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_ARENA_MAX = -8

_USUAL_COLLECTION = gc.get_threshold()
# Importing modules creates many objects, but hardly any garbage.
_SELDOM = (100_000, 50, 50)

# Threshold for objects that have survived two collections.
_NEVER = 1_000_000_000

_RECURSION_LIMIT = 10_000
_SWITCH_SECONDS = 0.0005
_MIB = 1024 * 1024


def collect_seldom() -> None:
    """Collect garbage seldom, for a short command."""
    gc.set_threshold(*_SELDOM)


def collect_as_usual() -> None:
    """Collect garbage at the defaults of CPython."""
    gc.set_threshold(*_USUAL_COLLECTION)


def collect_young_only() -> None:
    """Collect garbage among young objects only. Among old objects, only `gc.collect` does it."""
    gc.set_threshold(*_USUAL_COLLECTION[:2], _NEVER)


def switch_threads_often() -> None:
    """Set the switch interval of threads to half a millisecond."""
    sys.setswitchinterval(_SWITCH_SECONDS)


def accept_deep_json() -> None:
    """Raise the recursion limit for JSON of every accepted depth."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))


def keep_freed_memory() -> None:
    """Keep up to 16 MiB in each of two heaps; allocations from 4 MiB are returned at once.

    Only glibc is configured.
    """
    _set_malloc({_TRIM_THRESHOLD: 16 * _MIB, _MMAP_THRESHOLD: 4 * _MIB, _ARENA_MAX: 2})


def release_freed_memory() -> None:
    """Keep one heap and 1 MiB of freed memory, for one of many processes.

    Allocations from half a MiB are returned at once. Only glibc is configured.
    """
    _set_malloc({_TRIM_THRESHOLD: _MIB, _MMAP_THRESHOLD: _MIB // 2, _ARENA_MAX: 1})


def _set_malloc(options: Mapping[int, int]) -> None:
    if sys.platform == "linux":
        with suppress(AttributeError):
            mallopt = ctypes.CDLL(None).mallopt
            for option, value in options.items():
                mallopt(option, value)
