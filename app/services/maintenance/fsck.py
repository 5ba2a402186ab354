"""The check of the stores: every row has its blob, and every blob has its digest.

Blobs are read through and hashed; nothing is trusted because of its name. What looks wrong is
looked at a second time before it is told, since files come and go while the check runs. A repair
moves damaged blobs out of sight, so that wrong bytes are never served: the same file, uploaded
again, heals the row. It never changes a row.
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
# Below it, a worker thread costs more than the hashing.
_HASHED_AT_ONCE_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class StoreFault:
    """Rows, by name, whose blob is not what they say; whether it was moved out of sight."""

    project_id: str
    digest: str
    kind: FaultKind
    owners: tuple[str, ...]
    is_quarantined: bool = False


@dataclass(slots=True)
class StoreCheckReport:
    """The result of a check. `unneeded` counts blobs without a reference, which is no fault."""

    blobs: int = 0
    bytes_read: int = 0
    unneeded: int = 0
    faults: int = 0


FaultFound: TypeAlias = Callable[[StoreFault], None]
"""Told of each fault as it is found."""

ReadProgress: TypeAlias = Callable[[int, int], None]
"""Told how many bytes were read, and how many there are in all."""

Pace: TypeAlias = Callable[[int], Awaitable[None]]
"""Waits until more may be read than the bytes that were."""


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """Checks all projects of the database."""

    records: Records
    blobs: BlobStore

    async def run(
        self, found: FaultFound, *, repair: bool = False, progress: ReadProgress | None = None
    ) -> StoreCheckReport:
        """Check everything; takes as long as reading all blobs does.

        Args:
            found: Told of each fault.
            repair: Whether to move damaged blobs out of sight.
            progress: Told how far it is.

        Raises:
            StoreUnavailableError: A store did not answer, so the rest is not known.
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
            await self._check_project(check, report, found, advance)
            async with aclosing(unneeded_blobs(self.records, self.blobs, project_id)) as batches:
                report.unneeded += sum([len(garbage) async for _, garbage in batches])
        return report

    async def _check_project(
        self,
        check: "BlobCheck",
        report: StoreCheckReport,
        found: FaultFound,
        advance: Callable[[int], None],
    ) -> None:
        last = ""
        while batch := await rows_behind(
            self.records, check.project_id, last, limit=_DIGESTS_AT_ONCE
        ):
            last = batch[-1][0].digest
            for start in range(0, len(batch), _BLOBS_AT_ONCE):
                several = batch[start : start + _BLOBS_AT_ONCE]
                report.blobs += len(several)
                checks = (check.run(rows, advance) for rows in several)
                for outcome in await asyncio.gather(*checks, return_exceptions=True):
                    if isinstance(outcome, BaseException):
                        raise outcome
                    if outcome is not None:
                        report.faults += 1
                        found(outcome)


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
    """Awaited with the number of bytes behind each piece that is read."""

    async def run(
        self, rows: Sequence[BlobReference], advance: Callable[[int], None]
    ) -> StoreFault | None:
        """Return what is wrong with a blob that some rows need; `None` if it is sound.

        Args:
            rows: All rows that need it, one at least.
            advance: Told of the bytes of each piece, the first time the blob is read.

        Raises:
            StoreUnavailableError: A store did not answer, so nothing is known.
        """
        digest = rows[0].digest
        kind, wrong = await self._fault(digest, rows, advance)
        if kind is None:
            return None
        blob = await self.blobs.find(self.project_id, digest)
        kind, wrong = await self._fault(digest, wrong)
        # Rows that have been there all the while had a right to their blob all the while.
        still_there = await self.records.read(
            self.project_id, lambda unit: set(unit[BlobReferenceRecords].of([digest]))
        )
        wrong = [row for row in wrong if row in still_there]
        if kind is None or not wrong:
            return None
        moved = (
            self.repair
            and kind == "damaged"
            and blob
            and await run_to_completion(self._quarantine(blob))
        )
        owners = tuple(row.owner for row in wrong)
        return StoreFault(self.project_id, digest, kind, owners, bool(moved))

    async def _fault(
        self,
        digest: str,
        rows: Sequence[BlobReference],
        advance: Callable[[int], None] | None = None,
    ) -> tuple[FaultKind | None, Sequence[BlobReference]]:
        """Return what is wrong with a blob, and the rows for which it is."""
        kind: FaultKind
        try:
            actual, size_bytes = await self._hashed(digest, advance)
        except BlobMissingError:
            kind = "missing"
        except StoreUnavailableError:
            kind = "unreadable"
        else:
            if actual != digest:
                return "damaged", rows
            wrong = [row for row in rows if row.size_bytes != size_bytes]
            return ("wrong-size", wrong) if wrong else (None, ())
        # One file that cannot be had is a finding; a store that does not answer is none.
        # Neither is one that is full: it is read from.
        with suppress(StoreFullError):
            await self.blobs.check()
        return kind, rows

    async def _hashed(self, digest: str, advance: Callable[[int], None] | None) -> tuple[str, int]:
        """Return the digest that a blob's bytes have, and how many they are."""
        hashing = hashlib.sha256()
        size_bytes = 0
        async with aclosing(await self.blobs.open(self.project_id, digest)) as pieces:
            async for piece in pieces:
                if len(piece) > _HASHED_AT_ONCE_BYTES:
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
        """Move a damaged blob out of sight, unless it was put anew; says whether it was moved.

        Behind a claim, as a removal is: a write that puts the blob again meanwhile is refused.
        """
        time = ClaimTime()
        claim = await self.records.write(
            self.project_id,
            lambda unit: unit[SweptBlobRecords].claim_needed(damaged.digest),
            is_alone=True,
        )
        if claim is None or not claim.digests:
            return False
        is_the_same = await self.blobs.find(self.project_id, damaged.digest) == damaged
        may_move = is_the_same and not time.is_over()
        if may_move:
            await self.blobs.quarantine(self.project_id, damaged.digest)
        # Not after an error: a move that failed may still come to pass.
        await self.records.write(
            self.project_id,
            lambda unit: unit[SweptBlobRecords].note_over(claim, claim.digests),
            is_alone=True,
        )
        return may_move


async def rows_behind(
    records: Records, project_id: str, after: str, *, end: str | None = None, limit: int
) -> list[list[BlobReference]]:
    """Return the rows of up to `limit` blobs of a project, by blob, in the order of their digests.

    Args:
        records: What refers to blobs.
        project_id: The project.
        after: A digest, or the beginning of one; those behind it are wanted.
        end: The same; those from it on are not.
        limit: How many blobs.
    """

    def rows(unit: UnitOfWork) -> Sequence[BlobReference]:
        digests = unit[BlobReferenceRecords].digests(after=after, limit=limit)
        return unit[BlobReferenceRecords].of(
            [each for each in digests if end is None or each < end]
        )

    found = await records.read(project_id, rows)
    return [list(group) for _, group in groupby(found, key=lambda row: row.digest)]
