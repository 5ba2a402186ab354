"""The lag of feeds and of listeners, of which the metrics have the largest."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio
import pytest

from app.models.event import NewEvent
from app.services.concurrency.background import run_beside
from app.services.events.feeds import Feeds
from app.services.events.raw_results import RawResults
from app.services.events.subscriptions import QueueMemory, Subscription
from app.services.memory_budget.budget import MemoryBudget
from app.stores.records.records import Records
from app.telemetry.metrics import Metrics
from tests.kit.units import writing

pytestmark = pytest.mark.anyio
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@asynccontextmanager
async def running(records: Records) -> AsyncIterator[Feeds]:
    feeds = Feeds(
        records, RawResults(is_enabled=False), QueueMemory(MemoryBudget(2**30)), Metrics()
    )
    async with run_beside(feeds.run(), end=feeds.end):
        yield feeds


async def write_events(records: Records, count: int) -> None:
    members = {"version": 1, "modality": "text", "pageType": "artifact"}
    async with writing(records, "p") as unit:
        for number in range(count):
            await unit.add_event(NewEvent("page:created", f"p{number}", _NOW, members=members))


async def test_lag_counts_events_that_are_not_handed_out_and_those_that_wait(
    records: Records,
) -> None:
    async with running(records) as feeds:
        feed = await feeds.enter("p")
        quick, slow = (
            Subscription(None, max_events=100, max_bytes=10**6, memory=feeds.queue_memory)
            for _ in range(2)
        )
        feed.attach(quick)
        feed.attach(slow)
        assert (feeds.measure_lag(), feeds.queue_memory.longest_queue()) == (0, 0)
        # Before there are any, since the feed may read them at once.
        feeds.wake("p", 3)
        assert (feeds.measure_lag(), feeds.queue_memory.longest_queue()) == (3, 0)
        await write_events(records, 3)
        feeds.wake("p", 3)
        with anyio.fail_after(30):
            assert [item.number for item in await quick.take()] == [1, 2, 3]
        assert (feeds.measure_lag(), feeds.queue_memory.longest_queue()) == (0, 3)
        await slow.take()
        assert feeds.queue_memory.longest_queue() == 0
        for item in (quick, slow):
            feed.detach(item)
            item.close()
        feeds.leave(feed, "p")
