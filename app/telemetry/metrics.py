"""The service's metrics, as Prometheus reads them."""

import os
import time
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

from app.models.event import EndReason
from app.models.identity import utc_now
from app.models.resource_descriptor import FaultKind

# Requests are counted together, once there are so many of them.
_MAX_UNCOUNTED = 1_000
STAGES = ("normalization", "persistence", "packaging", "commit")


class Metrics:
    """The service's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = self._counter(
            "requests", "Requests answered.", "method", "route", "status"
        )
        self._latency = self._histogram(
            "request", "Time from a request's first byte to its answer's last.", "method", "route"
        )
        self._bytes_in = self._counter("ingested_bytes", "Bytes of tool results as they came in.")
        self._bytes_saved = self._counter(
            "saved_bytes",
            "Bytes readers of history are spared, against tool results kept as they came in.",
        )
        self._stages = self._histogram("stage", "Time a stage of ingest took.", "stage")
        self._streams = self._gauge("event_streams", "Streams of events that are open.")
        self._streams_ended = self._counter(
            "event_streams_ended", "Streams of events that have ended, by why.", "reason"
        )
        self._event_delay = self._histogram(
            "event_delay", "Time from an event's creation to its delivery to a process's streams."
        )
        self._scrubbed_blobs = self._counter(
            "scrubbed_blobs", "Stored files the scrub has read through."
        )
        self._scrubbed_bytes = self._counter("scrubbed_bytes", "Bytes the scrub has read.")
        self._scrub_faults = self._counter(
            "scrub_faults", "Stored files the scrub found wrong, by what is wrong.", "kind"
        )
        self._memory_held = self._gauge(
            "memory_held_bytes",
            "Memory that bodies, answers, images and queued events hold of the budget.",
        )
        self._memory_refusals = self._counter(
            "memory_refusals", "Requests refused because the memory they needed was not free."
        )
        self._held_bytes: Callable[[], int] = int
        # Requests that are answered and not counted yet.
        self._uncounted: list[tuple[str, str, int, float | None]] = []
        self._is_shared = "PROMETHEUS_MULTIPROC_DIR" in os.environ
        self._timed = {name: self._stages.labels(name) for name in STAGES}
        for reason in get_args(EndReason):
            self._streams_ended.labels(reason)
        for kind in get_args(FaultKind):
            self._scrub_faults.labels(kind)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"pagefault_{name}", about, labels, registry=self._registry)

    def _gauge(self, name: str, about: str) -> Gauge:
        return Gauge(
            f"pagefault_{name}", about, registry=self._registry, multiprocess_mode="livesum"
        )

    def _histogram(self, name: str, about: str, *labels: str) -> Histogram:
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
        """Count the bytes of a request body, and those that its record saves."""
        self._bytes_in.inc(bytes_in)
        self._bytes_saved.inc(max(0, bytes_in - bytes_kept))

    def count_memory_refusal(self) -> None:
        """Count a request that was refused for want of memory."""
        self._memory_refusals.inc()

    def count_stream_opened(self) -> None:
        """Count a stream that was opened."""
        self._streams.inc()

    def count_stream_ended(self, reason: EndReason) -> None:
        """Count a stream that has ended."""
        self._streams.dec()
        self._streams_ended.labels(reason).inc()

    def observe_event_delays(self, created_at: Iterable[datetime]) -> None:
        """Count events that are delivered to streams, by the time since their creation.

        The clock of the process that wrote an event may be ahead.
        """
        now = utc_now()
        for moment in created_at:
            self._event_delay.observe(max(0.0, (now - moment).total_seconds()))

    def count_scrubbed(self, size_bytes: int) -> None:
        """Count a stored file that was read through, and its bytes."""
        self._scrubbed_blobs.inc()
        self._scrubbed_bytes.inc(size_bytes)

    def count_scrub_fault(self, kind: FaultKind) -> None:
        """Count a stored file that is not what its rows say."""
        self._scrub_faults.labels(kind).inc()

    def observe_request(self, method: str, route: str, status: int, seconds: float | None) -> None:
        """Count one answered request under its route's template, never its path.

        `seconds` is `None` for a stream, whose duration is that of its client.
        """
        self._uncounted.append((method, route, status, seconds))
        # Counting many at a time costs a fraction. What other processes ask for is counted at once.
        if self._is_shared or len(self._uncounted) >= _MAX_UNCOUNTED:
            self._count()

    def _count(self) -> None:
        uncounted, self._uncounted = self._uncounted, []
        answered = Counts((method, route, status) for method, route, status, _ in uncounted)
        for (method, route, status), count in answered.items():
            self._requests.labels(method, route, str(status)).inc(count)
        took: dict[tuple[str, str], list[float]] = {}
        for method, route, _, seconds in uncounted:
            if seconds is not None:
                took.setdefault((method, route), []).append(seconds)
        for labels, latencies in took.items():
            histogram = self._latency.labels(*labels)
            for seconds in latencies:
                histogram.observe(seconds)

    def watch_memory(self, held_bytes: Callable[[], int]) -> None:
        """Ask this for the bytes that are held, whenever the metrics are read."""
        self._held_bytes = held_bytes

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format, of all worker processes together."""
        self._count()
        self._memory_held.set(self._held_bytes())
        if not self._is_shared:
            return generate_latest(self._registry)
        everyone = CollectorRegistry()
        multiprocess.MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
        return generate_latest(everyone)
