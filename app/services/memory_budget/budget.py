"""The budget for the memory of requests: bodies, responses, images and queued events.

A limit for each body and response does not limit the memory of many requests at the same time. So
code that needs more than a few kilobytes for a request first reserves memory from this budget. A
request waits only if it has no reservation yet; otherwise two requests could wait for each other.
If a request with a reservation needs more memory, it gets the memory at once, or an error.

The budget is the sum of the reservations. Memory is not measured.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

from app.errors import MemoryExhaustedError

WAIT_SECONDS = 1.0
"""The time that a request without a reservation waits for memory."""
_MAX_FALL_BYTES = 48 * 1024 * 1024
"""The decrease that ends `MemoryBudget.wait_for_fall`. At most, a quarter of the budget."""


_Queue: TypeAlias = "deque[tuple[int, asyncio.Future[None]]]"


class MemoryReservation:
    """The bytes that a request has reserved from the budget."""

    def __init__(self, budget: "MemoryBudget", size_bytes: int) -> None:
        self._budget = budget
        self.size_bytes = size_bytes

    def grow(self, size_bytes: int) -> None:
        """Reserve more bytes, without waiting.

        Raises:
            MemoryExhaustedError: The bytes do not fit now. The reservation does not change.
        """
        self._budget.take_more(size_bytes)
        self.size_bytes += size_bytes

    def resize(self, size_bytes: int) -> None:
        """Change the size of the reservation, without waiting. A smaller size always fits.

        Raises:
            MemoryExhaustedError: The new size does not fit now. The reservation does not change.
        """
        if size_bytes > self.size_bytes:
            self.grow(size_bytes - self.size_bytes)
        else:
            self._budget.release(self.size_bytes - size_bytes)
            self.size_bytes = size_bytes

    def release(self) -> None:
        """Release all bytes. Further calls have no effect."""
        self.resize(0)


class MemoryBudget:
    """The memory that all requests of a process may reserve together. Not thread-safe.

    Waiting requests are served in the order of their arrival.

    Args:
        limit_bytes: The size of the budget. A single request may reserve all of it.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        """The number of reserved bytes."""
        self._fall_bytes = min(_MAX_FALL_BYTES, limit_bytes // 4)
        self._peak_bytes = 0
        self._has_fallen = asyncio.Event()
        self._waiting: _Queue = deque()
        self._later: _Queue = deque()

    @asynccontextmanager
    async def reserving(self, size_bytes: int) -> AsyncIterator[MemoryReservation]:
        """Reserve memory during the block; see `reserve`."""
        memory = await self.reserve(size_bytes)
        try:
            yield memory
        finally:
            memory.release()

    async def reserve(
        self, size_bytes: int, *, later_seconds: float | None = None
    ) -> MemoryReservation:
        """Reserve memory, after a short wait if it does not fit at once.

        The caller has no other reservation, and releases the returned one. A size above the budget
        counts as the whole budget, which this request then has alone.

        Args:
            size_bytes: The number of bytes.
            later_seconds: The longest wait of a large request, which is served after all small
                requests. `None` for a small request, which waits for up to `WAIT_SECONDS`.

        Raises:
            MemoryExhaustedError: The bytes did not fit in time. Nothing is reserved.
        """
        queue = self._waiting if later_seconds is None else self._later
        seconds = WAIT_SECONDS if later_seconds is None else later_seconds
        size_bytes = min(size_bytes, self.limit_bytes)
        if queue or self._waiting or not self._fits(size_bytes):
            await self._wait(queue, size_bytes, seconds)
        else:
            self._count(size_bytes)
        return MemoryReservation(self, size_bytes)

    def take_more(self, size_bytes: int) -> None:
        """Reserve bytes for a request that has a reservation; see `MemoryReservation.grow`."""
        if not self._fits(size_bytes):
            raise MemoryExhaustedError
        self._count(size_bytes)

    def release(self, size_bytes: int) -> None:
        """Release bytes, and serve waiting requests."""
        self.held_bytes -= size_bytes
        self._serve()
        # Waiting requests were served before this, so the memory is really free.
        if self._peak_bytes - self.held_bytes >= self._fall_bytes:
            self._peak_bytes = self.held_bytes
            self._has_fallen.set()

    async def wait_for_fall(self) -> None:
        """Wait until the reserved memory is far below its last peak.

        If it has fallen since the last call, this returns at once. Only one task may wait.
        """
        await self._has_fallen.wait()
        self._has_fallen.clear()

    def _count(self, more_bytes: int) -> None:
        self.held_bytes += more_bytes
        self._peak_bytes = max(self._peak_bytes, self.held_bytes)

    def _fits(self, size_bytes: int) -> bool:
        return self.held_bytes + size_bytes <= self.limit_bytes

    async def _wait(self, queue: _Queue, size_bytes: int, wait_seconds: float) -> None:
        served = asyncio.get_running_loop().create_future()
        queue.append((size_bytes, served))
        try:
            async with asyncio.timeout(wait_seconds):
                await served
        except BaseException as exc:
            if served.done() and not served.cancelled():
                # The request was served just before the timeout.
                self.held_bytes -= size_bytes
            if (size_bytes, served) in queue:
                queue.remove((size_bytes, served))
            # Smaller requests after this one may fit.
            self._serve()
            if isinstance(exc, TimeoutError):
                raise MemoryExhaustedError from exc
            raise

    def _serve(self) -> None:
        """Serve waiting requests in their order, up to the first one that does not fit."""
        for queue in (self._waiting, self._later):
            while queue:
                size_bytes, served = queue[0]
                if not served.done():
                    if not self._fits(size_bytes):
                        return
                    self._count(size_bytes)
                    served.set_result(None)
                queue.popleft()
