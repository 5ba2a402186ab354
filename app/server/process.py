"""Configure the interpreter and the allocator of a process, once, in the command that starts it.

**Nesting.** CPython 3.11 counts the nesting of JSON against the recursion limit, which is 1,000 by
default. The limits of the service bound the accepted depth, so thread stacks cannot overflow.

**Garbage.** Short commands collect garbage rarely. A server collects old objects only in
`app.services.memory_budget.garbage`, because a full collection blocks the interpreter: for half a
second while a history of 60,000 messages is in memory.

**Threads.** The event loop shares the interpreter with threads that render. It may wait for one
switch interval, which is 5 ms by default, before it runs.

**Freed memory.** Bodies are processed in pieces of a megabyte. By default glibc returns the memory
of each piece to the kernel and requests new memory for the next piece, which takes longer than
decoding it. glibc also creates up to eight heaps per core for threads. These heaps never become
smaller, so the process would grow for hours.
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

# The thresholds of CPython's garbage collector, one for each of its three generations.
_DEFAULT_THRESHOLDS = gc.get_threshold()
# A short command mostly imports modules, which creates many objects, but hardly any garbage.
_COMMAND_THRESHOLDS = (100_000, 50, 50)
# A threshold that is never reached.
_NEVER = 1_000_000_000

_RECURSION_LIMIT = 10_000
_SWITCH_SECONDS = 0.0005
_MIB = 1024 * 1024


def collect_seldom() -> None:
    """Collect garbage rarely, in a short command."""
    gc.set_threshold(*_COMMAND_THRESHOLDS)


def restore_default_gc() -> None:
    """Collect garbage as often as CPython does by default; the opposite of `collect_seldom`."""
    gc.set_threshold(*_DEFAULT_THRESHOLDS)


def collect_young_only() -> None:
    """Collect only the two young generations automatically; `gc.collect` collects all."""
    gc.set_threshold(*_DEFAULT_THRESHOLDS[:2], _NEVER)


def switch_threads_often() -> None:
    """Set the switch interval of threads to half a millisecond."""
    sys.setswitchinterval(_SWITCH_SECONDS)


def accept_deep_json() -> None:
    """Raise the recursion limit for JSON of every accepted depth."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))


def keep_freed_memory() -> None:
    """Keep up to 16 MiB of freed memory in each of two heaps.

    Allocations of 4 MiB or more are returned to the kernel when they are freed. Other libraries
    than glibc are not configured.
    """
    _set_malloc({_TRIM_THRESHOLD: 16 * _MIB, _MMAP_THRESHOLD: 4 * _MIB, _ARENA_MAX: 2})


def release_freed_memory() -> None:
    """Keep one heap with up to 1 MiB of freed memory, for processes of which many run at once.

    Allocations of half a MiB or more are returned to the kernel when they are freed. Other
    libraries than glibc are not configured.
    """
    _set_malloc({_TRIM_THRESHOLD: _MIB, _MMAP_THRESHOLD: _MIB // 2, _ARENA_MAX: 1})


def _set_malloc(options: Mapping[int, int]) -> None:
    if sys.platform == "linux":
        # Other libraries than glibc have no `mallopt`.
        with suppress(AttributeError):
            mallopt = ctypes.CDLL(None).mallopt
            for option, value in options.items():
                mallopt(option, value)
