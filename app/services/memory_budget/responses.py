"""Reserves the memory of responses, and disconnects clients that read too slowly.

All responses with long text together may reserve half of the budget, called the *share*, so that
slow readers do not block other requests. If three quarters of the share, or of the whole budget,
are reserved, readers below a minimum rate are disconnected, the slowest first, until less is
reserved. A disconnected client can notice it: the body is shorter than its `Content-Length`.
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
"""The time that a response may wait for its reader before the rate of the reader counts."""
PACE_BYTES = 256 * 1024
"""The average bytes per second from which a reader is never disconnected."""
_CHECK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ResponseMemory:
    """The bytes that a response has reserved, both from the share and from the whole budget."""

    share: MemoryReservation
    whole: MemoryReservation
    limit_bytes: int
    """The size of the share."""

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
    _sent_bytes: int = 0
    _waited_seconds: float = 0.0
    _waiting_since: float | None = None

    def cut(self) -> None:
        """End the connection. Its memory is released soon after."""
        self.is_cut = True
        self.abort()

    @contextmanager
    def sending(self, size_bytes: int) -> Iterator[None]:
        """Count the bytes that the block sends, and the time that it takes."""
        self._waiting_since = monotonic()
        try:
            yield
        finally:
            self._waited_seconds += monotonic() - self._waiting_since
            self._waiting_since = None
            self._sent_bytes += size_bytes

    def pace(self, now: float) -> float | None:
        """Return the bytes sent per second of waiting; `None` during the grace period.

        The time in which the service makes the next piece is not included.
        """
        seconds = self._waited_seconds
        if self._waiting_since is not None:
            seconds += now - self._waiting_since
        return self._sent_bytes / seconds if seconds >= GRACE_SECONDS else None


class ResponseBudget:
    """The memory of the responses of a process, and their readers. Not thread-safe.

    Args:
        memory: The whole budget.
    """

    def __init__(self, memory: MemoryBudget) -> None:
        self._memory = memory
        self._share = MemoryBudget(memory.limit_bytes // 2)
        self._readers: set[Reader] = set()
        self._next_check: asyncio.TimerHandle | None = None

    async def reserve(self, size_bytes: int) -> ResponseMemory:
        """Reserve memory, after a short wait if it does not fit at once.

        The caller has no other reservation, and releases the returned one. A size above the share
        counts as the whole share, which the response then has alone.

        Raises:
            OverloadedError: The bytes did not fit for a second. Nothing is reserved.
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
        """Reserve bytes without waiting.

        Raises:
            OverloadedError: The bytes do not fit now. Nothing is reserved.
        """
        nothing = MemoryReservation(self._share, 0), MemoryReservation(self._memory, 0)
        memory = ResponseMemory(*nothing, self._share.limit_bytes)
        try:
            memory.resize(size_bytes)
        except OverloadedError:
            self.cut_slow(monotonic(), wanted_bytes=min(size_bytes, self._share.limit_bytes))
            raise
        return memory

    @contextmanager
    def reading(self, memory: ReservedMemory, cut: Callable[[], object]) -> Iterator[Reader]:
        """Register a reader, which may be disconnected, during the block.

        Args:
            memory: The memory of the response.
            cut: Ends the connection.
        """
        reader = Reader(memory, cut)
        self._readers.add(reader)
        self._schedule_check()
        try:
            yield reader
        finally:
            self._readers.discard(reader)

    def cut_slow(self, now: float, *, wanted_bytes: int = 0) -> None:
        """Disconnect slow readers, the slowest first, until enough memory is free.

        Args:
            now: The current time of the monotonic clock.
            wanted_bytes: The memory that a new response needs.
        """
        budgets = (self._share, self._memory)
        excess_bytes = max(_excess_bytes(budget, wanted_bytes) for budget in budgets)
        excess_bytes -= sum(reader.memory.size_bytes for reader in self._readers if reader.is_cut)
        if excess_bytes <= 0:
            return
        paces = [
            (pace, reader)
            for reader in self._readers
            if not reader.is_cut and (pace := reader.pace(now)) is not None
        ]
        for pace, reader in sorted(paces, key=itemgetter(0)):
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
    """Return the bytes to release, so that the wanted bytes and a quarter of a budget are free."""
    free_bytes = max(budget.limit_bytes // 4, wanted_bytes)
    return budget.held_bytes + free_bytes - budget.limit_bytes
