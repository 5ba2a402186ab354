"""Streams of events: opened, watched over, ended.

A stream reads the log itself until it has reached its project's feed, and takes from its queue from
then on. So an event comes once and in order, whenever a listener arrives. A listener is cut off
when its queue is full, when it has not taken anything for half a minute, when its key is revoked,
and when the server stops; it comes again and names the last position it has seen.
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
from app.services.events.stream import EventStream, start_of
from app.services.events.subscriptions import Subscription, WriteBuffers
from app.services.memory_budget.budget import MemoryBudget
from app.stores.records.records import Records
from app.telemetry.service_metrics import StreamMetrics

_log = structlog.get_logger(__name__)
_READERS = 4
_WATCH_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Limits of the streams of a process and of their queues."""

    streams: int
    streams_per_key: int
    queued_events: int
    queued_bytes: int


class EventStreams:
    """The streams of this process."""

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
        self._places_of: Counter[Caller] = Counter()
        self._open: set[EventStream] = set()
        self._places_taken = 0
        # Those who come back all at once wait for each other, and leave the database to the others.
        self._readers = anyio.CapacityLimiter(_READERS)
        self._is_ending = False

    @asynccontextmanager
    async def running(self, broker: EventBroker) -> AsyncIterator[None]:
        """Keep streams woken and watched for the length of the block."""
        async with (
            run_beside(self._feeds.run(), end=self.end),
            run_beside(self._watch()),
            broker.listening(self._feeds),
        ):
            yield

    @asynccontextmanager
    async def opened(
        self, caller: Caller, *, session_id: str | None, after: int | None
    ) -> AsyncIterator[EventStream]:
        """Yield a stream, open for the length of the block.

        Args:
            caller: Who listens; cut off once access is lost.
            session_id: Whose events are wanted, `None` for all of the caller's project.
            after: The position behind which it begins: a `seq` of the session, or a number of the
                project's log. `None` for now.

        Raises:
            StreamLimitError: The caller has as many streams as a key may have.
            OverloadedError: There are as many streams as there may be, or the server stops.
            StoreUnavailableError: The log cannot be read.
        """
        with self._place(caller):
            subscription = Subscription(
                session_id,
                max_events=self._limits.queued_events,
                max_bytes=self._limits.queued_bytes,
                room=self._feeds.room,
            )
            async with self._readers:
                feed = await self._feeds.enter(caller.project_id)
            try:
                async with self._readers:
                    start = await self._records.read_snapshot(
                        caller.project_id, lambda unit: start_of(unit, session_id, after)
                    )
                stream = EventStream(
                    self._records, feed, caller, start, subscription, self._readers
                )
                with self._counted(stream):
                    yield stream
            finally:
                feed.detach(subscription)
                subscription.close()
                self._feeds.leave(feed, caller.project_id)

    @contextmanager
    def _place(self, caller: Caller) -> Iterator[None]:
        if self._is_ending or self._places_taken >= self._limits.streams:
            raise OverloadedError
        if self._places_of[caller] >= self._limits.streams_per_key:
            raise StreamLimitError(self._limits.streams_per_key)
        # Before anything is waited for: those who come at the same moment are counted, too.
        self._places_taken += 1
        self._places_of[caller] += 1
        try:
            yield
        finally:
            self._places_taken -= 1
            self._places_of[caller] -= 1
            if not self._places_of[caller]:
                del self._places_of[caller]

    @contextmanager
    def _counted(self, stream: EventStream) -> Iterator[None]:
        self._open.add(stream)
        if self._is_ending:
            # It has begun to while the place was looked up.
            stream.cut("stopping")
        self._counts.count_stream_opened()
        try:
            yield
        finally:
            self._open.discard(stream)
            self._counts.count_stream_ended(stream.ended_by or "left")

    def end(self) -> None:
        """End all streams and refuse new ones, since the server is stopping."""
        if self._is_ending:
            # Every connection calls this, and each call would go through all streams.
            return
        self._is_ending = True
        for stream in self._open:
            stream.cut("stopping")
        self._feeds.end()

    async def _watch(self) -> None:
        while True:
            await anyio.sleep(_WATCH_SECONDS)
            now = monotonic()
            for stream in [item for item in self._open if item.is_stalled(now)]:
                _end_stalled(stream)
            # Where there is no room for what stuck connections hold, the longest stuck are ended.
            stuck = [(since, item) for item in self._open if (since := item.stuck_since(now))]
            stuck.sort(key=lambda pair: pair[0])
            self._write_buffers.count([partial(_end_stalled, stream) for _, stream in stuck])
            with log_failures(_log, "keys of event streams not checked"):
                await self._cut_revoked_callers()

    async def _cut_revoked_callers(self) -> None:
        if callers := {stream.caller for stream in self._open}:
            out = await self._access.revoked_callers(callers)
            for stream in self._open:
                if stream.caller in out:
                    stream.cut("access-lost")


def _end_stalled(stream: EventStream) -> None:
    """Cut a stream whose listener takes nothing, and its connection with it."""
    stream.cut("stalled")
    if stream.abort is not None:
        stream.abort()
