"""The check of the stores: every row has its blob, and every blob has its digest.

Blobs are read and hashed; their names are not trusted. Files change while the check runs, so a
fault is reported only if a second check finds it, too. A repair moves damaged blobs into
quarantine, so that wrong bytes are never served. Uploading the same file again repairs the row. The
check never changes a row.
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
from app.services.maintenance.blob_removal import ClaimTime, unneeded_blobs
from app.stores.blobs.store import BlobMissingError, BlobStore, ListedBlob
from app.stores.records.records import Records
from app.stores.records.swept_blobs import BlobReference, BlobReferenceRecords, SweptBlobRecords
from app.stores.records.unit_of_work import UnitOfWork

_DIGESTS_AT_ONCE = 500
_BLOBS_AT_ONCE = 4
# Pieces up to this size are hashed in the event loop, which costs less than a worker thread.
_HASHED_IN_LOOP_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class StoreFault:
    """A fault of a blob, with the rows that need it. `is_quarantined` is set by a repair."""

    project_id: str
    digest: str
    kind: FaultKind
    owners: tuple[str, ...]
    is_quarantined: bool = False


@dataclass(slots=True)
class StoreCheckReport:
    """The result of a check. `unneeded` counts blobs without a reference, which are no fault."""

    blobs: int = 0
    bytes_read: int = 0
    unneeded: int = 0
    faults: int = 0


ReportFault: TypeAlias = Callable[[StoreFault], None]
"""Receives each fault when it is found."""

ReadProgress: TypeAlias = Callable[[int, int], None]
"""Receives the number of bytes read so far, and of all bytes."""

Pace: TypeAlias = Callable[[int], Awaitable[None]]
"""Waits after reading a number of bytes, until more may be read."""


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
        """Check all projects; reads all blobs.

        Args:
            report_fault: Receives each fault.
            repair: Whether to move damaged blobs into quarantine.
            progress: Receives the progress.

        Raises:
            StoreUnavailableError: A store did not answer, so the check is incomplete.
        """
        project_ids = await self.records.read_projects(lambda projects: projects.list_ids())
        total = 0
        for project_id in project_ids:
            total += await self.records.read(
                project_id, lambda unit: unit[BlobReferenceRecords].bytes_needed()
            )
        report = StoreCheckReport()

        def advance(size_bytes: int) -> None:
            report.bytes_read += size_bytes
            if progress is not None:
                progress(report.bytes_read, max(total, report.bytes_read))

        for project_id in project_ids:
            check = BlobCheck(self.records, self.blobs, project_id, repair=repair)
            await self._check_project(check, report, report_fault, advance)
            async with aclosing(unneeded_blobs(self.records, self.blobs, project_id)) as batches:
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
        while batch := await rows_after(
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
    """The check of single blobs of one project."""

    records: Records
    """The records that refer to blobs."""
    blobs: BlobStore
    """The store of the blobs."""
    project_id: str
    """The project."""
    repair: bool
    """True if damaged blobs are moved into quarantine."""
    pace: Pace | None = None
    """Awaited after each piece with its number of bytes."""

    async def run(
        self, rows: Sequence[BlobReference], advance: Callable[[int], None]
    ) -> StoreFault | None:
        """Check a blob that rows need; return its fault, or `None` if it is intact.

        Args:
            rows: All rows that need it, at least one.
            advance: Receives the size of each piece when the blob is read first.

        Raises:
            StoreUnavailableError: A store did not answer, so the result is unknown.
        """
        digest = rows[0].digest
        kind, affected = await self._find_fault(digest, rows, advance)
        if kind is None:
            return None
        blob = await self.blobs.find(self.project_id, digest)
        kind, affected = await self._find_fault(digest, affected)
        # Only rows that existed during both checks count: their blob had to exist as well.
        existing = await self.records.read(
            self.project_id, lambda unit: set(unit[BlobReferenceRecords].of([digest]))
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
        # A fault needs a store that works otherwise. A full store can still be read.
        with suppress(StoreFullError):
            await self.blobs.check()
        return kind, rows

    async def _hash_blob(
        self, digest: str, advance: Callable[[int], None] | None
    ) -> tuple[str, int]:
        """Return the digest and size of a blob's bytes."""
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
        """Move a damaged blob into quarantine unless it was replaced; return True if it was moved.

        It is claimed like a removal, so a concurrent write of the same blob is refused.
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
        # After an error, the claim is left to expire: a failed move may still happen later.
        await self.records.write(
            self.project_id,
            lambda unit: unit[SweptBlobRecords].end_claim(claim, claim.digests),
            is_alone=True,
        )
        return may_move


async def rows_after(
    records: Records, project_id: str, after: str, *, end: str | None = None, limit: int
) -> list[list[BlobReference]]:
    """Return the rows of up to `limit` blobs of a project, grouped by blob, in order of digest.

    Args:
        records: The records that refer to blobs.
        project_id: The project.
        after: A digest or its beginning, after which the blobs begin.
        end: A digest or its beginning, before which the blobs end.
        limit: The maximum of blobs.
    """

    def rows(unit: UnitOfWork) -> Sequence[BlobReference]:
        digests = unit[BlobReferenceRecords].digests(after=after, limit=limit)
        return unit[BlobReferenceRecords].of(
            [digest for digest in digests if end is None or digest < end]
        )

    found = await records.read(project_id, rows)
    return [list(group) for _, group in groupby(found, key=lambda row: row.digest)]
