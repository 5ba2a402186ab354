"""Reserves memory for request bodies, while they arrive and while they are processed.

Each body has two reservations: in the whole budget, and, while it arrives, in the half of the
budget that is for arriving bodies. When a body is complete, the memory for processing it is
estimated (`pagefault_dialects.streams.text_weight`), and reserved too.

A client that sends slowly keeps its memory for a long time. So each body has a *credit*: seconds
for which its sender may pause. It falls while the service waits for bytes, and rises with received
bytes. If memory is short, bodies whose credit is below 0 are ended with an error.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.from_thread

from app.errors import OverloadedError
from app.services.memory_budget.budget import MemoryBudget, MemoryReservation
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.streams.text_weight import TextWeight

UNRESERVED_BYTES = 16 * 1024
"""The size up to which no memory is reserved for a body. Most bodies are smaller."""

QUICKLY_WEIGHED_BYTES = 64 * 1024
"""The size up to which the memory for processing a text is estimated in the event loop."""

WORK_WAIT_SECONDS = 10.0
"""The maximum time that a received body waits for the memory to process it."""

# Reservations grow in steps: of 32 KiB up to 256 KiB, then of 256 KiB.
_FIRST_STEP_BYTES = 32 * 1024
_STEP_BYTES = 256 * 1024
# A sender with this rate never loses credit.
_PACE_BYTES_PER_SECOND = 64 * 1024
_MAX_CREDIT_SECONDS = 4.0


class BodyBudget:
    """The memory budget of all request bodies of the process.

    Arriving bodies may use half of the whole budget. The other half is for complete bodies and for
    responses. If arriving bodies need more than their half, slow ones are ended, the slowest first.

    Args:
        memory: The whole budget.
        text_limit_bytes: The maximum size of the text of one body, which stays in memory.
    """

    def __init__(self, memory: MemoryBudget, *, text_limit_bytes: int) -> None:
        self.memory = memory
        self.arriving = MemoryBudget(memory.limit_bytes // 2)
        self.text_limit_bytes = text_limit_bytes
        self.bodies: set[BodyMemory] = set()
        """The arriving bodies that have a reservation."""

    def make_room(self, size_bytes: int, newcomer: "BodyMemory") -> None:
        """End slow bodies until more bytes fit, or until no slow body is left.

        Args:
            size_bytes: The number of additional bytes.
            newcomer: The body that needs the bytes, which is not ended.
        """
        if self.arriving.held_bytes + size_bytes <= self.arriving.limit_bytes:
            return
        now = asyncio.get_running_loop().time()
        slow = [item for item in self.bodies - {newcomer} if item.credit_seconds(now) < 0]
        for body in sorted(slow, key=lambda item: item.credit_seconds(now)):
            if self.arriving.held_bytes + size_bytes <= self.arriving.limit_bytes:
                return
            body.end()


class BodyMemory:
    """The reserved memory of one body. The caller releases it at the end of the request.

    Args:
        budget: The budget of all bodies.
    """

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        # The reservation in the half for arriving bodies; `None` for a short or a complete body.
        self._arriving: MemoryReservation | None = None
        # The reservation in the whole budget; `None` for a short body.
        self._reserved: MemoryReservation | None = None
        self._text_bytes = 0
        self._weight = TextWeight()
        self._timeout: asyncio.Timeout | None = None
        self._is_ended = False
        self._credit_seconds = _MAX_CREDIT_SECONDS
        self._waiting_since: float | None = None
        self.size_bytes = UNRESERVED_BYTES
        """The size of the body for which memory is reserved. `keep` increases it."""

    @asynccontextmanager
    async def arrival(self) -> AsyncIterator[None]:
        """Receive the body in this block, which is ended if the body is slow and memory is short.

        Raises:
            OverloadedError: The block was ended.
        """
        try:
            async with asyncio.timeout(None) as self._timeout:
                yield
        except TimeoutError as exc:
            if not self._is_ended:
                raise
            raise OverloadedError from exc
        else:
            if self._is_ended:
                raise OverloadedError
        finally:
            self._timeout = None
            self._budget.bodies.discard(self)

    async def measure_pace(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the chunks of the body, and compute the credit of its sender."""
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
        """Return the time that the sender may still pause. Below 0, the body may be ended.

        Args:
            now: The time of the clock of the event loop.
        """
        waited_seconds = 0.0 if self._waiting_since is None else now - self._waiting_since
        return self._credit_seconds - waited_seconds

    def end(self) -> None:
        """Release the memory, and end the block of `arrival` with an error."""
        self._is_ended = True
        self._budget.bodies.discard(self)
        if self._timeout is not None:
            self._timeout.reschedule(asyncio.get_running_loop().time())
        self.release()

    async def keep(self, size_bytes: int) -> None:
        """Reserve memory for the received bytes, and for some of the next bytes.

        Call this before more bytes than the attribute `size_bytes` are kept in memory.

        Args:
            size_bytes: The number of received bytes.

        Raises:
            OverloadedError: The bytes do not fit now.
        """
        size_bytes = _round_up(size_bytes)
        if self._reserved is None and not self._is_ended:
            self._budget.make_room(size_bytes, self)
            if self._arriving is None:
                self._arriving = await self._budget.arriving.reserve(size_bytes)
            self._reserved = await self._budget.memory.reserve(size_bytes)
            self._budget.bodies.add(self)
        self._grow(size_bytes)

    def keep_text(self, text_bytes: int, other_bytes: int) -> None:
        """Reserve memory for the text of a streamed body. Call this in a thread of anyio.

        Args:
            text_bytes: The number of bytes of text that are kept so far.
            other_bytes: The number of other bytes in memory, such as the current chunks.

        Raises:
            OverloadedError: The bytes do not fit now.
            PayloadTooLargeError: There is too much text.
        """
        self.check_text(text_bytes)
        if self._arriving is not None:
            anyio.from_thread.run_sync(self._grow, _round_up(text_bytes + other_bytes))
        elif self._reserved is not None:
            work_bytes = self._work_bytes(text_bytes)
            anyio.from_thread.run_sync(grow_within, self._reserved, self._budget.memory, work_bytes)

    def _grow(self, size_bytes: int) -> None:
        """Grow the reservations of an arriving body to a size.

        Raises:
            OverloadedError: The body was ended, or the bytes do not fit now.
        """
        if self._is_ended:
            raise OverloadedError
        if self._arriving is not None and self._reserved is not None:
            self._budget.make_room(size_bytes - self._arriving.size_bytes, self)
            grow_within(self._arriving, self._budget.arriving, size_bytes)
            grow_within(self._reserved, self._budget.memory, size_bytes)
        self.size_bytes = max(self.size_bytes, size_bytes)

    async def begin_work(self, text_bytes: int) -> None:
        """Reserve the memory for processing a complete body.

        If the memory is not free at once, the reservation in the whole budget is released while the
        body waits, so that waiting bodies do not block each other. The reservation in the half for
        arriving bodies stays until then.

        Args:
            text_bytes: The number of bytes of text in the body.

        Raises:
            OverloadedError: The memory was not free within `WORK_WAIT_SECONDS`.
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
            self._reserved = await memory.reserve(
                work_bytes, wait_seconds=WORK_WAIT_SECONDS, is_low_priority=True
            )
        if self._arriving is not None:
            self._arriving.release()
            self._arriving = None

    def _work_bytes(self, text_bytes: int) -> int:
        """Return the estimated memory for processing text, at most 3/4 of the budget.

        With this limit, large work does not have to wait until all arriving bodies are gone.
        """
        max_bytes = self._budget.memory.limit_bytes // 4 * 3
        return min(self._weight.estimate_bytes(text_bytes), max_bytes)

    def check_text(self, text_bytes: int) -> None:
        """Raise an error if a body has too much text.

        Raises:
            PayloadTooLargeError: The text exceeds `BodyBudget.text_limit_bytes`.
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
        """Add a part of the body to the estimate of the memory for processing the body."""
        self._weight.add(data)

    def reserve_work(self, text_bytes: int) -> None:
        """Reserve the memory for processing additional text.

        Call this in a thread of anyio. For a body of up to `UNRESERVED_BYTES`, any thread will do.

        Args:
            text_bytes: The number of additional bytes.

        Raises:
            OverloadedError: The memory is not free now.
            PayloadTooLargeError: There is too much text in total.
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
        """Release all reservations. Further calls have no effect."""
        self._budget.bodies.discard(self)
        for memory in (self._arriving, self._reserved):
            if memory is not None:
                memory.release()


def _round_up(size_bytes: int) -> int:
    """Round a number of bytes up to a multiple of 32 KiB or, if it is large, of 256 KiB."""
    step_bytes = _FIRST_STEP_BYTES if size_bytes <= _STEP_BYTES else _STEP_BYTES
    return -(-size_bytes // step_bytes) * step_bytes


def grow_within(memory: MemoryReservation, budget: MemoryBudget, size_bytes: int) -> None:
    """Grow a reservation to a size, but at most to the whole budget. It never shrinks.

    Raises:
        OverloadedError: The bytes do not fit now.
    """
    size_bytes = min(size_bytes, budget.limit_bytes)
    if size_bytes > memory.size_bytes:
        memory.resize(size_bytes)
