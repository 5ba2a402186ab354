"""Settings of a whole process, made once by the command that starts it.

**Nesting.** CPython 3.11 counts the JSON parser's nesting against the recursion limit, which is
1,000 unless raised. The accepted depth is bounded by settings, far below what the stacks of threads
hold.

**Garbage.** A command that ends soon looks for it seldom, and one that serves looks among its old
objects only when `app.services.memory_budget.garbage` does so: a full collection holds the
interpreter for as long as there are objects, half a second beside a history of 60,000 messages.

**Threads.** The event loop shares the interpreter with threads that render. It waits for up to an
interval whenever it has something to do, which is 5 ms unless set.

**Freed memory.** Bodies are worked on in pieces of a megabyte. glibc would give each back to the
kernel as soon as it is freed and ask for it again, to be cleared, with the next: that takes longer
than decoding it. It would also give up to eight heaps a core to the threads, each of which keeps
what was once needed: a process with twenty of them would grow for hours.
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
# Loading a module makes many objects, and hardly any garbage among them.
_SELDOM = (100_000, 50, 50)

# Of what has survived two collections.
_NEVER = 1_000_000_000

_RECURSION_LIMIT = 10_000
_SWITCH_SECONDS = 0.0005
_MIB = 1024 * 1024


def collect_seldom() -> None:
    """Look for garbage seldom, as in a command that ends soon."""
    gc.set_threshold(*_SELDOM)


def collect_as_usual() -> None:
    """Look for garbage as often as CPython does by itself."""
    gc.set_threshold(*_USUAL_COLLECTION)


def collect_young_only() -> None:
    """Collect garbage among young objects only; among old ones, `gc.collect` has to be called."""
    gc.set_threshold(*_USUAL_COLLECTION[:2], _NEVER)


def switch_threads_often() -> None:
    """Let a thread that waits for the interpreter have it after half a millisecond."""
    sys.setswitchinterval(_SWITCH_SECONDS)


def accept_deep_json() -> None:
    """Raise the recursion limit to what JSON of every accepted depth needs; never lower it."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))


def keep_freed_memory() -> None:
    """Keep up to 16 MiB for each of two heaps; what has 4 MiB or more is given back at once.

    Other C libraries than glibc are left as they are.
    """
    _set_malloc({_TRIM_THRESHOLD: 16 * _MIB, _MMAP_THRESHOLD: 4 * _MIB, _ARENA_MAX: 2})


def give_freed_memory_back() -> None:
    """Keep one heap and 1 MiB of what is freed in it, for a process that is one of many.

    What has half a MiB or more is given back at once.

    Other C libraries than glibc are left as they are.
    """
    _set_malloc({_TRIM_THRESHOLD: _MIB, _MMAP_THRESHOLD: _MIB // 2, _ARENA_MAX: 1})


def _set_malloc(options: Mapping[int, int]) -> None:
    if sys.platform == "linux":
        with suppress(AttributeError):
            mallopt = ctypes.CDLL(None).mallopt
            for option, value in options.items():
                mallopt(option, value)
