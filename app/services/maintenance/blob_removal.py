"""Finds blobs that no row needs, and removes them.

Blobs are claimed before they are removed, so that no concurrent request writes a row that needs
them; see `app.stores.records.swept_blobs`.
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

_REMOVED_AT_ONCE = 8
_CLAIM_ATTEMPTS = 3
_BETWEEN_ATTEMPTS_SECONDS = 1.0
_log = structlog.get_logger(__name__)


async def unneeded_blobs(
    records: Records, blobs: BlobStore, project_id: str
) -> AsyncGenerator[tuple[int, Sequence[ListedBlob]], None]:
    """Yield the blobs of a project that no row needs now, in batches of at most 500 blobs.

    Each batch comes with the number of blobs that were examined for it. Rows are read without a
    lock, so that no write waits for a sweep if there is no garbage.
    """
    async with aclosing(blobs.list_blobs(project_id)) as listed:
        while batch := await _next_batch(listed):
            needed = await records.read(project_id, partial(_find_needed, batch))
            yield len(batch), [blob for blob in batch if blob.digest not in needed]


async def _next_batch(listed: AsyncIterator[ListedBlob]) -> list[ListedBlob]:
    batch: list[ListedBlob] = []
    async for blob in listed:
        batch.append(blob)
        if len(batch) == DIGESTS_AT_ONCE:
            break
    return batch


def _find_needed(batch: Sequence[ListedBlob], unit: UnitOfWork) -> set[str]:
    return unit[BlobReferenceRecords].find_needed([blob.digest for blob in batch])


class ClaimTime:
    """The time during which a claim allows removals.

    Create it before the claim is made. It is checked before each batch of removals, so the last
    batch may end later; a claim expires minutes after this time. The monotonic clock stops while
    the machine is suspended, and the wall clock may be changed. So the longer time of the two
    counts.
    """

    def __init__(self) -> None:
        self._monotonic = time.monotonic()
        self._wall = time.time()

    def is_over(self) -> bool:
        """Return True if the claim does not allow removals any more."""
        passed = max(time.monotonic() - self._monotonic, time.time() - self._wall)
        return passed > CLAIM_SECONDS


@dataclass(frozen=True, slots=True)
class BlobRemoval:
    """Removes blobs by digest, unless a row needs them.

    If a request has stored the same bytes, but has not written its row yet, it gets a
    `BlobSweptError`, and stores the bytes again.
    """

    records: Records
    """Stores claims, and the rows that need blobs."""
    blobs: BlobStore

    async def remove_in_steps(
        self, project_id: str, digests: Sequence[str]
    ) -> AsyncGenerator[Sequence[str], None]:
        """Remove blobs, at most 500, except those that a row needs, and yield the removed digests.

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
            # If the time of the claim ended early, the other digests are claimed again.
            remaining = claim.digests[len(removed) :]

    async def remove(self, project_id: str, digests: Sequence[str]) -> None:
        """Remove blobs, at most 500, except those that a row needs.

        Raises:
            StoreUnavailableError: See `remove_in_steps`.
        """
        async for _ in self.remove_in_steps(project_id, digests):
            pass

    async def _claim(self, project_id: str, digests: Collection[str]) -> BlobClaim | None:
        for attempt in range(_CLAIM_ATTEMPTS):
            if attempt:
                await anyio.sleep(_BETWEEN_ATTEMPTS_SECONDS)
            claim = await self._claim_once(project_id, digests)
            if claim is not None:
                return claim
        return None

    async def _claim_once(self, project_id: str, digests: Collection[str]) -> BlobClaim | None:
        # The lock of a claim excludes all writers, so the claim is not committed with other writes.
        claiming = asyncio.ensure_future(
            self.records.write(
                project_id, lambda unit: unit[SweptBlobRecords].claim(digests), is_alone=True
            )
        )
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            # The claim is committed in spite of the cancellation. It is ended here, because writes
            # would be refused until it expired.
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
        """Remove blobs in order while the claim lasts; return the removed digests."""
        removed: list[str] = []
        uncertain: set[str] = set()
        try:
            for start in range(0, len(claim.digests), _REMOVED_AT_ONCE):
                if claim_time.is_over():
                    break
                batch = claim.digests[start : start + _REMOVED_AT_ONCE]
                # The store may still execute a removal that has failed or was cancelled. So its
                # claim is not ended, but left to expire.
                uncertain = set(batch)
                await self._delete(project_id, batch)
                reach_crash_point(CrashPoint.BLOBS_DELETED)
                uncertain = set()
                removed += batch
        finally:
            # Blobs that were removed, and blobs that were not tried.
            to_release = [digest for digest in claim.digests if digest not in uncertain]
            with anyio.CancelScope(shield=True):
                await self._end_claim(project_id, claim, to_release)
                reach_crash_point(CrashPoint.CLAIM_DROPPED)
        return removed

    async def _delete(self, project_id: str, batch: Sequence[str]) -> None:
        deletions = (self.blobs.delete(project_id, digest) for digest in batch)
        for outcome in await asyncio.gather(*deletions, return_exceptions=True):
            if outcome is not None:
                raise outcome
