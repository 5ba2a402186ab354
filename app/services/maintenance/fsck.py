"""Checks the stores: each row has its blob, and each blob has the bytes of its digest.

All blobs are read and hashed, as their names may be wrong. Files may change while the check runs,
so a fault is reported only if a second check finds it as well. A repair moves damaged blobs into
quarantine, so that wrong bytes are not served. It changes no rows: if the client uploads the same
file again, the row has its blob again.
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

_DIGESTS_AT_ONCE = 500
_BLOBS_AT_ONCE = 4
# Pieces up to this size are hashed in the event loop, as starting a thread would take longer.
_HASHED_IN_LOOP_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class StoreFault:
    """A fault of a blob."""

    project_id: str
    digest: str
    kind: FaultKind
    owners: tuple[str, ...]
    """The names of the records that need the blob."""
    is_quarantined: bool = False
    """True if a repair has moved the blob into quarantine."""


@dataclass(slots=True)
class StoreCheckReport:
    """The numbers of a check so far."""

    blobs: int = 0
    """The number of checked blobs."""
    bytes_read: int = 0
    unneeded: int = 0
    """The number of blobs that no row needs, which is no fault."""
    faults: int = 0


ReportFault: TypeAlias = Callable[[StoreFault], None]
"""Called with each fault when it is found."""

ReadProgress: TypeAlias = Callable[[int, int], None]
"""Called with the number of bytes that were read so far, and the number of all bytes."""

Pace: TypeAlias = Callable[[int], Awaitable[None]]
"""Called with the number of bytes that were read; waits until more may be read."""


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
        """Check all projects. All blobs are read.

        Args:
            report_fault: Called with each fault.
            repair: True to move damaged blobs into quarantine.
            progress: Called after each piece of a blob.

        Raises:
            StoreUnavailableError: A store did not answer, so the check is incomplete.
        """
        project_ids = await self.records.read_projects(lambda projects: projects.list_ids())
        total = 0
        for project_id in project_ids:
            total += await self.records.read(
                project_id, lambda unit: unit[BlobReferenceRecords].sum_needed_bytes()
            )
        report = StoreCheckReport()

        def advance(size_bytes: int) -> None:
            report.bytes_read += size_bytes
            if progress is not None:
                progress(report.bytes_read, max(total, report.bytes_read))

        for project_id in project_ids:
            check = BlobCheck(self.records, self.blobs, project_id, repair=repair)
            await self._check_project(check, report, report_fault, advance)
            async with aclosing(
                find_unneeded_blobs(self.records, self.blobs, project_id)
            ) as batches:
                report.unneeded += sum([len(garbage) async for _, garbage in batches])
        return report

    async def _check_project(
        self,
        check: "BlobCheck",
        report: StoreCheckReport,
        report_fault: ReportFault,
        advance: Callable[[int], None],
    ) -> None:
        last = ""
        while batch := await list_references(
            self.records, check.project_id, last, limit=_DIGESTS_AT_ONCE
        ):
            last = batch[-1][0].digest
            for start in range(0, len(batch), _BLOBS_AT_ONCE):
                group = batch[start : start + _BLOBS_AT_ONCE]
                report.blobs += len(group)
                checks = (check.run(rows, advance) for rows in group)
                for outcome in await asyncio.gather(*checks, return_exceptions=True):
                    if isinstance(outcome, BaseException):
                        raise outcome
                    if outcome is not None:
                        report.faults += 1
                        report_fault(outcome)


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

    async def run(
        self, rows: Sequence[BlobReference], advance: Callable[[int], None]
    ) -> StoreFault | None:
        """Check a blob that rows need; return its fault, or `None` if it has none.

        Args:
            rows: All rows that need the blob; at least one.
            advance: Called with the size of each piece, in the first of the two checks.

        Raises:
            StoreUnavailableError: A store did not answer, so the result is unknown.
        """
        digest = rows[0].digest
        kind, affected = await self._find_fault(digest, rows, advance)
        if kind is None:
            return None
        blob = await self.blobs.find(self.project_id, digest)
        kind, affected = await self._find_fault(digest, affected)
        # A row may be deleted between the checks, and its blob with it. So only rows that exist
        # after both checks count.
        existing = await self.records.read(
            self.project_id, lambda unit: set(unit[BlobReferenceRecords].find([digest]))
        )
        affected = [row for row in affected if row in existing]
        if kind is None or not affected:
            return None
        moved = (
            self.repair
            and kind == "damaged"
            and blob
            and await run_to_completion(self._quarantine(blob))
        )
        owners = tuple(row.owner for row in affected)
        return StoreFault(self.project_id, digest, kind, owners, bool(moved))

    async def _find_fault(
        self,
        digest: str,
        rows: Sequence[BlobReference],
        advance: Callable[[int], None] | None = None,
    ) -> tuple[FaultKind | None, Sequence[BlobReference]]:
        """Return the fault of a blob, and the rows that it affects."""
        kind: FaultKind
        try:
            actual, size_bytes = await self._hash_blob(digest, advance)
        except BlobMissingError:
            kind = "missing"
        except StoreUnavailableError:
            kind = "unreadable"
        else:
            if actual != digest:
                return "damaged", rows
            wrong = [row for row in rows if row.size_bytes != size_bytes]
            return ("wrong-size", wrong) if wrong else (None, ())
        # If the store does not work at all, this raises, and there is no fault to report. A full
        # store can still be read.
        with suppress(StoreFullError):
            await self.blobs.check()
        return kind, rows

    async def _hash_blob(
        self, digest: str, advance: Callable[[int], None] | None
    ) -> tuple[str, int]:
        """Return the digest and the size of the stored bytes of a blob."""
        hashing = hashlib.sha256()
        size_bytes = 0
        async with aclosing(await self.blobs.open(self.project_id, digest)) as pieces:
            async for piece in pieces:
                if len(piece) > _HASHED_IN_LOOP_BYTES:
                    await anyio.to_thread.run_sync(hashing.update, piece)
                else:
                    hashing.update(piece)
                size_bytes += len(piece)
                if advance is not None:
                    advance(len(piece))
                if self.pace is not None:
                    await self.pace(len(piece))
        return hashing.hexdigest(), size_bytes

    async def _quarantine(self, damaged: ListedBlob) -> bool:
        """Move a damaged blob into quarantine, unless it was replaced; return True if it was moved.

        The blob is claimed as for a removal, so a concurrent write of the same blob fails.
        """
        time = ClaimTime()
        claim = await self.records.write(
            self.project_id,
            lambda unit: unit[SweptBlobRecords].claim_needed(damaged.digest),
            is_alone=True,
        )
        if claim is None or not claim.digests:
            return False
        is_unchanged = await self.blobs.find(self.project_id, damaged.digest) == damaged
        may_move = is_unchanged and not time.is_over()
        if may_move:
            await self.blobs.quarantine(self.project_id, damaged.digest)
        # After an error, the claim is left to expire, because the store may still move the blob.
        await self.records.write(
            self.project_id,
            lambda unit: unit[SweptBlobRecords].end_claim(claim, claim.digests),
            is_alone=True,
        )
        return may_move


async def list_references(
    records: Records, project_id: str, after: str, *, end: str | None = None, limit: int
) -> list[list[BlobReference]]:
    """Return the references to up to `limit` blobs of a project, grouped by blob.

    Args:
        records: Stores the rows that need blobs.
        project_id: The project.
        after: A digest, or the beginning of one. Blobs after it are returned, in order of digest.
        end: A digest, or the beginning of one, at which the list ends. It is excluded.
        limit: The maximum number of blobs.
    """

    def find(unit: UnitOfWork) -> Sequence[BlobReference]:
        digests = unit[BlobReferenceRecords].list_digests(after=after, limit=limit)
        return unit[BlobReferenceRecords].find(
            [digest for digest in digests if end is None or digest < end]
        )

    found = await records.read(project_id, find)
    return [list(group) for _, group in groupby(found, key=lambda row: row.digest)]
