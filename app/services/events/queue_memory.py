"""What all queues of events may hold in a process, and how they take turns on the event loop.

An event that waits for a thousand listeners is in memory once, and counted once. When there is no
room for the next one, the listeners that are furthest behind are cut off: the log still has what
they miss, and they come back for it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from app.errors import OverloadedError
from app.services.events.batches import EventItem
from app.services.memory_budget.budget import HeldMemory, MemoryBudget

_SHARE = 4
_AT_A_TIME = 32


class Turns:
    """Lets a few go at each pass of the event loop, and keeps the others in order.

    Large events for a thousand listeners would otherwise be sent in one pass, for which everybody
    else waits.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._left = _AT_A_TIME
        self._is_awaited = False

    async def take(self) -> None:
        """Return when it is the caller's turn."""
        self._await_next_pass()
        if self._left and not self._waiting:
            self._left -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _await_next_pass(self) -> None:
        if not self._is_awaited:
            self._is_awaited = True
            asyncio.get_running_loop().call_soon(self._begin_pass)

    def _begin_pass(self) -> None:
        self._is_awaited = False
        self._left = _AT_A_TIME
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._left -= 1
        if self._left < _AT_A_TIME:
            self._await_next_pass()


class Queue(Protocol):
    """A queue of events for one listener."""

    @property
    def waiting_bytes(self) -> int:
        """How many bytes wait in it."""
        ...

    def cut_slow(self) -> None:
        """End it because its listener is too far behind; what waited is dropped."""
        ...


class QueueRoom:
    """The bytes of events that are in any queue, a quarter of the budget of memory at the most."""

    def __init__(self, memory: MemoryBudget) -> None:
        self._held = HeldMemory(memory, 0)
        self._limit_bytes = memory.limit_bytes // _SHARE
        # By the identity of the bytes, which live for as long as a queue holds them.
        self._users: dict[int, int] = {}
        self._queues: set[Queue] = set()
        self.turns = Turns()
        self.queued_bytes = 0

    def enter(self, queue: Queue) -> None:
        """Count a queue among those that may be cut."""
        self._queues.add(queue)

    def leave(self, queue: Queue) -> None:
        """Count it no more."""
        self._queues.discard(queue)

    def put(self, items: Iterable[EventItem]) -> None:
        """Count what is put into a queue."""
        users = self._users
        for item in items:
            key = id(item.data)
            if key in users:
                users[key] += 1
            else:
                users[key] = 1
                self.queued_bytes += len(item.data)

    def drop(self, items: Iterable[EventItem]) -> None:
        """Count it no more for one queue."""
        # A thousand queues of a thousand events are dropped at once where all are too far behind.
        users = self._users
        for item in items:
            key = id(item.data)
            left = users[key] - 1
            if left:
                users[key] = left
            else:
                del users[key]
                self.queued_bytes -= len(item.data)
        self.settle()

    def make_room(self, size_bytes: int) -> None:
        """Take room for bytes that are about to be put into queues, before they are.

        Whoever is furthest behind is cut off until they fit. Where nothing waits any more they are
        handed out all the same: no listener is to blame.
        """
        while not self._takes(size_bytes):
            most = max((queue.waiting_bytes for queue in self._queues), default=0)
            if not most:
                return
            for queue in [each for each in self._queues if each.waiting_bytes >= most]:
                queue.cut_slow()

    def settle(self) -> None:
        """Give room back that no queue needs."""
        if self.queued_bytes < self._held.size_bytes:
            self._held.resize(self.queued_bytes)

    def _takes(self, size_bytes: int) -> bool:
        wanted = self.queued_bytes + size_bytes
        if wanted > self._limit_bytes:
            return False
        try:
            self._held.resize(max(wanted, self._held.size_bytes))
        except OverloadedError:
            return False
        return True


class WriteBuffers:
    """What connections hold that were handed more than their listeners take.

    Args:
        memory: The budget they are counted in.
    """

    EACH_BYTES = 96 * 1024

    def __init__(self, memory: MemoryBudget) -> None:
        self._memory = memory
        self._held = HeldMemory(memory, 0)

    def count(self, endings: Sequence[Callable[[], object]]) -> None:
        """Count so many buffers, and end those for which there is no room.

        Args:
            endings: What ends each of them, those first that were stuck for longest.
        """
        free_bytes = max(0, self._memory.limit_bytes - self._memory.held_bytes)
        fitting = (self._held.size_bytes + free_bytes) // self.EACH_BYTES
        for end in endings[: max(0, len(endings) - fitting)]:
            end()
        self._held.resize(min(len(endings), fitting) * self.EACH_BYTES)
