"""Returns memory that large requests have freed to the operating system.

The C library does not return all freed memory: it keeps up to 16 MiB (see `app.server.process`),
and all free blocks between used blocks. After a history of 48 MiB in strings of 400 KiB, these free
blocks had 50 to 140 MiB, and the next large request needed new memory in addition to them.
"""

import ctypes
import sys

import anyio
import anyio.to_thread

from app.services.memory_budget.budget import MemoryBudget

_REST_SECONDS = 1.0


async def trim_freed_memory(memory: MemoryBudget) -> None:
    """Return freed memory whenever the reserved memory has fallen, at most once a second.

    Runs until cancelled. Only glibc has a function for this; with another C library, this function
    returns at once.

    Args:
        memory: The budget whose reservations are watched.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    while trim is not None:
        await memory.wait_for_fall()
        # The memory of a response is freed up to a second after its reservation, so trim twice.
        for _ in range(2):
            await anyio.to_thread.run_sync(trim, 0)
            await anyio.sleep(_REST_SECONDS)
