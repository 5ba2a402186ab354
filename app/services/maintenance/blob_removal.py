"""Finds the blobs that no row needs, and removes them.

Before a blob is removed, a row *claims* it. While the claim lasts, no request can commit a row that
needs the blob; see `app.stores.records.swept_blobs`.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial

import anyio
import structlog

from app.crash_points import CrashPoint, reach_crash_point
from app.stores.blobs.store import BlobStore, ListedBlob
from app.stores.records.records import Records
from app.stores.records.swept_blobs import (
    CLAIM_SECONDS,
    DIGESTS_AT_ONCE,
    BlobClaim,
    BlobReferenceRecords,
    SweptBlobRecords,
)
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import PagefaultError

_CONCURRENT_REMOVALS = 8
_CLAIM_ATTEMPTS = 3
_RETRY_SECONDS = 1.0
_log = structlog.get_logger(__name__)


async def find_unneeded_blobs(
    records: Records, blobs: BlobStore, project_id: str
) -> AsyncGenerator[tuple[int, Sequence[ListedBlob]], None]:
    """Yield the blobs of a project that no row needs now, in batches of at most 500 blobs.

    Rows are read without a lock, so no write has to wait if there is no garbage.

    Yields:
        The number of blobs that were examined for the batch, and the unneeded blobs among them.
    """
    async with aclosing(blobs.list_blobs(project_id)) as listed:
        while batch := await _take_batch(listed):
            needed = await records.read(project_id, partial(_find_needed, batch))
            yield len(batch), [blob for blob in batch if blob.digest not in needed]


async def _take_batch(listed: AsyncIterator[ListedBlob]) -> list[ListedBlob]:
    batch: list[ListedBlob] = []
    async for blob in listed:
        batch.append(blob)
        if len(batch) == DIGESTS_AT_ONCE:
            break
    return batch


def _find_needed(batch: Sequence[ListedBlob], unit: UnitOfWork) -> set[str]:
    return unit[BlobReferenceRecords].find_needed([blob.digest for blob in batch])


class ClaimTime:
    """Measures how long a claim has lasted. After `CLAIM_SECONDS`, no removal may begin.

    Create it before the claim is made. A removal that has begun may end later, because the claim
    itself expires some minutes after `CLAIM_SECONDS`. The monotonic clock stops while the machine
    is suspended, and the wall clock may be changed. So the longer of the two times counts.
    """

    def __init__(self) -> None:
        self._monotonic = time.monotonic()
        self._wall = time.time()

    def is_over(self) -> bool:
        """Return True if no further removal may begin."""
        elapsed = max(time.monotonic() - self._monotonic, time.time() - self._wall)
        return elapsed > CLAIM_SECONDS


@dataclass(frozen=True, slots=True)
class BlobRemoval:
    """Removes blobs by digest, unless a row needs them.

    A request may have stored the same bytes, and not have committed its row yet. It then gets a
    `BlobSweptError`, and stores the bytes again.
    """

    records: Records
    """Stores claims, and the rows that need blobs."""
    blobs: BlobStore

    async def remove_in_steps(
        self, project_id: str, digests: Sequence[str]
    ) -> AsyncGenerator[Sequence[str], None]:
        """Remove blobs that no row needs, and yield the digests of those that were removed.

        Args:
            project_id: The project of the blobs.
            digests: The digests of the blobs, at most 500.

        Raises:
            StoreUnavailableError: A store did not answer. Earlier removals are not undone.
        """
        remaining: Sequence[str] = digests
        while remaining:
            claim_time = ClaimTime()
            claim = await self._claim(project_id, remaining)
            if claim is None:
                _log.warning("blobs left for the next sweep: a long write is under way")
                return
            if not claim.digests:
                return
            reach_crash_point(CrashPoint.BLOBS_CLAIMED)
            removed = await self._remove_claimed(project_id, claim, claim_time)
            yield removed
            if not removed:
                return
            # If the time of the claim was over before all were removed, the others are claimed
            # again.
            remaining = claim.digests[len(removed) :]

    async def remove(self, project_id: str, digests: Sequence[str]) -> None:
        """Remove blobs that no row needs; see `remove_in_steps`."""
        async for _ in self.remove_in_steps(project_id, digests):
            pass

    async def _claim(self, project_id: str, digests: Collection[str]) -> BlobClaim | None:
        """Claim blobs that no row needs; return `None` if a long write does not let it."""
        for attempt in range(_CLAIM_ATTEMPTS):
            if attempt:
                await anyio.sleep(_RETRY_SECONDS)
            claim = await self._claim_once(project_id, digests)
            if claim is not None:
                return claim
        return None

    async def _claim_once(self, project_id: str, digests: Collection[str]) -> BlobClaim | None:
        # A claim locks out all writers, so it does not share its commit with other writes.
        claiming = asyncio.ensure_future(
            self.records.write(
                project_id, lambda unit: unit[SweptBlobRecords].claim(digests), is_alone=True
            )
        )
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            # The cancellation does not stop the commit of the claim. The claim is ended here,
            # because writes that need the blobs would be refused until it expired.
            with anyio.CancelScope(shield=True), suppress(PagefaultError):
                claim = await claiming
                if claim is not None:
                    await self._end_claim(project_id, claim, claim.digests)
            raise

    async def _end_claim(self, project_id: str, claim: BlobClaim, digests: Collection[str]) -> None:
        await self.records.write(
            project_id, lambda unit: unit[SweptBlobRecords].end_claim(claim, digests), is_alone=True
        )

    async def _remove_claimed(
        self, project_id: str, claim: BlobClaim, claim_time: ClaimTime
    ) -> Sequence[str]:
        """Remove claimed blobs in order until the time of the claim is over, and end the claim.

        Returns:
            The removed digests, the first ones of the claim.
        """
        removed: list[str] = []
        uncertain: set[str] = set()
        try:
            for start in range(0, len(claim.digests), _CONCURRENT_REMOVALS):
                if claim_time.is_over():
                    break
                batch = claim.digests[start : start + _CONCURRENT_REMOVALS]
                # If a removal fails or is cancelled, the store may still execute it later. So the
                # claim of its blob is not ended, but expires.
                uncertain = set(batch)
                await self._delete(project_id, batch)
                reach_crash_point(CrashPoint.BLOBS_DELETED)
                uncertain = set()
                removed += batch
        finally:
            certain = [digest for digest in claim.digests if digest not in uncertain]
            with anyio.CancelScope(shield=True):
                await self._end_claim(project_id, claim, certain)
                reach_crash_point(CrashPoint.CLAIM_DROPPED)
        return removed

    async def _delete(self, project_id: str, batch: Sequence[str]) -> None:
        deletions = (self.blobs.delete(project_id, digest) for digest in batch)
        for outcome in await asyncio.gather(*deletions, return_exceptions=True):
            if outcome is not None:
                raise outcome
