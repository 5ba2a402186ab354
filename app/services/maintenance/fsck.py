"""The check of the stores: every row has its blob, and every blob has its digest.

Blobs are read through and hashed; nothing is trusted because of its name. What looks wrong is
looked at a second time before it is told, since files come and go while the check runs. A repair
moves damaged blobs out of sight, so that wrong bytes are never served: the same file, uploaded
again, heals the row. It never changes a row.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TypeAlias

import anyio.to_thread

from app.errors import StoreFullError, StoreUnavailableError
from app.models.store_damage import FaultKind
from app.services.concurrency.background import run_to_completion
from app.services.maintenance.claim_time import ClaimTime
from app.stores.blobs import BlobMissingError, BlobStore, ListedBlob
from app.stores.records import Records, UnitOfWork
from app.stores.records.blob_references import BlobReference

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


@dataclass(frozen=True, slots=True)
class StoreCheckReport:
    """What was checked. `unneeded` counts blobs that nothing refers to, which is no fault."""

    blobs: int
    bytes_read: int
    unneeded: int
    faults: int


FaultFound: TypeAlias = Callable[[StoreFault], None]
"""Told of each fault as it is found."""

Progress: TypeAlias = Callable[[int, int], None]
"""Told how many bytes were read, and how many there are in all."""

Pace: TypeAlias = Callable[[int], Awaitable[None]]
"""Waits until more may be read than the bytes that were."""


class StoreCheck:
    """Checks all projects of the database."""

    def __init__(self, records: Records, blobs: BlobStore) -> None:
        self._records = records
        self._blobs = blobs

    async def run(
        self, found: FaultFound, *, repair: bool = False, progress: Progress | None = None
    ) -> StoreCheckReport:
        """Check everything; takes as long as reading all blobs does.

        Args:
            found: Told of each fault.
            repair: Whether to move damaged blobs out of sight.
            progress: Told how far it is.

        Raises:
            StoreUnavailableError: A store did not answer, so the rest is not known.
        """
        project_ids = await self._records.read_projects(lambda projects: projects.list_ids())
        total = 0
        for project_id in project_ids:
            total += await self._records.read(
                project_id, lambda unit: unit.blob_references.bytes_needed()
            )
        tally = _Tally(total, found, progress)
        for project_id in project_ids:
            check = _ProjectCheck(self._records, self._blobs, project_id, tally, repair=repair)
            await check.run()
        return StoreCheckReport(tally.blobs, tally.bytes_read, tally.unneeded, tally.faults)


class _Tally:
    """What has been seen so far."""

    def __init__(self, total_bytes: int, found: FaultFound, progress: Progress | None) -> None:
        self._total_bytes = total_bytes
        self._found = found
        self._progress = progress
        self.blobs = 0
        self.bytes_read = 0
        self.unneeded = 0
        self.faults = 0

    def read(self, size_bytes: int) -> None:
        self.bytes_read += size_bytes
        if self._progress is not None:
            self._progress(self.bytes_read, max(self._total_bytes, self.bytes_read))

    def add(self, fault: StoreFault) -> None:
        self.faults += 1
        self._found(fault)


class BlobCheck:
    """The check of single blobs of one project.

    Args:
        records: What refers to them.
        blobs: Where they are.
        project_id: The project.
        repair: Whether to move damaged blobs out of sight.
        pace: Awaited with the number of bytes behind each piece that is read.
    """

    def __init__(
        self,
        records: Records,
        blobs: BlobStore,
        project_id: str,
        *,
        repair: bool,
        pace: Pace | None = None,
    ) -> None:
        self._records = records
        self._blobs = blobs
        self._project_id = project_id
        self._repair = repair
        self._pace = pace

    async def run(
        self, rows: Sequence[BlobReference], advance: Callable[[int], None]
    ) -> StoreFault | None:
        """What is wrong with a blob that some rows need; `None` if it is sound.

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
        blob = await self._blobs.find(self._project_id, digest)
        kind, wrong = await self._fault(digest, wrong)
        # Rows that have been there all the while had a right to their blob all the while.
        wrong = await self._still_there(digest, wrong)
        if kind is None or not wrong:
            return None
        moved = (
            self._repair
            and kind == "damaged"
            and blob
            and await run_to_completion(self._quarantine(blob))
        )
        owners = tuple(row.owner for row in wrong)
        return StoreFault(self._project_id, digest, kind, owners, bool(moved))

    async def _fault(
        self,
        digest: str,
        rows: Sequence[BlobReference],
        advance: Callable[[int], None] | None = None,
    ) -> tuple[FaultKind | None, Sequence[BlobReference]]:
        """What is wrong with a blob, and the rows for which it is."""
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
            await self._blobs.check()
        return kind, rows

    async def _hashed(self, digest: str, advance: Callable[[int], None] | None) -> tuple[str, int]:
        """The digest that a blob's bytes have, and how many they are."""
        hashing = hashlib.sha256()
        size_bytes = 0
        async with aclosing(await self._blobs.open(self._project_id, digest)) as pieces:
            async for piece in pieces:
                if len(piece) > _HASHED_AT_ONCE_BYTES:
                    await anyio.to_thread.run_sync(hashing.update, piece)
                else:
                    hashing.update(piece)
                size_bytes += len(piece)
                if advance is not None:
                    advance(len(piece))
                if self._pace is not None:
                    await self._pace(len(piece))
        return hashing.hexdigest(), size_bytes

    async def _still_there(
        self, digest: str, rows: Sequence[BlobReference]
    ) -> Sequence[BlobReference]:
        now = await self._records.read(
            self._project_id, lambda unit: set(unit.blob_references.of([digest]))
        )
        return [row for row in rows if row in now]

    async def _quarantine(self, damaged: ListedBlob) -> bool:
        """Move a damaged blob out of sight, unless it was put anew; says whether it was moved.

        Behind a claim, as a removal is: a write that puts the blob again meanwhile is refused.
        """
        time = ClaimTime()
        claim = await self._records.write(
            self._project_id,
            lambda unit: unit.swept_blobs.claim_needed(damaged.digest),
            is_alone=True,
        )
        if claim is None or not claim.digests:
            return False
        is_the_same = await self._blobs.find(self._project_id, damaged.digest) == damaged
        may_move = is_the_same and not time.is_over()
        if may_move:
            await self._blobs.quarantine(self._project_id, damaged.digest)
        # Not after an error: a move that failed may still come to pass.
        await self._records.write(
            self._project_id,
            lambda unit: unit.swept_blobs.note_over(claim, claim.digests),
            is_alone=True,
        )
        return may_move


class _ProjectCheck:
    """The check of one project."""

    def __init__(
        self,
        records: Records,
        blobs: BlobStore,
        project_id: str,
        tally: _Tally,
        *,
        repair: bool,
    ) -> None:
        self._records = records
        self._blobs = blobs
        self._project_id = project_id
        self._tally = tally
        self._blob_check = BlobCheck(records, blobs, project_id, repair=repair)

    async def run(self) -> None:
        async for batch in self._needed():
            for start in range(0, len(batch), _BLOBS_AT_ONCE):
                checks = (self._check(rows) for rows in batch[start : start + _BLOBS_AT_ONCE])
                for outcome in await asyncio.gather(*checks, return_exceptions=True):
                    if isinstance(outcome, BaseException):
                        raise outcome
                    if outcome is not None:
                        self._tally.add(outcome)
        await self._count_unneeded()

    async def _needed(self) -> AsyncIterator[list[Sequence[BlobReference]]]:
        """The rows of each blob that rows need, some hundred blobs at a time."""
        last = ""
        while True:
            digests, rows = await self._records.read(self._project_id, partial(_behind, last))
            if not digests:
                return
            yield [list(group) for _, group in groupby(rows, key=lambda row: row.digest)]
            last = digests[-1]

    async def _check(self, rows: Sequence[BlobReference]) -> StoreFault | None:
        self._tally.blobs += 1
        return await self._blob_check.run(rows, self._tally.read)

    async def _count_unneeded(self) -> None:
        batch: list[str] = []
        async with aclosing(self._blobs.listed(self._project_id)) as listed:
            async for blob in listed:
                batch.append(blob.digest)
                if len(batch) == _DIGESTS_AT_ONCE:
                    await self._count_unneeded_among(batch)
                    batch = []
        await self._count_unneeded_among(batch)

    async def _count_unneeded_among(self, digests: Iterable[str]) -> None:
        listed = set(digests)
        needed = await self._records.read(
            self._project_id, lambda unit: unit.blob_references.needed(listed)
        )
        self._tally.unneeded += len(listed - needed)


def _behind(last: str, unit: UnitOfWork) -> tuple[Sequence[str], Sequence[BlobReference]]:
    """Some digests that rows need, in order, and their rows."""
    digests = unit.blob_references.digests(after=last, limit=_DIGESTS_AT_ONCE)
    return digests, unit.blob_references.of(digests)
