"""Queues of events share the budget of memory: what waits for many is counted once."""

import asyncio
from functools import partial

import pytest

from app.models.event import Event
from app.services.events.subscriptions import (
    QueueMemory,
    SendQueue,
    Subscription,
    WriteBuffers,
    make_event_batch,
)
from app.services.memory_budget.budget import MemoryBudget, MemoryReservation

pytestmark = pytest.mark.anyio
KIB = 1024


class Feed:
    """Hands events to listeners, as the feed of a project does."""

    def __init__(self, limit_bytes: int) -> None:
        self.memory = MemoryBudget(limit_bytes)
        self.room = QueueMemory(self.memory)
        self.listeners: list[Subscription] = []
        self._number = 0

    def join(self) -> Subscription:
        listener = Subscription(None, max_events=1_000, max_bytes=2**30, memory=self.room)
        self.room.enter(listener)
        self.listeners.append(listener)
        return listener

    def hand_out(self, size_bytes: int) -> None:
        self._number += 1
        event = Event(self._number, "page:created", "p", "s", self._number, b"x" * size_bytes)
        self.room.make_room(size_bytes)
        for listener in self.listeners:
            listener.offer(make_event_batch([event], None))
        self.room.release_unused()


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "An event that waits for many listeners is in memory once",
    kept_by="app/services/events/subscriptions.py",
    tried="0 bytes left",
)
async def test_what_waits_for_many_is_counted_once_and_given_back_when_the_last_has_it() -> None:
    feed = Feed(400 * KIB)
    first, second = feed.join(), feed.join()
    feed.hand_out(70 * KIB)
    assert feed.memory.held_bytes == 70 * KIB
    await first.take()
    feed.hand_out(10 * KIB)
    await first.take()
    # The second listener has taken neither, the first one has let go of one.
    assert feed.memory.held_bytes == 80 * KIB
    await second.take()
    await second.take()
    assert feed.memory.held_bytes == 10 * KIB
    first.close()
    second.close()
    assert feed.memory.held_bytes == 0


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "When the queues have no room, the listener furthest behind is cut off and no other",
    kept_by="app/services/events/subscriptions.py",
    tried="1 of 2",
)
async def test_furthest_behind_is_cut_where_there_is_no_room_and_others_are_not() -> None:
    feed = Feed(400 * KIB)
    slow, quick = feed.join(), feed.join()
    for _ in range(6):
        feed.hand_out(20 * KIB)
        await quick.take()
    assert (slow.ended_by, quick.ended_by) == ("slow", None)
    assert feed.memory.held_bytes == 20 * KIB


async def test_full_budget_cuts_nobody_who_has_taken_all() -> None:
    feed = Feed(400 * KIB)
    listener = feed.join()
    others = MemoryReservation(feed.memory, 0)
    others.grow(400 * KIB)
    feed.hand_out(20 * KIB)
    assert [len(item.data) for item in await listener.take()] == [20 * KIB]
    listener.close()
    others.release()
    assert (listener.ended_by, feed.memory.held_bytes) == ("left", 0)


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Large events for many listeners are sent over several passes of the event loop",
    kept_by="app/services/events/subscriptions.py",
    tried="32 at a pass",
)
async def test_large_sends_of_many_are_spread_over_passes_of_the_event_loop() -> None:
    turns = SendQueue()
    done: list[int] = []

    async def send(number: int) -> None:
        await turns.take()
        done.append(number)

    sending = [asyncio.create_task(send(number)) for number in range(100)]
    seen = []
    while len(done) < 100:
        await asyncio.sleep(0)
        seen.append(len(done))
    await asyncio.gather(*sending)
    assert done == list(range(100))
    # A few at each pass, and no more than two passes' worth between two looks.
    assert max(later - before for before, later in zip([0, *seen], seen, strict=False)) <= 64


def test_stuck_connections_are_counted_and_the_longest_stuck_end_without_room() -> None:
    memory = MemoryBudget(10 * WriteBuffers.EACH_BYTES)
    buffers = WriteBuffers(memory)
    others = MemoryReservation(memory, 0)
    ended: list[int] = []
    stuck = [partial(ended.append, number) for number in range(6)]
    buffers.count(stuck)
    assert (ended, memory.held_bytes) == ([], 6 * WriteBuffers.EACH_BYTES)
    others.grow(4 * WriteBuffers.EACH_BYTES)
    buffers.count([*stuck, *stuck[:2]])
    assert (ended, memory.held_bytes) == ([0, 1], memory.limit_bytes)
    buffers.count([])
    assert memory.held_bytes == others.size_bytes
