"""The backlog of the search index: its age, and the share of time that indexing takes.

Queued entries have no times, only numbers in the order of their creation. A process records the
newest number every few seconds. So the oldest waiting entry was created after the last recorded
number that is smaller. Ages are counted from the start of the process.
"""

import time
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from app.models.search_entry import EntryQueue
from app.stores.records.records import Records
from app.stores.records.search_queue import measure_queue
from app.telemetry.metrics import Metrics

_MEASURED_SECONDS = 5.0
# A process keeps the samples of two days.
_MAX_SAMPLES = 34_560
AGED_SECONDS = 60.0
"""The age of a backlog at which indexing takes its largest share of the time."""
# Seconds of pause for each second of work: for a new backlog, and for an aged one.
_PAUSE, _PAUSE_IF_AGED = 4.0, 1.0
_PAUSE_IF_BUSY, _PAUSE_IF_BUSY_AND_AGED = 24.0, 10.0


class _Sample(NamedTuple):
    """The newest number of an entry at a time of the monotonic clock."""

    time: float
    newest: int


@dataclass(slots=True)
class BacklogClock:
    """Estimates how long the oldest entry of the queue has waited."""

    _samples: deque[_Sample] = field(default_factory=lambda: deque(maxlen=_MAX_SAMPLES))

    def age_seconds(self, queue: EntryQueue, now: float) -> float:
        """Record the newest number of a queue; return the age of its oldest entry, or 0."""
        if queue.oldest is None:
            self._samples.clear()
        self._samples.append(_Sample(now, queue.newest))
        if queue.oldest is None:
            return 0.0
        while len(self._samples) > 1 and self._samples[1].newest < queue.oldest:
            self._samples.popleft()
        return now - self._samples[0].time


@dataclass(slots=True)
class BacklogGauge:
    """Measures the backlog every few seconds, for the metrics and for the pauses of indexing."""

    records: Records
    metrics: Metrics | None
    age_seconds: float = 0.0
    waiting: int = 0
    _clock: BacklogClock = field(default_factory=BacklogClock)
    _due: float = 0.0

    async def measure(self) -> None:
        """Measure the backlog if a few seconds have passed since the last time."""
        began = time.monotonic()
        if began < self._due:
            return
        queue = await self.records.read_projects(measure_queue)
        now = time.monotonic()
        # Counting a million entries takes a while. It should take at most a 50th of the time.
        self._due = now + max(_MEASURED_SECONDS, 50 * (now - began))
        self.waiting = queue.waiting
        self.age_seconds = self._clock.age_seconds(queue, began)
        if self.metrics is not None:
            self.metrics.set_search_backlog(queue.waiting, self.age_seconds)


def choose_pause(worked_seconds: float, age_seconds: float, *, is_busy: bool) -> float:
    """Return the pause after a step: shorter for an older backlog, longer if requests need the CPU.

    In a busy process, indexing gets a 25th of the time at first, and an 11th when the oldest entry
    has waited for a minute. With a larger share, indexing would slow down writes too much.
    """
    if is_busy:
        pause, aged_pause = _PAUSE_IF_BUSY, _PAUSE_IF_BUSY_AND_AGED
    else:
        pause, aged_pause = _PAUSE, _PAUSE_IF_AGED
    age_share = min(1.0, age_seconds / AGED_SECONDS)
    return worked_seconds * (pause + (aged_pause - pause) * age_share)
