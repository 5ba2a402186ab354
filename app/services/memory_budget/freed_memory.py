"""Returns memory that large requests have freed to the system.

A process keeps up to 16 MiB on purpose (`app.server.process`), and free blocks between used ones.
After a history of 48 MiB, processed in strings of 400 KiB, these were 50 to 140 MiB, and the next
large request came on top of it.
"""

import ctypes
import sys

import anyio
import anyio.to_thread

from app.services.memory_budget.budget import MemoryBudget

_REST_SECONDS = 1.0


async def trim_freed_memory(memory: MemoryBudget) -> None:
    """Give freed memory back whenever the budget has fallen, at most once a second.

    Returns at once where the C library is not glibc, and has no such function.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    while trim is not None:
        await memory.fallen()
        # The memory of the last answer is free a second later.
        for _ in range(2):
            await anyio.to_thread.run_sync(trim, 0)
            await anyio.sleep(_REST_SECONDS)
