"""The parts of `Metrics` that services need, without its registry."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from app.models.event import EndReason


class IngestMetrics(Protocol):
    """Metrics of ingest: the duration of its stages, and the bytes that it saves."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Measure the block as one run of a stage of ingest."""

    def count_saved(self, *, bytes_in: int, bytes_kept: int) -> None:
        """Count the bytes of a request body, and the bytes by which its record is smaller."""


class StreamMetrics(Protocol):
    """Metrics of event streams."""

    def count_stream_opened(self) -> None:
        """Count a stream that was opened."""

    def count_stream_ended(self, reason: EndReason) -> None:
        """Count a stream that has ended."""

    def observe_event_delays(self, created_at: Iterable[datetime]) -> None:
        """Count events that are delivered to streams, by the time since their creation."""

    def watch_lag(self, feed_lag: Callable[[], int], listener_lag: Callable[[], int]) -> None:
        """Read how many events feeds and listeners are behind whenever the metrics are read."""
