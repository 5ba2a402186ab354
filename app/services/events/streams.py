"""Opens, counts and ends the streams of events of this process.

A stream (`stream.py`) reads the log up to the position of the feed of its project, and then reads
its queue, into which the feed puts new events. So a listener receives each event once and in order.
A stream is ended if its queue is full, if its listener has read nothing for 30 seconds, if its key
is revoked, or if the server stops. The listener then reconnects with the last position that it has
received.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic

import anyio
import structlog

from app.errors import OverloadedError, StreamLimitError
from app.services.access.callers import Access, Caller
from app.services.concurrency.background import log_failures, run_beside
from app.services.events.broker import EventBroker
from app.services.events.feeds import Feeds
from app.services.events.stream import EventStream, find_start
from app.services.events.subscriptions import Subscription, WriteBuffers
from app.services.memory_budget.budget import MemoryBudget
from app.stores.records.records import Records
from app.telemetry.service_metrics import StreamMetrics

_log = structlog.get_logger(__name__)
_MAX_LOG_READERS = 4
# The time between two checks of all streams.
_CHECK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Limits of the streams of a process and of their queues."""

    streams: int
    streams_per_key: int
    queued_events: int
    queued_bytes: int


class EventStreams:
    """The streams of this process.

    Args:
        records: Reads the log.
        access: Finds revoked keys.
        feeds: The feeds of the projects.
        limits: The limits of the streams.
        counts: Counts streams for the metrics.
        memory: The budget for the buffers of connections that are not read.
    """

    def __init__(
        self,
        records: Records,
        access: Access,
        feeds: Feeds,
        *,
        limits: StreamLimits,
        counts: StreamMetrics,
        memory: MemoryBudget,
    ) -> None:
        self._counts = counts
        self._records = records
        self._access = access
        self._feeds = feeds
        self._limits = limits
        self._write_buffers = WriteBuffers(memory)
        self._counts_by_caller: Counter[Caller] = Counter()
        self._open: set[EventStream] = set()
        # Higher than the length of `_open` while streams are being opened.
        self._stream_count = 0
        # Limits the database connections of listeners that reconnect at the same time.
        self._readers = anyio.CapacityLimiter(_MAX_LOG_READERS)
        self._is_ending = False

    @asynccontextmanager
    async def lifespan(self, broker: EventBroker) -> AsyncIterator[None]:
        """Run the feeds, and check the streams, during the block.

        Args:
            broker: Wakes the feeds after events were written.
        """
        async with (
            run_beside(self._feeds.run(), end=self.end),
            run_beside(self._check_regularly()),
            broker.listening(self._feeds),
        ):
            yield

    @asynccontextmanager
    async def open(
        self, caller: Caller, *, session_id: str | None, after: int | None
    ) -> AsyncIterator[EventStream]:
        """Open a stream during the block.

        Args:
            caller: The listener. If it loses access, the stream is ended.
            session_id: The session of the events; `None` for all events of the project.
            after: The position before the first event: a `seq` of the session, or a number in the
                log of the project. `None` for new events only.

        Raises:
            StreamLimitError: The caller has the maximum number of streams of a key.
            OverloadedError: The process has the maximum number of streams, or the server stops.
            StoreUnavailableError: The log cannot be read.
        """
        with self._count_against_limits(caller):
            subscription = Subscription(
                session_id,
                max_events=self._limits.queued_events,
                max_bytes=self._limits.queued_bytes,
                memory=self._feeds.queue_memory,
            )
            async with self._readers:
                feed = await self._feeds.enter(caller.project_id)
            try:
                async with self._readers:
                    start = await self._records.read_snapshot(
                        caller.project_id, lambda unit: find_start(unit, session_id, after)
                    )
                stream = EventStream(
                    self._records, feed, caller, start, subscription, self._readers
                )
                with self._track(stream):
                    yield stream
            finally:
                feed.detach(subscription)
                subscription.close()
                self._feeds.leave(feed, caller.project_id)

    @contextmanager
    def _count_against_limits(self, caller: Caller) -> Iterator[None]:
        """Count a stream during the block; see `open` for the errors."""
        if self._is_ending or self._stream_count >= self._limits.streams:
            raise OverloadedError
        if self._counts_by_caller[caller] >= self._limits.streams_per_key:
            raise StreamLimitError(self._limits.streams_per_key)
        # There is no `await` between the checks and these lines, so no limit can be exceeded.
        self._stream_count += 1
        self._counts_by_caller[caller] += 1
        try:
            yield
        finally:
            self._stream_count -= 1
            self._counts_by_caller[caller] -= 1
            if not self._counts_by_caller[caller]:
                del self._counts_by_caller[caller]

    @contextmanager
    def _track(self, stream: EventStream) -> Iterator[None]:
        """Include a stream in the checks and the metrics during the block."""
        self._open.add(stream)
        if self._is_ending:
            # The server has begun to stop while `open` was reading the log.
            stream.cut("stopping")
        self._counts.count_stream_opened()
        try:
            yield
        finally:
            self._open.discard(stream)
            self._counts.count_stream_ended(stream.ended_by or "left")

    def end(self) -> None:
        """End all streams, and refuse new ones, because the server is stopping."""
        if self._is_ending:
            # uvicorn calls this for every connection, but one pass over all streams is enough.
            return
        self._is_ending = True
        for stream in self._open:
            stream.cut("stopping")
        self._feeds.end()

    async def _check_regularly(self) -> None:
        """End stalled streams and those with revoked keys, again and again until cancelled."""
        while True:
            await anyio.sleep(_CHECK_SECONDS)
            now = monotonic()
            for stream in [item for item in self._open if item.is_stalled(now)]:
                _end_stalled(stream)
            # If the buffers of stuck connections need too much memory, the connections that have
            # been stuck for the longest time are ended.
            stuck = [(since, item) for item in self._open if (since := item.stuck_since(now))]
            stuck.sort(key=lambda pair: pair[0])
            self._write_buffers.count([partial(_end_stalled, stream) for _, stream in stuck])
            with log_failures(_log, "keys of event streams not checked"):
                await self._end_revoked()

    async def _end_revoked(self) -> None:
        """End the streams whose keys were revoked."""
        if callers := {stream.caller for stream in self._open}:
            revoked = await self._access.revoked_callers(callers)
            for stream in self._open:
                if stream.caller in revoked:
                    stream.cut("access-lost")


def _end_stalled(stream: EventStream) -> None:
    """End a stream whose listener reads nothing, and end its connection."""
    stream.cut("stalled")
    if stream.abort is not None:
        stream.abort()
