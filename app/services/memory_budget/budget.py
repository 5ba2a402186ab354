"""One budget in bytes for what requests hold in memory: bodies, answers, images, queued events.

Limits on a single body or answer do not bound a process that works on many of them. So everything
that holds more than a few kilobytes for a request takes its bytes from this budget first. A request
waits for room only before it holds any: two requests that each hold some and wait for more would
wait for each other. One that holds some and needs more gets it at once or is refused.

The budget counts what its users say they hold; it measures nothing.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

from app.errors import MemoryExhaustedError

WAIT_SECONDS = 1.0
"""Time that a request without memory waits for some."""
_MAX_FALL_BYTES = 48 * 1024 * 1024
"""Decrease that ends `MemoryBudget.fallen`, or a quarter of a small budget."""


_Queue: TypeAlias = "deque[tuple[int, asyncio.Future[None]]]"


class HeldMemory:
    """The bytes that one request has taken from the budget; released all together."""

    def __init__(self, budget: "MemoryBudget", size_bytes: int) -> None:
        self._budget = budget
        self.size_bytes = size_bytes

    def grow(self, size_bytes: int) -> None:
        """Take so many more bytes, at once.

        Raises:
            MemoryExhaustedError: They do not fit now. The memory reserved before is kept.
        """
        self._budget.take_more(size_bytes)
        self.size_bytes += size_bytes

    def resize(self, size_bytes: int) -> None:
        """Hold so many bytes instead; fewer of them always fit.

        Raises:
            MemoryExhaustedError: More of them are wanted than fit now; nothing has changed.
        """
        if size_bytes > self.size_bytes:
            self.grow(size_bytes - self.size_bytes)
        else:
            self._budget.give_back(self.size_bytes - size_bytes)
            self.size_bytes = size_bytes

    def release(self) -> None:
        """Give everything back; a second call does nothing."""
        self.resize(0)


class MemoryBudget:
    """The memory that all requests of a process may reserve together. For one event loop.

    Waiting requests are served in the order of their arrival.

    Args:
        limit_bytes: The size of the budget. A single request may reserve all of it.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._fall_bytes = min(_MAX_FALL_BYTES, limit_bytes // 4)
        self._peak_bytes = 0
        self._has_fallen = asyncio.Event()
        self._waiting: _Queue = deque()
        self._later: _Queue = deque()

    @asynccontextmanager
    async def holding(self, size_bytes: int) -> AsyncIterator[HeldMemory]:
        """Reserve memory for the length of the block; see `hold`."""
        memory = await self.hold(size_bytes)
        try:
            yield memory
        finally:
            memory.release()

    async def hold(self, size_bytes: int, *, later_seconds: float | None = None) -> HeldMemory:
        """Reserve memory, after a short wait if it does not fit at once.

        The caller has no memory yet, and releases the returned one. A size above the budget counts
        as the whole budget, which the request then has alone.

        Args:
            size_bytes: How many.
            later_seconds: How long to wait behind all others, as what takes much does; `None` to
                wait among those that take little, for `WAIT_SECONDS`.

        Raises:
            MemoryExhaustedError: They did not fit in time. Nothing is held.
        """
        queue = self._waiting if later_seconds is None else self._later
        seconds = WAIT_SECONDS if later_seconds is None else later_seconds
        size_bytes = min(size_bytes, self.limit_bytes)
        if queue or self._waiting or not self._fits(size_bytes):
            await self._wait(queue, size_bytes, seconds)
        else:
            self._count(size_bytes)
        return HeldMemory(self, size_bytes)

    def take_more(self, size_bytes: int) -> None:
        """Take bytes for a request that holds some; see `HeldMemory.grow`."""
        if not self._fits(size_bytes):
            raise MemoryExhaustedError
        self._count(size_bytes)

    def give_back(self, size_bytes: int) -> None:
        """Give bytes back, and let those who wait have them."""
        self.held_bytes -= size_bytes
        self._serve()
        # Those who had waited have their bytes by now.
        if self._peak_bytes - self.held_bytes >= self._fall_bytes:
            self._peak_bytes = self.held_bytes
            self._has_fallen.set()

    async def fallen(self) -> None:
        """Wait until the reserved memory has fallen far below its last peak.

        A fall since the last wait counts. Only one task may wait.
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
                # They were given at the last moment.
                self.held_bytes -= size_bytes
            if (size_bytes, served) in queue:
                queue.remove((size_bytes, served))
            # Those behind may fit where this one did not.
            self._serve()
            if isinstance(exc, TimeoutError):
                raise MemoryExhaustedError from exc
            raise

    def _serve(self) -> None:
        """Give bytes to those who wait, up to the first for whom there are not enough."""
        for queue in (self._waiting, self._later):
            while queue:
                size_bytes, served = queue[0]
                if not served.done():
                    if not self._fits(size_bytes):
                        return
                    self._count(size_bytes)
                    served.set_result(None)
                queue.popleft()
