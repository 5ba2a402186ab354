"""Feeds: each reads the log of events of one project, for all listeners of this process.

When a feed is woken, it reads the events after its position, puts them into the queues of all
listeners, and then sets its position. There is no `await` between the last two steps. So a stream
that has read the log up to the position of the feed can join the feed without missing an event.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

import anyio
import anyio.lowlevel
import structlog

from app.models.event import Event, LoggedEvent
from app.services.concurrency.background import log_failures
from app.services.events.raw_results import RawResults
from app.services.events.subscriptions import (
    EventBatch,
    QueueMemory,
    Subscription,
    make_event_batch,
)
from app.stores.records.events import EventRecords
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from app.telemetry.service_metrics import StreamMetrics
from app.wire.events import add_raw_result, encode_event

_log = structlog.get_logger(__name__)
# The limits of one read of the log.
_READ_EVENTS = 200
_READ_BYTES = 1024 * 1024
_RETRY_SECONDS = 1.0
_MAX_PAUSE_SECONDS = 0.25


class ProjectFeed:
    """Distributes the events of one project to the listeners of this process.

    Args:
        records: Reads the log.
        project_id: The project.
        raw_results: The raw results to add to events.
        queue_memory: The memory of all queues of the process.
        metrics: Measures the delay of events.
    """

    def __init__(
        self,
        records: Records,
        project_id: str,
        raw_results: RawResults,
        queue_memory: QueueMemory,
        metrics: StreamMetrics,
    ) -> None:
        self._records = records
        self._metrics = metrics
        self._queue_memory = queue_memory
        self._project_id = project_id
        self._raw_results = raw_results
        self._subscriptions: set[Subscription] = set()
        self._woken = asyncio.Event()
        self._is_over = False
        self.position = 0
        """The number of the last event that was distributed."""
        self.newest = 0
        """The largest number of an event of which the feed knows."""
        self.is_begun = False
        """True if `position` is set and `run` was started."""
        self.users = 0
        """The number of streams that use the feed."""

    def wake(self, number: int | None) -> None:
        """Schedule a read of the log, unless an event was distributed already.

        Args:
            number: The number of the event; `None` if it is unknown.
        """
        if number is None or number > self.position:
            self.newest = max(self.newest, number or 0)
            self._woken.set()

    def attach(self, subscription: Subscription) -> None:
        """Deliver events after `position` to a subscription from now on."""
        self._subscriptions.add(subscription)
        self._queue_memory.enter(subscription)

    def detach(self, subscription: Subscription) -> None:
        """Stop delivering events to a subscription."""
        self._subscriptions.discard(subscription)
        self._queue_memory.leave(subscription)

    def end(self) -> None:
        """Make `run` return."""
        self._is_over = True
        self._woken.set()

    async def run(self) -> None:
        """Read and distribute events until the feed ends."""
        while not self._is_over:
            # After an error, the read is repeated, so that the streams go on.
            with log_failures(_log, "events not read"):
                while not self._is_over and await self._read():
                    await self._pause_after_delivery()
                await self._woken.wait()
                self._woken.clear()
                continue
            await self._wait_to_retry()

    async def _pause_after_delivery(self) -> None:
        """Pause for twice the time that the listeners needed to send the last events.

        Events that are written during the pause are distributed together. Without a pause, a
        thousand listeners would be served for each event, and each write would wait for them.
        """
        started_at = monotonic()
        # This returns after all listeners with new events have run.
        await anyio.lowlevel.checkpoint()
        await anyio.sleep(min(2 * (monotonic() - started_at), _MAX_PAUSE_SECONDS))

    async def _wait_to_retry(self) -> None:
        """Wait for a second, or until the feed ends."""
        with anyio.move_on_after(_RETRY_SECONDS):
            while not self._is_over:
                await self._woken.wait()
                self._woken.clear()

    async def _read(self) -> bool:
        """Read the log and distribute new events. Return False if there were none."""
        logged, removed = await self._records.read(self._project_id, self._read_log)
        if self.position < removed:
            # Events were removed before they were read. The listeners reconnect, and get a reset.
            for subscription in self._subscriptions:
                subscription.cut("slow")
        if logged:
            self._distribute([self._add_raw_result(encode_event(item)) for item in logged])
            self._metrics.observe_event_delays(item.created_at for item in logged)
            self.position = logged[-1].number
            self.newest = max(self.newest, self.position)
        return bool(logged)

    def _read_log(self, unit: UnitOfWork) -> tuple[Sequence[LoggedEvent], int]:
        """Return new events, and the number up to which events were removed from the log.

        The number is 0 if no event after `position` was removed.
        """
        logged = unit[EventRecords].list_after(
            self.position, limit=_READ_EVENTS, max_bytes=_READ_BYTES
        )
        is_gap = bool(logged) and logged[0].number > self.position + 1
        return logged, unit[EventRecords].read_bounds().removed if is_gap else 0

    def _add_raw_result(self, event: Event) -> Event:
        raw = self._raw_results.take(event.subject_id)
        return event if raw is None else replace(event, data=add_raw_result(event.data, raw))

    def _distribute(self, events: Sequence[Event]) -> None:
        """Put events into the queues of all listeners."""
        # The listeners of a session share a batch, since there may be a thousand of them.
        batches: dict[str | None, EventBatch] = {}
        self._queue_memory.make_room(sum(len(event.data) for event in events))
        for subscription in self._subscriptions:
            session_id = subscription.session_id
            if session_id not in batches:
                batches[session_id] = make_event_batch(events, session_id)
            subscription.offer(batches[session_id])
        self._queue_memory.release_unused()


class Feeds:
    """The feeds of a process, one for each project with listeners. Implements `broker.Listener`.

    Args:
        records: Reads the logs.
        raw_results: The raw results to add to events.
        queue_memory: The memory of all queues of the process.
        metrics: Measures the delay of events.
    """

    def __init__(
        self,
        records: Records,
        raw_results: RawResults,
        queue_memory: QueueMemory,
        metrics: StreamMetrics,
    ) -> None:
        self._records = records
        self._metrics = metrics
        self.queue_memory = queue_memory
        self._raw_results = raw_results
        self._feeds: dict[str, ProjectFeed] = {}
        self._group = anyio.create_task_group()
        self._is_running = asyncio.Event()
        self._is_over = asyncio.Event()
        self._is_check_due = asyncio.Event()
        metrics.watch_lag(self.measure_lag, queue_memory.longest_queue)
        raw_results.has_listeners = self._feeds.__contains__

    @property
    def has_streams(self) -> bool:
        """True if at least one stream of events is open in this process."""
        return bool(self._feeds)

    def measure_lag(self) -> int:
        """Return the number of events that the slowest feed has not distributed yet."""
        begun = (feed for feed in self._feeds.values() if feed.is_begun)
        return max((feed.newest - feed.position for feed in begun), default=0)

    def wake(self, project_id: str | None, number: int | None) -> None:
        """Wake the feed of a project; see `broker.Listener.wake`."""
        if project_id is None:
            self._is_check_due.set()
        elif project_id in self._feeds:
            self._feeds[project_id].wake(number)

    async def run(self) -> None:
        """Run feeds until `end` is called, and wait until all feeds have ended."""
        async with self._group:
            self._is_running.set()
            self._group.start_soon(self._check)
            await self._is_over.wait()

    def end(self) -> None:
        """End all feeds, and start no new ones."""
        self._is_over.set()
        self._is_check_due.set()
        for feed in self._feeds.values():
            feed.end()

    async def _check(self) -> None:
        """Each time that a check of all projects is due, wake the feeds with new events."""
        while True:
            await self._is_check_due.wait()
            if self._is_over.is_set():
                return
            self._is_check_due.clear()
            with log_failures(_log, "new events not looked for"):
                await self._wake_feeds_behind()
                continue
            with anyio.move_on_after(_RETRY_SECONDS):
                await self._is_over.wait()
            self._is_check_due.set()

    async def _wake_feeds_behind(self) -> None:
        """Read the newest numbers of all projects in one query, and wake the feeds behind them."""
        project_ids = [*self._feeds]
        newest = await self._records.read_projects(
            lambda projects: projects.newest_events(project_ids)
        )
        for project_id, number in newest.items():
            self.wake(project_id, number)

    async def enter(self, project_id: str) -> ProjectFeed:
        """Return the feed of a project, and start it if necessary. The caller has to call `leave`.

        Raises:
            StoreUnavailableError: The log cannot be read.
        """
        await self._is_running.wait()
        feed = self._feeds.get(project_id)
        if feed is None:
            feed = self._feeds[project_id] = ProjectFeed(
                self._records, project_id, self._raw_results, self.queue_memory, self._metrics
            )
        feed.users += 1
        if feed.is_begun:
            return feed
        try:
            newest = await self._records.read(
                project_id, lambda unit: unit[EventRecords].read_bounds().last
            )
        except BaseException:
            self.leave(feed, project_id)
            raise
        # Another stream may have started the feed during the read.
        if not feed.is_begun and not self._is_over.is_set():
            feed.position = feed.newest = newest
            feed.is_begun = True
            # `run` begins with a read, for events that were written before the position was set.
            self._group.start_soon(feed.run)
        return feed

    def leave(self, feed: ProjectFeed, project_id: str) -> None:
        """Stop using a feed. The feed ends after the last user has left."""
        feed.users -= 1
        if not feed.users:
            del self._feeds[project_id]
            # The task is not cancelled, because it may be returning a connection to the pool.
            feed.end()
