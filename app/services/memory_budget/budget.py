"""The memory budget of a process: for bodies, responses, images and queued events.

A limit for each body and response does not limit the memory of many requests at the same time. So
code that needs more than a few kilobytes for a request first reserves memory in this budget. A
request may wait only for its first reservation; otherwise two requests could wait for each other.
If it needs more memory later, it gets the memory at once, or an error.

Reservations are estimates. The memory that the process really uses is not measured.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

from app.errors import MemoryExhaustedError

WAIT_SECONDS = 1.0
"""The maximum time that a request without a reservation waits for memory."""
_MAX_FALL_BYTES = 48 * 1024 * 1024
"""The decrease that ends `MemoryBudget.wait_for_fall`, or a quarter of a smaller budget."""


_Queue: TypeAlias = "deque[tuple[int, asyncio.Future[None]]]"
"""Waiting requests: the number of bytes, and a future that is resolved when they are reserved."""


class MemoryReservation:
    """The bytes that a request has reserved in a budget.

    Args:
        budget: The budget.
        size_bytes: The number of bytes, which are reserved already.
    """

    def __init__(self, budget: "MemoryBudget", size_bytes: int) -> None:
        self._budget = budget
        self.size_bytes = size_bytes

    def grow(self, size_bytes: int) -> None:
        """Reserve additional bytes, without waiting.

        Raises:
            MemoryExhaustedError: The bytes are not free now. The reservation does not change.
        """
        self._budget.take_more(size_bytes)
        self.size_bytes += size_bytes

    def resize(self, size_bytes: int) -> None:
        """Change the size of the reservation, without waiting. It can always become smaller.

        Raises:
            MemoryExhaustedError: The additional bytes are not free now. The reservation does not
                change.
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
        self._low_priority_waiting: _Queue = deque()

    @asynccontextmanager
    async def reserving(self, size_bytes: int) -> AsyncIterator[MemoryReservation]:
        """Reserve memory during the block; see `reserve`."""
        memory = await self.reserve(size_bytes)
        try:
            yield memory
        finally:
            memory.release()

    async def reserve(
        self,
        size_bytes: int,
        *,
        wait_seconds: float | None = None,
        is_low_priority: bool = False,
    ) -> MemoryReservation:
        """Reserve memory, and wait until it is free.

        The caller must have no other reservation, because it could wait for itself. It has to
        release the returned reservation. A request for more than the whole budget reserves the
        whole budget.

        Args:
            size_bytes: The number of bytes.
            wait_seconds: The maximum time to wait; by default `WAIT_SECONDS`.
            is_low_priority: True to serve all other requests first, as for a large request.

        Raises:
            MemoryExhaustedError: The memory was not free in time. Nothing is reserved.
        """
        queue = self._low_priority_waiting if is_low_priority else self._waiting
        seconds = WAIT_SECONDS if wait_seconds is None else wait_seconds
        size_bytes = min(size_bytes, self.limit_bytes)
        if queue or self._waiting or not self._fits(size_bytes):
            await self._wait(queue, size_bytes, seconds)
        else:
            self._count(size_bytes)
        return MemoryReservation(self, size_bytes)

    def take_more(self, size_bytes: int) -> None:
        """Reserve bytes without waiting; called by `MemoryReservation.grow`."""
        if not self._fits(size_bytes):
            raise MemoryExhaustedError
        self._count(size_bytes)

    def release(self, size_bytes: int) -> None:
        """Release bytes, and reserve memory for requests that wait."""
        self.held_bytes -= size_bytes
        self._serve()
        # If requests were waiting, the memory is in use again, and has not fallen.
        if self._peak_bytes - self.held_bytes >= self._fall_bytes:
            self._peak_bytes = self.held_bytes
            self._has_fallen.set()

    async def wait_for_fall(self) -> None:
        """Wait until the reserved memory is far below its last peak.

        If it has fallen since the last call, return at once. Only one task may wait.
        """
        await self._has_fallen.wait()
        self._has_fallen.clear()

    def _count(self, additional_bytes: int) -> None:
        self.held_bytes += additional_bytes
        self._peak_bytes = max(self._peak_bytes, self.held_bytes)

    def _fits(self, size_bytes: int) -> bool:
        return self.held_bytes + size_bytes <= self.limit_bytes

    async def _wait(self, queue: _Queue, size_bytes: int, wait_seconds: float) -> None:
        """Wait in a queue until the bytes are reserved; see `reserve` for the error."""
        served = asyncio.get_running_loop().create_future()
        queue.append((size_bytes, served))
        try:
            async with asyncio.timeout(wait_seconds):
                await served
        except BaseException as exc:
            if served.done() and not served.cancelled():
                # The bytes were reserved just before the timeout or the cancellation.
                self.held_bytes -= size_bytes
            if (size_bytes, served) in queue:
                queue.remove((size_bytes, served))
            # Requests that waited behind this request may be smaller, and fit.
            self._serve()
            if isinstance(exc, TimeoutError):
                raise MemoryExhaustedError from exc
            raise

    def _serve(self) -> None:
        """Reserve memory for waiting requests in order, up to the first that does not fit."""
        for queue in (self._waiting, self._low_priority_waiting):
            while queue:
                size_bytes, served = queue[0]
                if not served.done():
                    if not self._fits(size_bytes):
                        return
                    self._count(size_bytes)
                    served.set_result(None)
                queue.popleft()
