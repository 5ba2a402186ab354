"""Subscriptions: in order, bounded in number and bytes, and cut off rather than waited for."""

import anyio
import pytest

from app.models.event import EndReason, Event
from app.services.events.subscriptions import (
    EventBatch,
    EventItem,
    QueueMemory,
    Subscription,
    make_event_batch,
    make_event_item,
)
from app.services.memory_budget.budget import MemoryBudget

pytestmark = pytest.mark.anyio
KIB = 1024


def event(number: int, session_id: str | None = "s", *, size: int = 2) -> Event:
    return Event(number, "page:created", "p", session_id, number, b"x" * size)


def event_batch(number: int, *, size: int = 2) -> EventBatch:
    return make_event_batch([event(number, size=size)], None)


def item(number: int) -> EventItem:
    return EventItem(number, number, "page:created", b"xx")


def subscription(*, max_events: int = 100, max_bytes: int = 10**7) -> Subscription:
    room = QueueMemory(MemoryBudget(2**30))
    return Subscription(None, max_events=max_events, max_bytes=max_bytes, memory=room)


async def test_what_waits_is_taken_together_and_in_order() -> None:
    listener = subscription()
    for number in (1, 2, 3):
        listener.offer(event_batch(number))
    assert await listener.take() == [item(1), item(2), item(3)]


async def test_taking_waits_for_what_comes() -> None:
    listener = subscription()
    taken: list[list[EventItem]] = []

    async def take() -> None:
        taken.append(await listener.take())

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(take)
            await anyio.wait_all_tasks_blocked()
            assert taken == []
            listener.offer(event_batch(1))
    assert taken == [[item(1)]]


def test_handout_of_a_session_holds_its_events_in_order_with_their_places_in_it() -> None:
    events = [
        Event(number, "page:created", "p", session_id, seq, b"x" * number)
        for number, session_id, seq in [(1, "t", 7), (2, "s", 5), (3, None, None), (4, "s", 6)]
    ]
    assert make_event_batch(events, "s") == EventBatch(
        [EventItem(2, 5, "page:created", b"xx"), EventItem(4, 6, "page:created", b"xxxx")], 6
    )
    assert make_event_batch(events, "S") == EventBatch([], 0)
    assert make_event_batch(events, None) == EventBatch(
        [make_event_item(value, None) for value in events], 10
    )
    assert [value.position for value in make_event_batch(events, None).items] == [1, 2, 3, 4]


async def test_nothing_handed_out_wakes_nobody() -> None:
    listener = subscription()
    listener.offer(EventBatch([], 0))
    listener.offer(event_batch(1))
    assert await listener.take() == [item(1)]


async def test_much_is_taken_piece_by_piece_and_the_largest_by_itself() -> None:
    listener = subscription()
    sizes = [50 * KIB, 13 * KIB, KIB, 1, 900 * KIB, 1]
    for number, size in enumerate(sizes):
        listener.offer(event_batch(number, size=size))
    taken = [await listener.take() for _ in range(3)]
    assert [[value.number for value in batch] for batch in taken] == [[0, 1, 2], [3, 4], [5]]


@pytest.mark.parametrize(
    ("max_events", "max_bytes", "kept"), [(3, 1_000, 3), (100, 30, 3), (100, 9, 0)]
)
async def test_slow_one_is_cut_off_and_what_waited_is_dropped(
    max_events: int, max_bytes: int, kept: int
) -> None:
    listener = subscription(max_events=max_events, max_bytes=max_bytes)
    for number in range(kept):
        listener.offer(event_batch(number, size=10))
        assert not listener.is_cut
    listener.offer(event_batch(kept, size=10))
    assert (listener.ended_by, await listener.take()) == ("slow", [])
    listener.offer(event_batch(9))
    assert await listener.take() == []


async def test_what_was_taken_waits_no_more() -> None:
    listener = subscription(max_events=2, max_bytes=20)
    for number in range(0, 20, 2):
        listener.offer(event_batch(number, size=10))
        listener.offer(event_batch(number + 1, size=10))
        assert len(await listener.take()) == 2
    assert not listener.is_cut


@pytest.mark.parametrize("reason", ["stalled", "access-lost", "stopping"])
async def test_who_waits_is_woken_when_cut_off(reason: EndReason) -> None:
    listener = subscription()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(listener.take)
            await anyio.wait_all_tasks_blocked()
            listener.cut(reason)
    listener.cut("slow")
    assert (listener.is_cut, listener.ended_by) == (True, reason)
