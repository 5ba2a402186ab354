"""What requests have freed, given back to the system.

The C library keeps what lies between blocks that are still used. Behind a history of 48 MiB, worked
on in strings of 400 KiB, that was 50 to 140 MiB, and the next large request came on top of it.
"""

import ctypes

import anyio
import anyio.to_thread

from app.services.memory_budget.budget import MemoryBudget

_REST_SECONDS = 1.0


async def trim_freed_memory(memory: MemoryBudget) -> None:
    """Give freed memory back whenever the budget has fallen, at most once a second.

    Ends only where the C library is not glibc, and has no such function.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while trim is not None:
        await memory.fallen()
        await anyio.to_thread.run_sync(trim, 0)
        await anyio.sleep(_REST_SECONDS)
