"""The backlog of the search index: its age, and how much time indexing takes for it.

Entries have no times, but numbers in the order of their creation. A process notes the newest number
every few seconds, so it knows about when the oldest waiting entry was created: after the last note
with a smaller number. Ages begin with the process.
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
# Of two days.
_MAX_NOTES = 34_560
AGED_SECONDS = 60.0
"""The age of a backlog from which on indexing takes its largest share of the time."""
# Seconds of pause after a second of work, with an age of 0 and from the age above on.
_PAUSE, _PAUSE_IF_AGED = 4.0, 1.0
_PAUSE_IF_BUSY, _PAUSE_IF_BUSY_AND_AGED = 24.0, 10.0


class _Note(NamedTuple):
    time: float
    newest: int


@dataclass(slots=True)
class BacklogClock:
    """Estimates how long the oldest entry of the queue has waited."""

    _notes: deque[_Note] = field(default_factory=lambda: deque(maxlen=_MAX_NOTES))

    def age_seconds(self, queue: EntryQueue, now: float) -> float:
        """Note the newest number of a queue, and return the age of its oldest entry, or 0."""
        if queue.oldest is None:
            self._notes.clear()
        self._notes.append(_Note(now, queue.newest))
        if queue.oldest is None:
            return 0.0
        while len(self._notes) > 1 and self._notes[1].newest < queue.oldest:
            self._notes.popleft()
        return now - self._notes[0].time


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
        # Counting a million entries takes a while, and should not take more than a 50th of it.
        self._due = now + max(_MEASURED_SECONDS, 50 * (now - began))
        self.waiting = queue.waiting
        self.age_seconds = self._clock.age_seconds(queue, began)
        if self.metrics is not None:
            self.metrics.set_search_backlog(queue.waiting, self.age_seconds)


def pause_seconds(worked_seconds: float, age_seconds: float, *, is_busy: bool) -> float:
    """Return the pause after a step: shorter for an older backlog, longer if requests need the CPU.

    In a busy process indexing gets a 25th of the time at first, and an 11th when the oldest entry
    has waited for a minute: more than a tenth would slow writes down by as much.
    """
    first, last = (_PAUSE_IF_BUSY, _PAUSE_IF_BUSY_AND_AGED) if is_busy else (_PAUSE, _PAUSE_IF_AGED)
    return worked_seconds * (first + (last - first) * min(1.0, age_seconds / AGED_SECONDS))
