"""Reserves memory for responses, and disconnects clients that read too slowly.

All responses with long text together may reserve half of the memory budget, called the *share*, so
that slow readers do not block other requests. If more than three quarters of the share, or of the
whole budget, are reserved, readers below a minimum rate are disconnected, the slowest first. A
disconnected client notices this, because the body is shorter than its `Content-Length`.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from time import monotonic
from typing import TypeAlias

import structlog
from structlog.stdlib import BoundLogger

from app.errors import OverloadedError
from app.services.memory_budget.budget import MemoryBudget, MemoryReservation

_log: BoundLogger = structlog.get_logger(__name__)

GRACE_SECONDS = 10.0
"""The time that the service waits for a reader before the rate of the reader counts."""
PACE_BYTES = 256 * 1024
"""The average rate in bytes per second from which a reader is never disconnected."""
_CHECK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ResponseMemory:
    """The memory that a response has reserved, both in the share and in the whole budget."""

    share: MemoryReservation
    """The reservation in the share."""
    whole: MemoryReservation
    """The reservation in the whole budget."""
    limit_bytes: int
    """The size of the share of all responses."""

    @property
    def size_bytes(self) -> int:
        """The number of reserved bytes."""
        return self.share.size_bytes

    def resize(self, size_bytes: int) -> None:
        """Change the number of reserved bytes, but at most to the size of the share.

        Raises:
            OverloadedError: The bytes do not fit now. The reservation does not change.
        """
        size_bytes = min(size_bytes, self.limit_bytes)
        previous_bytes = self.share.size_bytes
        self.share.resize(size_bytes)
        try:
            self.whole.resize(size_bytes)
        except OverloadedError:
            self.share.resize(previous_bytes)
            raise

    def release(self) -> None:
        """Release all bytes. Further calls have no effect."""
        self.share.release()
        self.whole.release()


ReservedMemory: TypeAlias = ResponseMemory | MemoryReservation
"""Memory that is reserved for a response."""


@dataclass(slots=True, eq=False)
class Reader:
    """The client of a response that is being sent."""

    memory: ReservedMemory
    """The memory of the response."""
    abort: Callable[[], object]
    """Ends the connection."""
    is_cut: bool = False
    """True if the connection was ended by `cut`."""
    _sent_bytes: int = 0
    _waited_seconds: float = 0.0
    _waiting_since: float | None = None

    def cut(self) -> None:
        """End the connection. The sender of the response then releases its memory."""
        self.is_cut = True
        self.abort()

    @contextmanager
    def sending(self, size_bytes: int) -> Iterator[None]:
        """Count the bytes that the block sends, and the time for which it waits for the client."""
        self._waiting_since = monotonic()
        try:
            yield
        finally:
            self._waited_seconds += monotonic() - self._waiting_since
            self._waiting_since = None
            self._sent_bytes += size_bytes

    def pace(self, now: float) -> float | None:
        """Return the rate of the reader, the bytes sent per second in which the service waited.

        Args:
            now: The time of `time.monotonic`.

        Returns:
            The rate; `None` if the service has waited for less than `GRACE_SECONDS`.
        """
        seconds = self._waited_seconds
        if self._waiting_since is not None:
            seconds += now - self._waiting_since
        return self._sent_bytes / seconds if seconds >= GRACE_SECONDS else None


class ResponseBudget:
    """The memory budget of all responses of the process, and their readers. Not thread-safe.

    Args:
        memory: The whole budget.
    """

    def __init__(self, memory: MemoryBudget) -> None:
        self._memory = memory
        self._share = MemoryBudget(memory.limit_bytes // 2)
        self._readers: set[Reader] = set()
        self._next_check: asyncio.TimerHandle | None = None

    async def reserve(self, size_bytes: int) -> ResponseMemory:
        """Reserve memory, and wait up to a second until it is free.

        The caller must have no other reservation, because it could wait for itself. It has to
        release the returned memory. A response that is larger than the share reserves the whole
        share.

        Raises:
            OverloadedError: The memory was not free within a second. Nothing is reserved.
        """
        size_bytes = min(size_bytes, self._share.limit_bytes)
        self.cut_slow(monotonic(), wanted_bytes=size_bytes)
        share = await self._share.reserve(size_bytes)
        try:
            whole = await self._memory.reserve(share.size_bytes)
        except BaseException:
            share.release()
            raise
        return ResponseMemory(share, whole, self._share.limit_bytes)

    def take(self, size_bytes: int) -> ResponseMemory:
        """Reserve memory without waiting.

        Raises:
            OverloadedError: The memory is not free now. Nothing is reserved.
        """
        memory = ResponseMemory(
            MemoryReservation(self._share, 0),
            MemoryReservation(self._memory, 0),
            self._share.limit_bytes,
        )
        try:
            memory.resize(size_bytes)
        except OverloadedError:
            self.cut_slow(monotonic(), wanted_bytes=min(size_bytes, self._share.limit_bytes))
            raise
        return memory

    @contextmanager
    def reading(self, memory: ReservedMemory, abort: Callable[[], object]) -> Iterator[Reader]:
        """Send a response in this block. Its client may be disconnected if it reads slowly.

        Args:
            memory: The memory of the response.
            abort: Ends the connection.

        Yields:
            The reader. Each part of the response is sent in a block of `Reader.sending`.
        """
        reader = Reader(memory, abort)
        self._readers.add(reader)
        self._schedule_check()
        try:
            yield reader
        finally:
            self._readers.discard(reader)

    def cut_slow(self, now: float, *, wanted_bytes: int = 0) -> None:
        """Disconnect slow readers, the slowest first, until enough memory is free.

        Args:
            now: The time of `time.monotonic`.
            wanted_bytes: The memory that a new response needs.
        """
        budgets = (self._share, self._memory)
        excess_bytes = max(_excess_bytes(budget, wanted_bytes) for budget in budgets)
        # The memory of readers that were cut is released soon.
        excess_bytes -= sum(reader.memory.size_bytes for reader in self._readers if reader.is_cut)
        if excess_bytes <= 0:
            return
        readers_by_pace = [
            (pace, reader)
            for reader in self._readers
            if not reader.is_cut and (pace := reader.pace(now)) is not None
        ]
        for pace, reader in sorted(readers_by_pace, key=itemgetter(0)):
            if pace >= PACE_BYTES or excess_bytes <= 0:
                return
            excess_bytes -= reader.memory.size_bytes
            _log.warning(
                "slow reader cut off",
                held_bytes=reader.memory.size_bytes,
                bytes_per_second=round(pace),
            )
            reader.cut()

    def _schedule_check(self) -> None:
        if self._next_check is None:
            self._next_check = asyncio.get_running_loop().call_later(_CHECK_SECONDS, self._check)

    def _check(self) -> None:
        self._next_check = None
        self.cut_slow(monotonic())
        if self._readers:
            self._schedule_check()


def _excess_bytes(budget: MemoryBudget, wanted_bytes: int) -> int:
    """Return how many bytes have to be released in a budget.

    Afterwards the wanted bytes are free, and at least a quarter of the budget.
    """
    free_bytes = max(budget.limit_bytes // 4, wanted_bytes)
    return budget.held_bytes + free_bytes - budget.limit_bytes
