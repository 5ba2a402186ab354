"""The sweep: it removes blobs that no row needs, and expired records.

Such blobs are garbage: the last row that needed them was deleted, or the row was never written. A
sweep removes them (`blob_removal.py`) if they are older than a grace period, which requests in
progress need. Several sweeps may run at the same time. Only the projects of this database are
swept, because another database may use the same blob store.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import asdict, astuple, dataclass
from datetime import datetime, timedelta
from secrets import SystemRandom
from typing import TypeAlias

import anyio
import structlog

from app.models.identity import utc_now
from app.services.concurrency.background import log_failures, run_beside
from app.services.maintenance.blob_removal import BlobRemoval, find_unneeded_blobs
from app.services.quotas.storage_quota import StorageQuota
from app.stores.blobs.store import BlobStore, ListedBlob
from app.stores.records.events import EventRecords
from app.stores.records.idempotency import KEPT as KEYS_KEPT
from app.stores.records.idempotency import IdempotencyRecords
from app.stores.records.records import Records
from app.stores.records.stored_blobs import StoredBlobRecords
from app.stores.records.swept_blobs import SweptBlobRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.uploads import UploadRecords

_log = structlog.get_logger(__name__)

# The age at which a temporary file belongs to a write that was interrupted.
_TEMPORARY_SECONDS = 24 * 3600.0
# The age at which ended claims are removed. It is longer than a request takes from its first blob
# to its commit.
_CLAIMS_KEPT = timedelta(hours=48)
# A longer grace period than 100 years could not be subtracted from the current time.
_MAX_GRACE_SECONDS = 100 * 365 * 24 * 3600.0
_EVENTS_PER_STEP = 5_000


@dataclass(frozen=True, slots=True)
class SweepReport:
    """The counts of a sweep so far. In a dry run, removals are counted that would be made."""

    examined: int = 0
    """The number of examined blobs."""
    removed: int = 0
    """The number of removed blobs."""
    bytes_removed: int = 0
    kept_young: int = 0
    """The number of unreferenced blobs that are younger than the grace period."""
    temporary_removed: int = 0
    expired_uploads: int = 0
    expired_keys: int = 0
    expired_events: int = 0
    expired_reserved_bytes: int = 0

    def __add__(self, other: "SweepReport") -> "SweepReport":
        return SweepReport(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    @property
    def is_empty(self) -> bool:
        """True if nothing was removed."""
        return not any(self.removals().values())

    def removals(self) -> dict[str, int]:
        """Return the counts of removals, by the name of the field."""
        not_removed = ("examined", "kept_young")
        return {name: count for name, count in asdict(self).items() if name not in not_removed}


SweepProgress: TypeAlias = Callable[[SweepReport], None]
"""Called from time to time with the report so far."""


@dataclass(eq=False)
class _DryRunError(Exception):
    """Ends the transaction of a dry run, so that its removals are rolled back."""

    report: SweepReport
    """The counts of the removals that are rolled back."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Sweeps all projects."""

    records: Records
    """Stores the rows that need blobs, and the records that expire."""
    blobs: BlobStore
    events_kept: timedelta
    """The age at which events expire."""
    max_events: int
    """The number of newest events of a project that are kept. Older ones expire at any age."""
    stored_bytes: StorageQuota | None = None
    """Counts the stored bytes of projects, if projects have a quota."""

    async def run(
        self, grace_seconds: float, *, dry_run: bool = False, progress: SweepProgress | None = None
    ) -> SweepReport:
        """Remove garbage that is older than the grace period, and expired records.

        Args:
            grace_seconds: The time for which a blob that no row needs is kept after its last
                upload.
            dry_run: True to report removals without making them.
            progress: Called with the report so far.

        Raises:
            StoreUnavailableError: A store did not answer. Earlier removals are not undone.
        """
        now = utc_now()
        run = _Run(
            self.records,
            self.blobs,
            older_than=now - timedelta(seconds=min(grace_seconds, _MAX_GRACE_SECONDS)),
            dry_run=dry_run,
            progress=progress,
        )
        project_ids = await self.records.read_projects(lambda projects: projects.list_ids())
        for project_id in project_ids:
            await run.expire(project_id, now)
            await run.expire_events(project_id, before=now - self.events_kept, keep=self.max_events)
            await run.sweep(project_id)
            if self.stored_bytes is not None and not dry_run:
                await self.stored_bytes.count(project_id)
                await self.stored_bytes.forget_missing(project_id)
        await run.sweep_temporary()
        return run.report

    def lifespan(
        self, *, interval_seconds: float, grace_seconds: float
    ) -> AbstractAsyncContextManager[object]:
        """Run a sweep at each interval during the block.

        Args:
            interval_seconds: The time between two sweeps; 0 to run none.
            grace_seconds: See `run`.
        """
        if not interval_seconds:
            return nullcontext()
        return run_beside(self._sweep_regularly(interval_seconds, grace_seconds))

    async def _sweep_regularly(self, interval_seconds: float, grace_seconds: float) -> None:
        # Because of the random delay, servers that start at the same time sweep at different times.
        await anyio.sleep(SystemRandom().uniform(0, interval_seconds))
        while True:
            with log_failures(_log, "sweep not finished", fault="sweep failed"):
                report = await self.run(grace_seconds)
                if not report.is_empty:
                    _log.info("swept", **report.removals())
            await anyio.sleep(interval_seconds)


@dataclass(slots=True)
class _Run:
    """One sweep through the projects."""

    records: Records
    blobs: BlobStore
    older_than: datetime
    """The end of the grace period: younger blobs are kept."""
    dry_run: bool
    progress: SweepProgress | None
    report: SweepReport = SweepReport()

    async def expire(self, project_id: str, now: datetime) -> None:
        """Remove expired uploads, idempotency keys, reservations of stored bytes, and claims."""

        def expire(unit: UnitOfWork) -> SweepReport:
            report = SweepReport(
                expired_uploads=unit[UploadRecords].remove_expired(now),
                expired_keys=unit[IdempotencyRecords].purge(now - KEYS_KEPT),
                expired_reserved_bytes=unit[StoredBlobRecords].expire(now),
            )
            unit[SweptBlobRecords].forget(_CLAIMS_KEPT)
            return report

        self._count(await self._run_removal(project_id, expire))

    async def expire_events(self, project_id: str, *, before: datetime, keep: int) -> None:
        """Remove expired events in small batches, because writers have to wait for each batch.

        Args:
            project_id: The project.
            before: The time before which an event has expired.
            keep: The number of newest events to keep.
        """
        # This read takes no lock, so no write has to wait if nothing has expired.
        if None is await self.records.read(
            project_id,
            lambda unit: unit[EventRecords].find_newest_expired(before=before, keep=keep),
        ):
            return

        def expire(unit: UnitOfWork) -> SweepReport:
            removed = unit[EventRecords].expire(before=before, keep=keep, limit=_EVENTS_PER_STEP)
            return SweepReport(expired_events=removed)

        while True:
            report = await self._run_removal(project_id, expire)
            self._count(report)
            if self.dry_run or report.expired_events < _EVENTS_PER_STEP:
                return

    async def _run_removal(
        self, project_id: str, remove: Callable[[UnitOfWork], SweepReport]
    ) -> SweepReport:
        """Run a removal in a transaction, and return its report. In a dry run, roll it back."""

        def remove_or_count(unit: UnitOfWork) -> SweepReport:
            report = remove(unit)
            if self.dry_run:
                raise _DryRunError(report)
            return report

        try:
            return await self.records.write(project_id, remove_or_count, is_alone=True)
        except _DryRunError as exc:
            return exc.report

    async def sweep(self, project_id: str) -> None:
        """Remove the blobs of a project that no row needs."""
        async with aclosing(find_unneeded_blobs(self.records, self.blobs, project_id)) as batches:
            async for examined, unneeded in batches:
                old = {
                    blob.digest: blob for blob in unneeded if blob.modified_at <= self.older_than
                }
                kept_young = len(unneeded) - len(old)
                self._count(SweepReport(examined=examined, kept_young=kept_young))
                await self._remove(project_id, old)

    async def sweep_temporary(self) -> None:
        """Remove temporary files of interrupted writes."""
        removed = await self.blobs.sweep_temporary(_TEMPORARY_SECONDS, dry_run=self.dry_run)
        self._count(SweepReport(temporary_removed=removed))

    async def _remove(self, project_id: str, blobs: Mapping[str, ListedBlob]) -> None:
        """Remove blobs, given by digest. In a dry run, only count them."""
        if self.dry_run:
            self._count_removed(blobs, blobs)
            return
        removal = BlobRemoval(self.records, self.blobs)
        async with aclosing(removal.remove_in_steps(project_id, list(blobs))) as steps:
            async for removed_digests in steps:
                self._count_removed(blobs, removed_digests)

    def _count_removed(self, blobs: Mapping[str, ListedBlob], digests: Collection[str]) -> None:
        size_bytes = sum(blobs[digest].size_bytes for digest in digests)
        self._count(SweepReport(removed=len(digests), bytes_removed=size_bytes))

    def _count(self, report: SweepReport) -> None:
        """Add counts to the report, and report the progress."""
        self.report += report
        if self.progress is not None:
            self.progress(self.report)
