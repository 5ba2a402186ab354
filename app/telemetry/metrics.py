"""The service's metrics, as Prometheus reads them."""

import asyncio
import os
import time
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Literal, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    ProcessCollector,
    generate_latest,
    multiprocess,
)

from app.models.event import EndReason
from app.models.identity import utc_now
from app.models.resource_descriptor import FaultKind
from app.stores.records.database import PoolUse
from app.telemetry.frontier_metrics import MoveResult
from app.telemetry.worker_processes import WorkerProcesses

# Finished requests are collected, and counted together when there are this many.
_MAX_UNCOUNTED = 1_000
# A worker process sets its gauges at this interval, because other workers report them.
_REFRESH_SECONDS = 5.0
STAGES = ("normalization", "persistence", "packaging", "commit")


class Metrics:
    """The service's metrics, in a separate registry. `labels` has the labels of each metric."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.labels: dict[str, tuple[str, ...]] = {}
        # Functions that set gauges when the metrics are read.
        self._watches: list[Callable[[], None]] = []
        # Finished requests that are not counted yet.
        self._uncounted: list[tuple[str, str, int, float | None]] = []
        self._has_several_workers = "PROMETHEUS_MULTIPROC_DIR" in os.environ
        self._add_requests()
        self._add_streams()
        self._add_stores()
        ProcessCollector(registry=self._registry)

    def _add_requests(self) -> None:
        self._requests = self._counter(
            "requests", "Requests answered.", "method", "route", "status"
        )
        self._latency = self._histogram(
            "request",
            "Time from the first byte of a request to the last of its response, without streams.",
            "method",
            "route",
        )
        self._bytes_in = self._counter("ingested_bytes", "Bytes of the bodies of tool results.")
        self._bytes_saved = self._counter(
            "saved_bytes", "Bytes by which records are smaller than the bodies of tool results."
        )
        self._stages = self._histogram("stage", "Time of a stage of ingest.", "stage")
        self._memory_held = self._gauge(
            "memory_held_bytes",
            "Memory of the budget reserved for bodies, responses, images and queued events.",
        )
        self._memory_refusals = self._counter(
            "memory_refusals",
            "Requests that were refused because the budget had too little free memory.",
        )
        self._moves = self._counter(
            "frontier_moves", "Attempts to move a named frontier, by their result.", "result"
        )
        self._timed = {name: self._stages.labels(name) for name in STAGES}
        for result in get_args(MoveResult):
            self._moves.labels(result)

    def _add_streams(self) -> None:
        self._streams = self._gauge("event_streams", "Open event streams.")
        self._streams_ended = self._counter(
            "event_streams_ended", "Event streams that have ended, by the reason.", "reason"
        )
        self._event_delay = self._histogram(
            "event_delay",
            "Time from the creation of an event to its delivery to the streams of a process.",
        )
        self._feed_lag = self._gauge(
            "event_feed_lag_events",
            "Events that the process was notified of and has not read from the log, of the feed "
            "that is furthest behind.",
            mode="livemax",
        )
        self._listener_lag = self._gauge(
            "event_listener_lag_events",
            "Events that wait in the queue of the listener that is furthest behind.",
            mode="livemax",
        )
        self._notifications_missing = self._gauge(
            "event_notifications_missing",
            "1 if notifications of other processes do not arrive, so that their events are up to a "
            "second late, else 0.",
            mode="livemax",
        )
        for reason in get_args(EndReason):
            self._streams_ended.labels(reason)

    def _add_stores(self) -> None:
        self._connections = self._gauge(
            "database_connections", "Connections to the database.", "pool", "state"
        )
        self._max_connections = self._gauge(
            "database_connections_max", "Connections that a pool may open.", "pool"
        )
        self._waiting = self._gauge(
            "database_waiting", "Callers that wait for a connection of a pool.", "pool"
        )
        self._backlog = self._gauge(
            "search_backlog_entries", "Entries that wait for the search index.", mode="livemax"
        )
        self._backlog_age = self._gauge(
            "search_backlog_age_seconds",
            "Time that the oldest entry which waits for the search index has waited.",
            mode="livemax",
        )
        self._scrubbed_blobs = self._counter(
            "scrubbed_blobs", "Stored files that the scrub has read."
        )
        self._scrubbed_bytes = self._counter("scrubbed_bytes", "Bytes that the scrub has read.")
        self._scrub_faults = self._counter(
            "scrub_faults", "Stored files that are damaged or missing, as the scrub found.", "kind"
        )
        for kind in get_args(FaultKind):
            self._scrub_faults.labels(kind)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        self.labels[f"pagefault_{name}"] = labels
        return Counter(f"pagefault_{name}", about, labels, registry=self._registry)

    def _gauge(
        self,
        name: str,
        about: str,
        *labels: str,
        mode: Literal["livesum", "livemax"] = "livesum",
    ) -> Gauge:
        """Return a gauge, of which several workers report the sum or the maximum."""
        self.labels[f"pagefault_{name}"] = labels
        return Gauge(
            f"pagefault_{name}", about, labels, registry=self._registry, multiprocess_mode=mode
        )

    def _histogram(self, name: str, about: str, *labels: str) -> Histogram:
        self.labels[f"pagefault_{name}_seconds"] = labels
        return Histogram(f"pagefault_{name}_seconds", about, labels, registry=self._registry)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure the block as one run of a stage of ingest."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._timed[name].observe(time.perf_counter() - started)

    def count_saved(self, *, bytes_in: int, bytes_kept: int) -> None:
        """Count the bytes of a request body, and the bytes by which its record is smaller."""
        self._bytes_in.inc(bytes_in)
        self._bytes_saved.inc(max(0, bytes_in - bytes_kept))

    def count_memory_refusal(self) -> None:
        """Count a request that was refused because there was not enough memory."""
        self._memory_refusals.inc()

    def count_stream_opened(self) -> None:
        """Count a stream that was opened."""
        self._streams.inc()

    def count_stream_ended(self, reason: EndReason) -> None:
        """Count a stream that has ended."""
        self._streams.dec()
        self._streams_ended.labels(reason).inc()

    def observe_event_delays(self, created_at: Iterable[datetime]) -> None:
        """Count delivered events, by the time since their creation.

        Negative times count as 0, because clocks of processes may differ.
        """
        now = utc_now()
        for event_time in created_at:
            self._event_delay.observe(max(0.0, (now - event_time).total_seconds()))

    def count_scrubbed(self, size_bytes: int) -> None:
        """Count a stored file that was read through, and its bytes."""
        self._scrubbed_blobs.inc()
        self._scrubbed_bytes.inc(size_bytes)

    def count_scrub_fault(self, kind: FaultKind) -> None:
        """Count a stored file that is damaged or missing."""
        self._scrub_faults.labels(kind).inc()

    def set_search_backlog(self, entries: int, age_seconds: float) -> None:
        """Set the length of the queue of the search index, and the age of its oldest entry."""
        self._backlog.set(entries)
        self._backlog_age.set(age_seconds)

    def observe_request(self, method: str, route: str, status: int, seconds: float | None) -> None:
        """Count one finished request by the template of its route, not by its path.

        `seconds` is `None` for a stream, whose duration depends on the client.
        """
        self._uncounted.append((method, route, status, seconds))
        # Counting many together is much faster. With several processes, others may read the counts.
        if self._has_several_workers or len(self._uncounted) >= _MAX_UNCOUNTED:
            self._count()

    def _count(self) -> None:
        uncounted, self._uncounted = self._uncounted, []
        requests = Counts((method, route, status) for method, route, status, _ in uncounted)
        for (method, route, status), count in requests.items():
            self._requests.labels(method, route, str(status)).inc(count)
        durations: dict[tuple[str, str], list[float]] = {}
        for method, route, _, seconds in uncounted:
            if seconds is not None:
                durations.setdefault((method, route), []).append(seconds)
        for labels, latencies in durations.items():
            histogram = self._latency.labels(*labels)
            for seconds in latencies:
                histogram.observe(seconds)

    def count_move(self, result: MoveResult) -> None:
        """Count an attempt to move a frontier."""
        self._moves.labels(result).inc()

    def watch_memory(self, held_bytes: Callable[[], int]) -> None:
        """Read the reserved bytes whenever the metrics are read."""
        self._watches.append(lambda: self._memory_held.set(held_bytes()))

    def watch_connections(self, read_pools: Callable[[], Iterable[PoolUse]]) -> None:
        """Read the use of the pools of connections whenever the metrics are read."""

        def set_gauges() -> None:
            for pool in read_pools():
                self._connections.labels(pool.name, "used").set(pool.used)
                self._connections.labels(pool.name, "idle").set(pool.idle)
                self._max_connections.labels(pool.name).set(pool.size)
                self._waiting.labels(pool.name).set(pool.waiting)

        self._watches.append(set_gauges)

    def watch_lag(self, feed_lag: Callable[[], int], listener_lag: Callable[[], int]) -> None:
        """Read how many events feeds and listeners are behind whenever the metrics are read."""
        self._watches.append(lambda: self._feed_lag.set(feed_lag()))
        self._watches.append(lambda: self._listener_lag.set(listener_lag()))

    def watch_notifications(self, are_missing: Callable[[], bool]) -> None:
        """Read whether notifications are missing whenever the metrics are read."""
        self._watches.append(lambda: self._notifications_missing.set(are_missing()))

    async def keep_fresh(self) -> None:
        """Set the gauges of a worker process regularly, because other workers read them."""
        while self._has_several_workers:
            self._refresh()
            await asyncio.sleep(_REFRESH_SECONDS)

    def collect(self) -> Iterable[Metric]:
        """Return the current metrics of this process."""
        self._refresh()
        return self._registry.collect()

    def exposition(self) -> bytes:
        """Return the metrics of all worker processes in Prometheus' text format."""
        self._refresh()
        if not self._has_several_workers:
            return generate_latest(self._registry)
        all_processes = CollectorRegistry()
        # Registered first, because it removes the gauges of workers that have ended.
        all_processes.register(WorkerProcesses(os.environ["PROMETHEUS_MULTIPROC_DIR"]))
        multiprocess.MultiProcessCollector(all_processes)  # type: ignore[no-untyped-call]
        return generate_latest(all_processes)

    def _refresh(self) -> None:
        self._count()
        for watch in self._watches:
            watch()
