"""The scrub: it reads each blob that a row needs once in a period, to find damaged bytes.

A period is divided into *slices* of about an hour. Digests are evenly distributed, so they are
divided into as many ranges of equal size, and one range is read in each slice. The clock decides
which range it is, so a restart makes no difference. An idempotency key for each slice and project
makes sure that only one process reads a range. If no process was running, the slice is done later,
as long as it is within the day for which such keys are kept. Otherwise its range is read in the
next period.

Damaged blobs are moved into quarantine, as a repair by `StoreCheck` (`fsck.py`) does.
"""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from secrets import SystemRandom

import anyio
import structlog

from app.errors import ConflictError
from app.models.identity import utc_now
from app.services.concurrency.background import log_failures, run_beside
from app.services.maintenance.fsck import BlobCheck, StoreFault, list_references
from app.services.requests.idempotency import Idempotency, IdempotentCall
from app.services.requests.request_identity import RequestIdentity
from app.stores.blobs.store import BlobStore
from app.stores.records.idempotency import KEPT
from app.stores.records.records import Records
from app.telemetry.metrics import Metrics

_log = structlog.get_logger(__name__)

_ROUTE = "scrub"
# The key alone identifies a slice, so there is no request to compare.
_NO_REQUEST = RequestIdentity("")
_DONE = "done"
_SLICE_SECONDS = 3_600.0
_QUERY_DIGESTS = 500
# The number of hexadecimal digits by which the limits of a range are written.
_DIGITS = 16
# The maximum age of a missed slice that is done later. It is an hour less than the time for which
# keys are kept, because the clocks of machines may differ.
_LOOKBACK = KEPT - timedelta(hours=1)
_MAX_LOGGED_OWNERS = 10


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice of a period, and the range of digests that is read in it."""

    key: str
    """The idempotency key, which is different in each period."""
    first: str
    """The first digits of the digests at the start of the range."""
    end: str | None
    """The first digits of the digests after the range; `None` for the last range."""


@dataclass(frozen=True, slots=True)
class SlicedPeriod:
    """A period that is divided into slices of about an hour. A shorter period is one slice."""

    seconds: float

    @property
    def count(self) -> int:
        """The number of slices."""
        return max(1, round(self.seconds / _SLICE_SECONDS))

    @property
    def slice_seconds(self) -> float:
        """The length of a slice."""
        return self.seconds / self.count

    def due(self, now: datetime) -> Iterator[Slice]:
        """Yield the current slice and those of the last 23 hours, the oldest first.

        The key of an older slice may have expired, so it would be unknown if the slice was done. No
        range is yielded twice.
        """
        current = int(now.timestamp() / self.slice_seconds)
        lookback = int(_LOOKBACK.total_seconds() / self.slice_seconds)
        for number in range(current - min(lookback, self.count - 1), current + 1):
            index = number % self.count
            yield Slice(
                # The key contains the settings, because the number means another slice if they
                # change.
                key=f"{number} of {self.count} in {self.seconds} s",
                first=self._format_start(index),
                end=self._format_start(index + 1) if index + 1 < self.count else None,
            )

    def _format_start(self, index: int) -> str:
        """Return the first digits of the digests at the start of a range."""
        return f"{index * 16**_DIGITS // self.count:0{_DIGITS}x}"


class ReadingPace:
    """Limits the rate at which blobs are read.

    Args:
        bytes_per_second: The maximum rate.
        clock: Returns the time, as `time.monotonic` does.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        bytes_per_second: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._bytes_per_second = bytes_per_second
        self._clock = clock
        self._sleep = sleep
        self._next_at = clock()

    async def keep(self, size_bytes: int) -> None:
        """Wait for the time that bytes take at the maximum rate. Call this after reading them.

        If nothing was read for a while, the next bytes are not read faster.
        """
        now = self._clock()
        self._next_at = max(now, self._next_at) + size_bytes / self._bytes_per_second
        await self._sleep(self._next_at - now)


@dataclass(frozen=True, slots=True, eq=False)
class Scrub:
    """Scrubs all projects."""

    records: Records
    """Stores the rows that need blobs, and the keys of slices."""
    blobs: BlobStore
    period: SlicedPeriod
    """The period in which each blob is read once. If it is 0 seconds, nothing is read."""
    pace: ReadingPace
    """Limits the rate of reading."""
    counts: Metrics
    """Counts the bytes that were read, and the faults."""
    # The projects whose slice is done, by the key of the slice, to save queries.
    _done_projects: dict[str, set[str]] = field(init=False, default_factory=dict)

    async def run(self, now: datetime) -> None:
        """Scrub the slices that are due and that no process has done yet.

        Args:
            now: The current time.

        Raises:
            StoreUnavailableError: A store did not answer. The slice is done later.
        """
        project_ids = await self.records.read_projects(lambda projects: projects.list_ids())
        slices = list(self.period.due(now))
        for expired in self._done_projects.keys() - {due.key for due in slices}:
            del self._done_projects[expired]
        for due in slices:
            done = self._done_projects.setdefault(due.key, set())
            for project_id in project_ids:
                if project_id not in done and await self._do_once(project_id, due):
                    done.add(project_id)

    def lifespan(self) -> AbstractAsyncContextManager[object]:
        """Run the scrub during the block."""
        return run_beside(self._scrub_regularly()) if self.period.seconds else nullcontext()

    async def _scrub_regularly(self) -> None:
        seconds = self.period.slice_seconds
        # Because of the random delay, processes that start at the same time scrub at different
        # times. At least a quarter of a slice passes, so the start is not slowed down.
        await anyio.sleep(SystemRandom().uniform(seconds / 4, seconds))
        while True:
            now = utc_now()
            with log_failures(_log, "scrub not finished", fault="scrub failed"):
                await self.run(now)
            if utc_now() - now > _LOOKBACK:
                _log.warning("scrub too slow: what was due meanwhile is left out")
            await anyio.sleep(seconds)

    async def _do_once(self, project_id: str, due: Slice) -> bool:
        """Scrub a slice of a project, unless another process has done so.

        Returns:
            True if the slice is done; False if another process is working on it.
        """
        if not await list_references(self.records, project_id, due.first, end=due.end, limit=1):
            return True
        call = IdempotentCall(project_id, _ROUTE, due.key, _NO_REQUEST)
        keys = Idempotency(self.records)
        try:
            async with keys.claim(call, utc_now()) as done:
                if done is None:
                    await self._scrub(project_id, due)
                    await self.records.write(
                        project_id, lambda unit: keys.record_answer(unit, call, _DONE)
                    )
        except ConflictError:
            # If the other process was killed, a later run does the slice.
            return False
        return True

    async def _scrub(self, project_id: str, due: Slice) -> None:
        """Check all blobs of a project in a range, one after the other."""
        check = BlobCheck(self.records, self.blobs, project_id, repair=True, pace=self.pace.keep)
        last_digest = due.first
        while rows_by_blob := await list_references(
            self.records, project_id, last_digest, end=due.end, limit=_QUERY_DIGESTS
        ):
            for rows in rows_by_blob:
                chunk_sizes: list[int] = []
                fault = await check.run(rows, chunk_sizes.append)
                self.counts.count_scrubbed(sum(chunk_sizes))
                if fault is not None:
                    self._report(fault)
            last_digest = rows_by_blob[-1][0].digest

    def _report(self, fault: StoreFault) -> None:
        self.counts.count_scrub_fault(fault.kind)
        _log.error(
            "stored bytes are not what they were",
            kind=fault.kind,
            project=fault.project_id,
            digest=fault.digest,
            owners=list(fault.owners[:_MAX_LOGGED_OWNERS]),
            quarantined=fault.is_quarantined,
        )
