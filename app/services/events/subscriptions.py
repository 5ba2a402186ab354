"""One who listens: what is not taken yet waits in a bounded queue."""

import asyncio
from collections import deque

from app.services.events.batches import EventBatch, EventItem
from app.services.events.queue_memory import QueueRoom
from app.services.events.stream_counts import EndReason

_AT_ONCE_BYTES = 64 * 1024
# What is sent without a turn of its own: to wait for one takes longer than to send it.
_SMALL_BYTES = 16 * 1024


class Subscription:
    """A queue of what was handed out and not taken yet.

    Who falls too far behind is cut off and what waited is dropped: the log still has it.

    Args:
        session_id: Whose events are wanted, `None` for all.
        most_events: How many may wait.
        most_bytes: How many bytes of them may wait.
        room: What all queues of the process have together.
    """

    def __init__(
        self, session_id: str | None, *, most_events: int, most_bytes: int, room: QueueRoom
    ) -> None:
        self.session_id = session_id
        self._room = room
        self._taken: list[EventItem] = []
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._waiting: deque[EventItem] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()
        self.ended_by: EndReason | None = None

    def offer(self, event_batch: EventBatch) -> None:
        """Hand out what is wanted here; never waits."""
        if self.is_cut or not event_batch.items:
            return
        self._room.put(event_batch.items)
        self._waiting.extend(event_batch.items)
        self._bytes += event_batch.size_bytes
        if len(self._waiting) > self._most_events or self._bytes > self._most_bytes:
            self.cut("slow")
        self._changed.set()

    @property
    def is_cut(self) -> bool:
        """Whether nothing comes any more."""
        return self.ended_by is not None

    def cut(self, reason: EndReason) -> None:
        """End the subscription; the first reason stays."""
        self.ended_by = self.ended_by or reason
        waiting, self._waiting = self._waiting, deque()
        self._bytes = 0
        self._room.drop(waiting)
        self._changed.set()

    def cut_slow(self) -> None:
        """End the subscription of a listener that is too far behind."""
        self.cut("slow")

    @property
    def waiting_bytes(self) -> int:
        """How many bytes wait."""
        return self._bytes

    def close(self) -> None:
        """Let go of what was taken last; nothing is taken any more."""
        self.cut("left")
        self._let_go()

    def _let_go(self) -> None:
        taken, self._taken = self._taken, []
        self._room.drop(taken)

    async def take(self) -> list[EventItem]:
        """What waits, as soon as there is something, 64 KiB at once and one event at the least.

        Nothing once the subscription is cut. What is taken counts as held until the next is.
        """
        self._let_go()
        while not self._waiting:
            if self.is_cut:
                return []
            self._changed.clear()
            await self._changed.wait()
        taken: list[EventItem] = []
        size_bytes = 0
        while self._waiting and size_bytes < _AT_ONCE_BYTES:
            taken.append(self._waiting.popleft())
            size_bytes += len(taken[-1].data)
        self._bytes -= size_bytes
        self._taken = taken
        if size_bytes > _SMALL_BYTES:
            await self._room.turns.take()
        return taken
