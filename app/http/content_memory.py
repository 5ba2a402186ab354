"""What sending content holds of the budget of memory: a large piece, or small ones if it is short.

A piece stays in memory until its reader takes it. So nothing is read before it is counted, and
the pieces of whoever goes on reading become small where the budget fills.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.types import Scope

from app.models.media import CHUNK_BYTES
from app.services.memory_budget.budget import HeldMemory, MemoryBudget

if TYPE_CHECKING:
    from app.wiring import Container

SMALL_BYTES = 64 * 1024
"""How long a small piece is. One in all is not counted."""
NARROW_BYTES = 2 * SMALL_BYTES
"""What a reader of small pieces holds: a connection takes a second one before the sender waits."""
_WINDOW_BYTES = 4 * CHUNK_BYTES
"""What is read ahead of an object in a bucket, besides the piece of it that is being sent."""


class ContentMemory:
    """The memory that one answer holds while it is sent.

    Args:
        budget: Of the process.
        wide_bytes: What reading and sending large pieces holds.
        held: What was taken, at least `NARROW_BYTES`.
    """

    def __init__(self, budget: MemoryBudget, wide_bytes: int, held: HeldMemory) -> None:
        self._budget = budget
        self._wide_bytes = wide_bytes
        self._held = held

    def widen(self) -> bool:
        """Take what large pieces need, if a quarter of the budget is enough for all then."""
        more_bytes = self._wide_bytes - self._held.size_bytes
        if more_bytes <= 0:
            return True
        if self._budget.held_bytes + more_bytes > self._budget.limit_bytes // 4:
            return False
        self._held.grow(more_bytes)
        return True

    def narrow_if_short(self) -> bool:
        """Give back what large pieces need if half of the budget is taken; tells whether it is."""
        if self._budget.held_bytes <= self._budget.limit_bytes // 2:
            return False
        self._held.resize(min(self._held.size_bytes, NARROW_BYTES))
        return True


@asynccontextmanager
async def content_memory(scope: Scope, size_bytes: int) -> AsyncIterator[ContentMemory]:
    """Hold room for one reader of content for the length of the block.

    Args:
        scope: Of the request.
        size_bytes: The longest range that is to be read.

    Raises:
        OverloadedError: There is none, after a moment's wait; nothing is held.
    """
    container: Container = scope["state"]["container"]
    wide_bytes = min(CHUNK_BYTES, size_bytes)
    if container.content_sources.files is None:
        wide_bytes += min(_WINDOW_BYTES, size_bytes)
    async with container.memory.holding(NARROW_BYTES) as held:
        yield ContentMemory(container.memory, wide_bytes, held)
