"""The scrub: reads every blob that rows need again within a period, and finds what a disk changed.

Digests are spread evenly, so a period is divided into slices of about an hour, and the digests into
as many ranges: at any moment one range is due. Where a scrub stands follows from the clock, and
needs no place to be kept that a restart could lose. Which process does a slice is settled as with
two requests that are the same: by an idempotency key, one for each slice and project. A slice that
nobody has done, since nothing was running, is made up for as long as such keys are kept, a day;
later it comes up again in the next period.

Damaged bytes are taken out of service as `StoreCheck` does it. Nothing is read twice because it is
served; nothing is found before its turn.
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
from app.services.maintenance.fsck import BlobCheck, StoreFault, rows_behind
from app.services.requests.idempotency import Idempotency, IdempotentCall
from app.services.requests.request_identity import RequestIdentity
from app.stores.blobs.store import BlobStore
from app.stores.records.idempotency import KEPT
from app.stores.records.records import Records
from app.telemetry.metrics import Metrics

_log = structlog.get_logger(__name__)

_ROUTE = "scrub"
# It is known by its key alone.
_NO_REQUEST = RequestIdentity("")
_DONE = "done"
_SLICE_SECONDS = 3_600.0
_DIGESTS_AT_ONCE = 500
# Digests are told apart by as many of their first digits.
_DIGITS = 16
# Clocks of several machines may differ by an hour, and no slice is done twice for it.
_MADE_UP = KEPT - timedelta(hours=1)
_NAMED_OWNERS = 10


@dataclass(frozen=True, slots=True)
class Slice:
    """A range of digests: from `first` up to, not including, `end`; `None` for the end of all.

    `key` is another one each time the range is due.
    """

    key: str
    first: str
    end: str | None


@dataclass(frozen=True, slots=True)
class SlicedPeriod:
    """A period in slices of about an hour; one that is shorter is a single slice."""

    seconds: float

    @property
    def count(self) -> int:
        """The number of slices."""
        return max(1, round(self.seconds / _SLICE_SECONDS))

    @property
    def slice_seconds(self) -> float:
        """The time from one slice to the next."""
        return self.seconds / self.count

    def due(self, now: datetime) -> Iterator[Slice]:
        """Yield what is due now or was a while ago, oldest first; each digest is in at most one.

        No slice is among them whose key may have been forgotten since it was done.
        """
        current = int(now.timestamp() / self.slice_seconds)
        lookback = int(_MADE_UP.total_seconds() / self.slice_seconds)
        for number in range(current - min(lookback, self.count - 1), current + 1):
            place = number % self.count
            yield Slice(
                # With the count, since other settings would give other slices the same numbers.
                key=f"{number} of {self.count} in {self.seconds} s",
                first=self._digits(place),
                end=self._digits(place + 1) if place + 1 < self.count else None,
            )

    def _digits(self, place: int) -> str:
        return f"{place * 16**_DIGITS // self.count:0{_DIGITS}x}"


class ReadingPace:
    """Lets so many bytes through in a second.

    Args:
        bytes_per_second: How many.
        clock: Seconds that only grow.
        sleep: Waits for some of them.
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
        """Wait until so many bytes have had their time; a pause before them saves none of it."""
        now = self._clock()
        self._next_at = max(now, self._next_at) + size_bytes / self._bytes_per_second
        await self._sleep(self._next_at - now)


@dataclass(frozen=True, slots=True, eq=False)
class Scrub:
    """Scrubs all projects."""

    records: Records
    """The records that refer to blobs."""
    blobs: BlobStore
    """The store of the blobs."""
    period: SlicedPeriod
    """Within how long each blob is read once; 0 seconds for never."""
    pace: ReadingPace
    """Limits how fast it reads."""
    counts: Metrics
    """Told of what was read."""
    # By slice, the projects that nobody need ask the database about again.
    _settled: dict[str, set[str]] = field(init=False, default_factory=dict)

    async def run(self, now: datetime) -> None:
        """Do what is due and was not done yet, by this process or another.

        Raises:
            StoreUnavailableError: A store did not answer; the slice that was begun stays due.
        """
        project_ids = await self.records.read_projects(lambda projects: projects.list_ids())
        slices = list(self.period.due(now))
        for over in self._settled.keys() - {due.key for due in slices}:
            del self._settled[over]
        for due in slices:
            settled = self._settled.setdefault(due.key, set())
            for project_id in project_ids:
                if project_id not in settled and await self._do_once(project_id, due):
                    settled.add(project_id)

    def running(self) -> AbstractAsyncContextManager[object]:
        """Scrub for the length of the block."""
        return run_beside(self._keep_scrubbing()) if self.period.seconds else nullcontext()

    async def _keep_scrubbing(self) -> None:
        seconds = self.period.slice_seconds
        # A process that has just started has better things to do, and several do not start at once.
        await anyio.sleep(SystemRandom().uniform(seconds / 4, seconds))
        while True:
            now = utc_now()
            with log_failures(_log, "scrub not finished", fault="scrub failed"):
                await self.run(now)
            if utc_now() - now > _MADE_UP:
                _log.warning("scrub too slow: what was due meanwhile is left out")
            await anyio.sleep(seconds)

    async def _do_once(self, project_id: str, due: Slice) -> bool:
        """Scrub a slice unless it was done; says whether it is done now."""
        if not await rows_behind(self.records, project_id, due.first, end=due.end, limit=1):
            return True
        call = IdempotentCall(project_id, _ROUTE, due.key, _NO_REQUEST)
        keys = Idempotency(self.records)
        try:
            async with keys.claimed(call, utc_now()) as done:
                if done is None:
                    await self._scrub(project_id, due)
                    await self.records.write(
                        project_id, lambda unit: keys.note_answer(unit, call, _DONE)
                    )
        except ConflictError:
            # Another process is at it, or was killed and has left that to whoever comes later.
            return False
        return True

    async def _scrub(self, project_id: str, due: Slice) -> None:
        check = BlobCheck(self.records, self.blobs, project_id, repair=True, pace=self.pace.keep)
        last = due.first
        while blobs := await rows_behind(
            self.records, project_id, last, end=due.end, limit=_DIGESTS_AT_ONCE
        ):
            for rows in blobs:
                read: list[int] = []
                fault = await check.run(rows, read.append)
                self.counts.count_scrubbed(sum(read))
                if fault is not None:
                    self._tell(fault)
            last = blobs[-1][0].digest

    def _tell(self, fault: StoreFault) -> None:
        self.counts.count_scrub_fault(fault.kind)
        _log.error(
            "stored bytes are not what they were",
            kind=fault.kind,
            project=fault.project_id,
            digest=fault.digest,
            owners=list(fault.owners[:_NAMED_OWNERS]),
            quarantined=fault.is_quarantined,
        )
