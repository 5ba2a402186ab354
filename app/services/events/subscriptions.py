"""The queues of events for listeners, and the limits of their memory.

Each listener has a bounded queue of the events that are not delivered yet. An event in the queues
of a thousand listeners is in memory only once, and is counted once. If there is no memory for the
next event, the listeners with the longest queues are disconnected. They reconnect, and read the
log.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from app.errors import OverloadedError
from app.models.event import EndReason, Event
from app.services.memory_budget.budget import MemoryBudget, MemoryReservation

# All queues together may use a quarter of the memory budget.
_BUDGET_DIVISOR = 4
_TURNS_PER_PASS = 32
# The size after which a batch for a listener ends.
_BATCH_BYTES = 64 * 1024
# The size up to which a batch is sent without waiting for a turn, which would take longer.
_SMALL_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class EventItem:
    """An event as it is sent to a listener."""

    number: int
    """The number of the event in the log of its project."""
    position: int
    """The position after which the listener can continue; see `StreamStart.position`."""
    type: str
    """The type of the event. After a `reset`, the listener has to load its data again."""
    data: bytes
    """The event as JSON."""


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events that are delivered together."""

    items: Sequence[EventItem]
    """The events in order."""
    size_bytes: int
    """The size of the data of all events."""


def make_event_item(event: Event, session_id: str | None) -> EventItem:
    """Return an event with the position that listeners expect.

    Args:
        event: The event.
        session_id: The session of the listeners; `None` if they receive all events of the project.
    """
    position = event.number if session_id is None or event.seq is None else event.seq
    return EventItem(event.number, position, event.type, event.data)


def make_event_batch(events: Sequence[Event], session_id: str | None) -> EventBatch:
    """Return the events that listeners receive.

    Args:
        events: New events of the project.
        session_id: The session of the listeners; `None` if they receive all events of the project.
    """
    selected = [event for event in events if session_id in (None, event.session_id)]
    return EventBatch(
        [make_event_item(event, session_id) for event in selected],
        sum(len(event.data) for event in selected),
    )


class SendQueue:
    """Lets 32 callers continue in each pass of the event loop, in the order of their calls.

    Without this limit, a large event would be sent to a thousand listeners in one pass, and all
    other tasks would have to wait.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._remaining_turns = _TURNS_PER_PASS
        self._is_scheduled = False

    async def take(self) -> None:
        """Wait until the caller may send its batch."""
        self._schedule_pass()
        if self._remaining_turns and not self._waiting:
            self._remaining_turns -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _schedule_pass(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._begin_pass)

    def _begin_pass(self) -> None:
        self._is_scheduled = False
        self._remaining_turns = _TURNS_PER_PASS
        while self._waiting and self._remaining_turns:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._remaining_turns -= 1
        if self._remaining_turns < _TURNS_PER_PASS:
            self._schedule_pass()


class QueueMemory:
    """The memory of the events in all queues: at most a quarter of the memory budget.

    Args:
        memory: The memory budget of the process.
    """

    def __init__(self, memory: MemoryBudget) -> None:
        self._reserved = MemoryReservation(memory, 0)
        self._limit_bytes = memory.limit_bytes // _BUDGET_DIVISOR
        # The number of queues that have the data of an event, by the `id` of the bytes.
        self._queue_counts: dict[int, int] = {}
        self._queues: set[Subscription] = set()
        self.turns = SendQueue()
        self.queued_bytes = 0
        """The size of all events in queues, each counted once."""

    def enter(self, queue: "Subscription") -> None:
        """Add a queue. Its listener may then be disconnected to free memory."""
        self._queues.add(queue)

    def leave(self, queue: "Subscription") -> None:
        """Remove a queue."""
        self._queues.discard(queue)

    def longest_queue(self) -> int:
        """Return the number of events in the longest queue."""
        return max((queue.waiting for queue in self._queues), default=0)

    def put(self, items: Iterable[EventItem]) -> None:
        """Count events that are added to a queue."""
        counts = self._queue_counts
        for item in items:
            key = id(item.data)
            if key in counts:
                counts[key] += 1
            else:
                counts[key] = 1
                self.queued_bytes += len(item.data)

    def drop(self, items: Iterable[EventItem]) -> None:
        """Subtract events that are removed from a queue."""
        # This has to be fast: a thousand queues of a thousand events may be dropped at once.
        counts = self._queue_counts
        for item in items:
            key = id(item.data)
            count = counts[key] - 1
            if count:
                counts[key] = count
            else:
                del counts[key]
                self.queued_bytes -= len(item.data)
        self.release_unused()

    def make_room(self, size_bytes: int) -> None:
        """Reserve memory for events before they are put into queues.

        The listeners with the longest queues are disconnected until the events fit. If all queues
        are empty, the events are queued without a reservation.

        Args:
            size_bytes: The size of the events.
        """
        while not self._try_reserve(size_bytes):
            max_bytes = max((queue.waiting_bytes for queue in self._queues), default=0)
            if not max_bytes:
                return
            for queue in [item for item in self._queues if item.waiting_bytes >= max_bytes]:
                queue.cut("slow")

    def release_unused(self) -> None:
        """Release memory that no queue needs."""
        if self.queued_bytes < self._reserved.size_bytes:
            self._reserved.resize(self.queued_bytes)

    def _try_reserve(self, size_bytes: int) -> bool:
        """Reserve memory for additional events; return False if it is not free."""
        total = self.queued_bytes + size_bytes
        if total > self._limit_bytes:
            return False
        try:
            self._reserved.resize(max(total, self._reserved.size_bytes))
        except OverloadedError:
            return False
        return True


class WriteBuffers:
    """The memory of the buffers of connections that are not read fast enough.

    Args:
        memory: The memory budget of the process.
    """

    EACH_BYTES = 96 * 1024
    """The memory that is reserved for the buffer of one connection."""

    def __init__(self, memory: MemoryBudget) -> None:
        self._memory = memory
        self._reserved = MemoryReservation(memory, 0)

    def count(self, endings: Sequence[Callable[[], object]]) -> None:
        """Reserve memory for the buffers of all stuck connections.

        If there is too little memory for all of them, the first connections are ended.

        Args:
            endings: For each stuck connection, a function that ends it. The connection that has
                been stuck for the longest time is first.
        """
        free_bytes = max(0, self._memory.limit_bytes - self._memory.held_bytes)
        max_buffers = (self._reserved.size_bytes + free_bytes) // self.EACH_BYTES
        for end in endings[: max(0, len(endings) - max_buffers)]:
            end()
        self._reserved.resize(min(len(endings), max_buffers) * self.EACH_BYTES)


class Subscription:
    """The queue of a listener, with the events that are not delivered yet.

    If the queue gets too long, it is emptied, and the listener is disconnected. The events stay in
    the log.

    Args:
        session_id: The session of the events; `None` for all events of the project.
        max_events: The maximum number of events in the queue.
        max_bytes: The maximum size of the data of these events.
        memory: The memory of all queues of the process.
    """

    def __init__(
        self, session_id: str | None, *, max_events: int, max_bytes: int, memory: QueueMemory
    ) -> None:
        self.session_id = session_id
        self._memory = memory
        self._delivered: list[EventItem] = []
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._waiting: deque[EventItem] = deque()
        self.waiting_bytes = 0
        self._changed = asyncio.Event()
        self.ended_by: EndReason | None = None

    def offer(self, event_batch: EventBatch) -> None:
        """Queue the events of a batch. Does not wait."""
        if self.is_cut or not event_batch.items:
            return
        self._memory.put(event_batch.items)
        self._waiting.extend(event_batch.items)
        self.waiting_bytes += event_batch.size_bytes
        if len(self._waiting) > self._max_events or self.waiting_bytes > self._max_bytes:
            self.cut("slow")
        self._changed.set()

    @property
    def waiting(self) -> int:
        """The number of events in the queue."""
        return len(self._waiting)

    @property
    def is_cut(self) -> bool:
        """True if the subscription has ended."""
        return self.ended_by is not None

    def cut(self, reason: EndReason) -> None:
        """End the subscription, and drop its queue. A second call does not change the reason."""
        self.ended_by = self.ended_by or reason
        waiting, self._waiting = self._waiting, deque()
        self.waiting_bytes = 0
        self._memory.drop(waiting)
        self._changed.set()

    def close(self) -> None:
        """End the subscription, and release the memory of the last batch."""
        self.cut("left")
        self._release_batch()

    def _release_batch(self) -> None:
        delivered, self._delivered = self._delivered, []
        self._memory.drop(delivered)

    async def take(self) -> list[EventItem]:
        """Wait for events, and return those of about 64 KiB, at least one.

        The next call releases the memory of the returned events.

        Returns:
            The events; an empty list if the subscription has ended.
        """
        self._release_batch()
        while not self._waiting:
            if self.is_cut:
                return []
            self._changed.clear()
            await self._changed.wait()
        batch: list[EventItem] = []
        size_bytes = 0
        while self._waiting and size_bytes < _BATCH_BYTES:
            batch.append(self._waiting.popleft())
            size_bytes += len(batch[-1].data)
        self.waiting_bytes -= size_bytes
        self._delivered = batch
        if size_bytes > _SMALL_BYTES:
            await self._memory.turns.take()
        return batch
