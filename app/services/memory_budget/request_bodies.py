"""Memory of one request body, while it arrives and while it is processed.

`pagefault_dialects.streams.text_weight` estimates the memory for work on a text.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.from_thread

from app.errors import OverloadedError
from app.services.memory_budget.budget import HeldMemory, MemoryBudget
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.streams.text_weight import TextWeight

FREE_BYTES = 16 * 1024
"""A body of no more takes nothing of the budget: most requests are small, and many at once."""

QUICKLY_WEIGHED_BYTES = 64 * 1024
"""Size up to which a text is weighed in the event loop."""

WORK_WAIT_SECONDS = 10.0
"""Time that a received body waits for the memory of its processing."""

_FIRST_STEP_BYTES = 32 * 1024
_STEP_BYTES = 256 * 1024
_PACE_BYTES_PER_SECOND = 64 * 1024
_MAX_CREDIT_SECONDS = 4.0


class BodyBudget:
    """The share of all bodies of the process: half of the budget while they arrive.

    The other half is left for work on those that have arrived, and for answers. Where they need
    more than their half, those that come slowly are ended, the slowest first.

    Args:
        memory: The budget.
        text_limit_bytes: How many bytes of text one body may keep in memory.
    """

    def __init__(self, memory: MemoryBudget, *, text_limit_bytes: int) -> None:
        self.memory = memory
        self.arriving = MemoryBudget(memory.limit_bytes // 2)
        self.text_limit_bytes = text_limit_bytes
        self.bodies: set[BodyMemory] = set()
        """Those on their way that hold some of it."""

    def make_room(self, size_bytes: int, newcomer: "BodyMemory") -> None:
        """End bodies that come too slowly until so many more bytes fit, or no such body is left."""
        if self.arriving.held_bytes + size_bytes <= self.arriving.limit_bytes:
            return
        now = asyncio.get_running_loop().time()
        slow = [item for item in self.bodies - {newcomer} if item.credit_seconds(now) < 0]
        for body in sorted(slow, key=lambda item: item.credit_seconds(now)):
            if self.arriving.held_bytes + size_bytes <= self.arriving.limit_bytes:
                return
            body.end()


class BodyMemory:
    """The part of the budget that one body holds. Release it, whatever has come of the request."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._arriving: HeldMemory | None = None
        self._reserved: HeldMemory | None = None
        self._text_bytes = 0
        self._weight = TextWeight()
        self._patience: asyncio.Timeout | None = None
        self._is_ended = False
        self._credit_seconds = _MAX_CREDIT_SECONDS
        self._waiting_since: float | None = None
        self.size_bytes = FREE_BYTES
        """The size up to which the reserved memory suffices."""

    @asynccontextmanager
    async def arrival(self) -> AsyncIterator[None]:
        """Let the body be ended while it arrives, for the length of the block.

        Raises:
            OverloadedError: It came too slowly, and its room was needed.
        """
        try:
            async with asyncio.timeout(None) as self._patience:
                yield
        except TimeoutError as exc:
            if not self._is_ended:
                raise
            raise OverloadedError from exc
        else:
            if self._is_ended:
                raise OverloadedError
        finally:
            self._patience = None
            self._budget.bodies.discard(self)

    async def paced(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the chunks, and count how long they are waited for."""
        clock = asyncio.get_running_loop().time
        while True:
            self._waiting_since = clock()
            chunk = await anext(chunks, None)
            if chunk is None:
                return
            credit = self.credit_seconds(clock()) + len(chunk) / _PACE_BYTES_PER_SECOND
            self._credit_seconds = min(credit, _MAX_CREDIT_SECONDS)
            self._waiting_since = None
            yield chunk

    def credit_seconds(self, now: float) -> float:
        """Return how long the sender may still pause; below zero others may have the body ended."""
        waited = 0.0 if self._waiting_since is None else now - self._waiting_since
        return self._credit_seconds - waited

    def end(self) -> None:
        """Release the memory, and end the block of `arrival` with an error."""
        self._is_ended = True
        self._budget.bodies.discard(self)
        if self._patience is not None:
            self._patience.reschedule(asyncio.get_running_loop().time())
        self.release()

    async def keep(self, size_bytes: int) -> None:
        """Hold so many bytes in all, and some for those to come.

        Call it where `size_bytes` is exceeded, before any more is kept.

        Raises:
            OverloadedError: They do not fit now.
        """
        size_bytes = _stepped(size_bytes)
        if self._reserved is None and not self._is_ended:
            self._budget.make_room(size_bytes, self)
            if self._arriving is None:
                self._arriving = await self._budget.arriving.hold(size_bytes)
            self._reserved = await self._budget.memory.hold(size_bytes)
            self._budget.bodies.add(self)
        self._grow(size_bytes)

    def keep_text(self, text_bytes: int, others_bytes: int) -> None:
        """Hold so many bytes of text in all, and others beside them; for worker threads.

        Raises:
            OverloadedError: They do not fit now.
            PayloadTooLargeError: It is too much text.
        """
        self.check_text(text_bytes)
        if self._arriving is not None:
            anyio.from_thread.run_sync(self._grow, _stepped(text_bytes + others_bytes))
        elif self._reserved is not None:
            work_bytes = self._work_bytes(text_bytes)
            anyio.from_thread.run_sync(grow_within, self._reserved, self._budget.memory, work_bytes)

    def _grow(self, size_bytes: int) -> None:
        if self._is_ended:
            raise OverloadedError
        if self._arriving is not None and self._reserved is not None:
            self._budget.make_room(size_bytes - self._arriving.size_bytes, self)
            grow_within(self._arriving, self._budget.arriving, size_bytes)
            grow_within(self._reserved, self._budget.memory, size_bytes)
        self.size_bytes = max(self.size_bytes, size_bytes)

    async def begin_work(self, text_bytes: int) -> None:
        """Hold what work on so many bytes of text takes, when all of the body is there.

        What does not fit at once is waited for, and nothing of the whole budget is held meanwhile:
        the bytes of the body stay counted among those that arrive.

        Raises:
            OverloadedError: It did not fit for `WORK_WAIT_SECONDS`.
        """
        if self._reserved is None:
            return
        work_bytes = self._work_bytes(text_bytes)
        try:
            grow_within(self._reserved, self._budget.memory, work_bytes)
        except OverloadedError:
            self._reserved.release()
            self._reserved = None
            memory = self._budget.memory
            self._reserved = await memory.hold(work_bytes, later_seconds=WORK_WAIT_SECONDS)
        if self._arriving is not None:
            self._arriving.release()
            self._arriving = None

    def _work_bytes(self, text_bytes: int) -> int:
        """Return what work on so many bytes of text may hold: three quarters of the budget at most.

        Bodies on their way must not keep it waiting.
        """
        max_bytes = self._budget.memory.limit_bytes // 4 * 3
        return min(self._weight.work_bytes(text_bytes), max_bytes)

    def check_text(self, text_bytes: int) -> None:
        """Refuse a body that keeps so many bytes of text, if they are too many.

        Raises:
            PayloadTooLargeError: They are.
        """
        limit_bytes = self._budget.text_limit_bytes
        if text_bytes > limit_bytes:
            raise PayloadTooLargeError(
                f"The text of a request body may have {limit_bytes} bytes of JSON, beside media "
                "in base64. Store what is longer with `POST /api/resources`, which takes "
                "it as a stream, and refer to it. Nothing was stored.",
                code="text-too-large",
            )

    def weigh(self, data: bytes) -> None:
        """Look at bytes that will be worked on; for worker threads, as they read."""
        self._weight.add(data)

    def hold_work(self, text_bytes: int) -> None:
        """Hold what work on so many more bytes of text takes; for worker threads, before it.

        A body of no more than `FREE_BYTES` holds nothing, and any thread may say so.

        Raises:
            OverloadedError: That does not fit now.
            PayloadTooLargeError: With what there was before it is too much text.
        """
        if not text_bytes:
            return
        self._text_bytes += text_bytes
        self.check_text(self._text_bytes)
        if self._reserved is not None:
            work_bytes = self._work_bytes(self._text_bytes)
            if work_bytes > self._reserved.size_bytes:
                anyio.from_thread.run_sync(
                    grow_within, self._reserved, self._budget.memory, work_bytes
                )

    def release(self) -> None:
        """Release all memory."""
        self._budget.bodies.discard(self)
        for memory in (self._arriving, self._reserved):
            if memory is not None:
                memory.release()


def _stepped(size_bytes: int) -> int:
    """Return how much is held for so many bytes: they are rounded up to a step."""
    step_bytes = _FIRST_STEP_BYTES if size_bytes <= _STEP_BYTES else _STEP_BYTES
    return -(-size_bytes // step_bytes) * step_bytes


def grow_within(memory: HeldMemory, budget: MemoryBudget, size_bytes: int) -> None:
    """Grow reserved memory to a size, at most to the whole budget."""
    size_bytes = min(size_bytes, budget.limit_bytes)
    if size_bytes > memory.size_bytes:
        memory.resize(size_bytes)
