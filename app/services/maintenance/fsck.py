"""Checks that each blob that a row needs exists, and has the bytes of its digest.

All of these blobs are read and hashed. Files may change while the check runs, so a fault is only
reported if a second check finds it too. A repair moves damaged blobs into quarantine, so that wrong
bytes are not served. It changes no rows: if the client uploads the same file again, the rows have
their blob again.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import anyio.to_thread

from app.errors import StoreFullError, StoreUnavailableError
from app.models.resource_descriptor import FaultKind
from app.services.concurrency.background import run_to_completion
from app.services.maintenance.blob_removal import ClaimTime, find_unneeded_blobs
from app.stores.blobs.store import BlobMissingError, BlobStore, ListedBlob
from app.stores.records.records import Records
from app.stores.records.swept_blobs import BlobReference, BlobReferenceRecords, SweptBlobRecords
from app.stores.records.unit_of_work import UnitOfWork

# The number of blobs whose rows are read in one query.
_QUERY_DIGESTS = 500
_CONCURRENT_CHECKS = 4
# The size up to which a chunk is hashed in the event loop, since starting a thread takes longer.
_HASHED_IN_LOOP_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class StoreFault:
    """A blob that is missing, damaged or unreadable, or whose size differs from that in a row."""

    project_id: str
    digest: str
    kind: FaultKind
    owners: tuple[str, ...]
    """The names of the records that need the blob."""
    is_quarantined: bool = False
    """True if a repair has moved the blob into quarantine."""


@dataclass(slots=True)
class StoreCheckReport:
    """The counts of a check so far."""

    blobs: int = 0
    """The number of checked blobs."""
    bytes_read: int = 0
    unneeded: int = 0
    """The number of blobs that no row needs. They are not faults; a sweep removes them."""
    faults: int = 0


ReportFault: TypeAlias = Callable[[StoreFault], None]
"""Called with each fault when it is found."""

ReadProgress: TypeAlias = Callable[[int, int], None]
"""Called with the number of bytes that were read so far, and the estimated number of all bytes."""

Pace: TypeAlias = Callable[[int], Awaitable[None]]
"""Called with the number of bytes that were just read. It waits until more may be read."""


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """Checks all projects of the database."""

    records: Records
    blobs: BlobStore

    async def run(
        self,
        report_fault: ReportFault,
        *,
        repair: bool = False,
        progress: ReadProgress | None = None,
    ) -> StoreCheckReport:
        """Check the blobs of all projects.

        Args:
            report_fault: Called with each fault.
            repair: True to move damaged blobs into quarantine.
            progress: Called after each chunk of a blob.

        Raises:
            StoreUnavailableError: A store did not answer, so the check is incomplete.
        """
        project_ids = await self.records.read_projects(lambda projects: projects.list_ids())
        total_bytes = 0
        for project_id in project_ids:
            total_bytes += await self.records.read(
                project_id, lambda unit: unit[BlobReferenceRecords].sum_needed_bytes()
            )
        report = StoreCheckReport()

        def advance(size_bytes: int) -> None:
            report.bytes_read += size_bytes
            if progress is not None:
                # Blobs that were stored meanwhile are not in the total.
                progress(report.bytes_read, max(total_bytes, report.bytes_read))

        for project_id in project_ids:
            check = BlobCheck(self.records, self.blobs, project_id, repair=repair)
            await self._check_project(check, report, report_fault, advance)
            async with aclosing(
                find_unneeded_blobs(self.records, self.blobs, project_id)
            ) as batches:
                report.unneeded += sum([len(unneeded) async for _, unneeded in batches])
        return report

    async def _check_project(
        self,
        check: "BlobCheck",
        report: StoreCheckReport,
        report_fault: ReportFault,
        advance: Callable[[int], None],
    ) -> None:
        """Check the blobs of a project, a few at a time, in the order of their digests."""
        last_digest = ""
        while batch := await list_references(
            self.records, check.project_id, last_digest, limit=_QUERY_DIGESTS
        ):
            last_digest = batch[-1][0].digest
            for start in range(0, len(batch), _CONCURRENT_CHECKS):
                group = batch[start : start + _CONCURRENT_CHECKS]
                report.blobs += len(group)
                checks = (check.run(rows, advance) for rows in group)
                for fault in await asyncio.gather(*checks, return_exceptions=True):
                    if isinstance(fault, BaseException):
                        raise fault
                    if fault is not None:
                        report.faults += 1
                        report_fault(fault)


@dataclass(frozen=True, slots=True)
class BlobCheck:
    """Checks single blobs of one project."""

    records: Records
    """Stores the rows that need blobs, and claims."""
    blobs: BlobStore
    project_id: str
    """The project."""
    repair: bool
    """True to move damaged blobs into quarantine."""
    pace: Pace | None = None
    """Limits the rate of reading; `None` for no limit."""

    async def run(
        self, rows: Sequence[BlobReference], advance: Callable[[int], None]
    ) -> StoreFault | None:
        """Check a blob that rows need; return its fault, or `None` if it has none.

        Args:
            rows: All rows that need the blob, at least one.
            advance: Called with the size of each chunk, in the first of the two checks.

        Raises:
            StoreUnavailableError: A store did not answer, so the result is unknown.
        """
        digest = rows[0].digest
        kind, affected_rows = await self._find_fault(digest, rows, advance)
        if kind is None:
            return None
        blob = await self.blobs.find(self.project_id, digest)
        kind, affected_rows = await self._find_fault(digest, affected_rows)
        # A row may have been deleted between the checks, and its blob with it. So only rows that
        # exist after both checks count.
        existing_rows = await self.records.read(
            self.project_id, lambda unit: set(unit[BlobReferenceRecords].find([digest]))
        )
        affected_rows = [row for row in affected_rows if row in existing_rows]
        if kind is None or not affected_rows:
            return None
        is_quarantined = False
        if self.repair and kind == "damaged" and blob:
            is_quarantined = await run_to_completion(self._quarantine(blob))
        owners = tuple(row.owner for row in affected_rows)
        return StoreFault(self.project_id, digest, kind, owners, is_quarantined)

    async def _find_fault(
        self,
        digest: str,
        rows: Sequence[BlobReference],
        advance: Callable[[int], None] | None = None,
    ) -> tuple[FaultKind | None, Sequence[BlobReference]]:
        """Read a blob once, and return its fault and the rows that have the fault.

        Raises:
            StoreUnavailableError: The store does not work at all.
        """
        kind: FaultKind
        try:
            actual_digest, size_bytes = await self._hash_blob(digest, advance)
        except BlobMissingError:
            kind = "missing"
        except StoreUnavailableError:
            kind = "unreadable"
        else:
            if actual_digest != digest:
                return "damaged", rows
            wrong_rows = [row for row in rows if row.size_bytes != size_bytes]
            return ("wrong-size", wrong_rows) if wrong_rows else (None, ())
        # The check writes a test file. A full store cannot do so, but it can be read.
        with suppress(StoreFullError):
            await self.blobs.check()
        return kind, rows

    async def _hash_blob(
        self, digest: str, advance: Callable[[int], None] | None
    ) -> tuple[str, int]:
        """Return the digest and the size of the stored bytes of a blob."""
        sha256 = hashlib.sha256()
        size_bytes = 0
        async with aclosing(await self.blobs.open(self.project_id, digest)) as reader:
            async for chunk in reader:
                if len(chunk) > _HASHED_IN_LOOP_BYTES:
                    await anyio.to_thread.run_sync(sha256.update, chunk)
                else:
                    sha256.update(chunk)
                size_bytes += len(chunk)
                if advance is not None:
                    advance(len(chunk))
                if self.pace is not None:
                    await self.pace(len(chunk))
        return sha256.hexdigest(), size_bytes

    async def _quarantine(self, damaged: ListedBlob) -> bool:
        """Move a damaged blob into quarantine, unless it was replaced since it was checked.

        The blob is claimed as for a removal, so a concurrent write of the same blob fails.

        Returns:
            True if the blob was moved.
        """
        claim_time = ClaimTime()
        claim = await self.records.write(
            self.project_id,
            lambda unit: unit[SweptBlobRecords].claim_needed(damaged.digest),
            is_alone=True,
        )
        if claim is None or not claim.digests:
            return False
        is_unchanged = await self.blobs.find(self.project_id, damaged.digest) == damaged
        may_move = is_unchanged and not claim_time.is_over()
        if may_move:
            await self.blobs.quarantine(self.project_id, damaged.digest)
        # If `quarantine` raises an error, the store may still move the blob later. So the claim is
        # not ended, but expires.
        await self.records.write(
            self.project_id,
            lambda unit: unit[SweptBlobRecords].end_claim(claim, claim.digests),
            is_alone=True,
        )
        return may_move


async def list_references(
    records: Records, project_id: str, after: str, *, end: str | None = None, limit: int
) -> list[list[BlobReference]]:
    """Return the rows that need the blobs of a project, grouped by blob, in order of digest.

    Args:
        records: Stores the rows that need blobs.
        project_id: The project.
        after: The digest, or the beginning of a digest, after which the list starts.
        end: The digest, or the beginning of a digest, before which the list ends; `None` for no
            end.
        limit: The maximum number of blobs.
    """

    def find(unit: UnitOfWork) -> Sequence[BlobReference]:
        digests = unit[BlobReferenceRecords].list_digests(after=after, limit=limit)
        return unit[BlobReferenceRecords].find(
            [digest for digest in digests if end is None or digest < end]
        )

    rows = await records.read(project_id, find)
    return [list(group) for _, group in groupby(rows, key=lambda row: row.digest)]
