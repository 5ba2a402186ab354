"""Returns freed memory of large requests to the operating system.

The C library keeps up to 16 MiB (`app.server.process`), and free blocks that lie between used
blocks. After a history of 48 MiB in strings of 400 KiB, these free blocks were 50 to 140 MiB in
total, and the next large request needed new memory in addition.
"""

import ctypes
import sys

import anyio
import anyio.to_thread

from app.services.memory_budget.budget import MemoryBudget

_REST_SECONDS = 1.0


async def trim_freed_memory(memory: MemoryBudget) -> None:
    """Return freed memory each time that reservations have fallen, at most once a second.

    Only glibc has a function for this. With another C library, return at once.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    while trim is not None:
        await memory.wait_for_fall()
        # The memory of the last response is freed up to a second after its reservation.
        for _ in range(2):
            await anyio.to_thread.run_sync(trim, 0)
            await anyio.sleep(_REST_SECONDS)
