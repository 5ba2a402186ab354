"""The sweep: removes blobs without a reference, and expired records.

A blob is garbage if its last row was deleted, or if its row was never written. It is removed if it
is older than a grace period, and only after a claim (see `app.stores.records.swept_blobs`), so that
no new row loses its blob. Several sweeps may run at the same time. Only the projects of this
database are swept, because another database may use the same blob store.
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

_TEMPORARY_SECONDS = 24 * 3600.0
# This is longer than the time between the first blob of a request and its row.
_CLAIMS_KEPT = timedelta(hours=48)
# Times before this cannot be represented.
_MAX_GRACE_SECONDS = 100 * 365 * 24 * 3600.0
_EVENTS_PER_STEP = 5_000


@dataclass(frozen=True, slots=True)
class SweepReport:
    """The numbers of a sweep so far. In a dry run, they are the numbers of possible removals."""

    examined: int = 0
    """The number of all blobs."""
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
        """Return the numbers of removals by kind."""
        others = ("examined", "kept_young")
        return {kind: count for kind, count in asdict(self).items() if kind not in others}


SweepProgress: TypeAlias = Callable[[SweepReport], None]
"""Called from time to time with the report so far."""


@dataclass(eq=False)
class _OnlyCountedError(Exception):
    """Ends the transaction of a dry run, so that its removals are rolled back."""

    report: SweepReport
    """The numbers of these removals."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Sweeps all projects."""

    records: Records
    """Stores the rows that need blobs, and the records that expire."""
    blobs: BlobStore
    events_kept: timedelta
    """The age at which events expire."""
    max_events: int
    """The maximum number of events of a project."""
    stored_bytes: StorageQuota | None = None
    """Counts the stored bytes of projects, if they have a quota."""

    async def run(
        self, grace_seconds: float, *, dry_run: bool = False, progress: SweepProgress | None = None
    ) -> SweepReport:
        """Remove garbage that is older than the grace period, and expired records.

        Args:
            grace_seconds: The time for which an unreferenced blob is kept after its last upload.
            dry_run: True to report the removals without making them.
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

    def scheduled(
        self, *, interval_seconds: float, grace_seconds: float
    ) -> AbstractAsyncContextManager[object]:
        """Sweep at intervals during the block; never if the interval is 0."""
        if not interval_seconds:
            return nullcontext()
        return run_beside(self._keep_sweeping(interval_seconds, grace_seconds))

    async def _keep_sweeping(self, interval_seconds: float, grace_seconds: float) -> None:
        # The random delay makes servers that start at the same time sweep at different times.
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
    dry_run: bool
    progress: SweepProgress | None
    report: SweepReport = SweepReport()

    async def expire(self, project_id: str, now: datetime) -> None:
        """Remove expired uploads, idempotency keys, reservations and claims."""

        def expire(unit: UnitOfWork) -> SweepReport:
            expired = SweepReport(
                expired_uploads=unit[UploadRecords].remove_expired(now),
                expired_keys=unit[IdempotencyRecords].purge(now - KEYS_KEPT),
                expired_reserved_bytes=unit[StoredBlobRecords].expire(now),
            )
            unit[SweptBlobRecords].forget(_CLAIMS_KEPT)
            return expired

        self._count(await self._run_removal(project_id, expire))

    async def expire_events(self, project_id: str, *, before: datetime, keep: int) -> None:
        """Remove expired events in small batches, because writers have to wait for each batch."""
        # This read takes no lock, so that no write waits if nothing has expired.
        if None is await self.records.read(
            project_id, lambda unit: unit[EventRecords].newest_expired(before=before, keep=keep)
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
        """Run a removal, and return its report. In a dry run, roll it back."""

        def remove_or_count(unit: UnitOfWork) -> SweepReport:
            report = remove(unit)
            if self.dry_run:
                raise _OnlyCountedError(report)
            return report

        try:
            return await self.records.write(project_id, remove_or_count, is_alone=True)
        except _OnlyCountedError as exc:
            return exc.report

    async def sweep(self, project_id: str) -> None:
        """Remove the garbage of a project."""
        async with aclosing(find_unneeded_blobs(self.records, self.blobs, project_id)) as batches:
            async for examined, garbage in batches:
                old = {blob.digest: blob for blob in garbage if blob.modified_at <= self.older_than}
                kept_young = len(garbage) - len(old)
                self._count(SweepReport(examined=examined, kept_young=kept_young))
                await self._remove(project_id, old)

    async def sweep_temporary(self) -> None:
        """Remove temporary files of interrupted writes."""
        swept = await self.blobs.sweep_temporary(_TEMPORARY_SECONDS, dry_run=self.dry_run)
        self._count(SweepReport(temporary_removed=swept))

    async def _remove(self, project_id: str, old: Mapping[str, ListedBlob]) -> None:
        """Remove blobs; in a dry run, only count them."""
        if self.dry_run:
            self._count_removed(old, old)
            return
        removal = BlobRemoval(self.records, self.blobs)
        async with aclosing(removal.remove_in_steps(project_id, list(old))) as removed:
            async for digests in removed:
                self._count_removed(old, digests)

    def _count_removed(self, old: Mapping[str, ListedBlob], digests: Collection[str]) -> None:
        size_bytes = sum(old[digest].size_bytes for digest in digests)
        self._count(SweepReport(removed=len(digests), bytes_removed=size_bytes))

    def _count(self, more: SweepReport) -> None:
        self.report += more
        if self.progress is not None:
            self.progress(self.report)
