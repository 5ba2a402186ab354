"""The quota of stored bytes of a project: bytes are reserved before they are stored, then counted.

Unlike the quotas of a key it is counted in the database, in separate short transactions, so that it
is correct across processes and after a crash. It counts each stored blob once, including garbage
that a sweep has not removed yet, and reservations.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import anyio
import structlog

from app.errors import StoredBytesQuotaError
from app.models.identity import new_id, utc_now
from app.services.concurrency.background import log_failures, run_beside, run_to_completion
from app.stores.blobs.store import BlobStore, StoredBlob
from app.stores.records.blob_counts import BlobCountRecords
from app.stores.records.blob_guard import BlobGuard
from app.stores.records.records import Records
from app.stores.records.stored_blobs import StoredBlobRecords, StoredTotal
from app.stores.records.swept_blobs import DIGESTS_AT_ONCE, SweptBlobRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import PagefaultError

BLOCK_BYTES = 8 * 1024 * 1024
"""The bytes reserved at once for a body of unknown length."""

# Longer than the slowest allowed upload of a block, plus the commit after the last one.
# Reservations of a killed process stay for this time.
_EXPIRES_AFTER = timedelta(hours=4)
_RETRY_SECONDS = 5.0
_log = structlog.get_logger(__name__)


class StorageQuota:
    """The count of stored bytes of projects, and its limit.

    Args:
        records: The records of the counts.
        blobs: The counted blobs.
        quota_bytes: The limit of bytes of a project.
    """

    def __init__(self, records: Records, blobs: BlobStore, *, quota_bytes: int) -> None:
        self._records = records
        self._blobs = blobs
        self._quota_bytes = quota_bytes
        self._pending = PendingReleases(records)
        # Retries releases that an outage prevented, for the length of a block.
        self.running = self._pending.running

    def reservation(self, project_id: str) -> "ByteReservation":
        """Return an empty reservation for one blob."""
        return ByteReservation(self._records, project_id, self._quota_bytes, self._pending)

    async def check_room(self, project_id: str, size_bytes: int) -> None:
        """Check that bytes fit the quota now, without reserving them.

        Raises:
            StoredBytesQuotaError: They do not fit.
        """
        total = await self._records.write(project_id, lambda unit: unit[StoredBlobRecords].total())
        if total.bytes + size_bytes > self._quota_bytes:
            raise _no_room(total, self._quota_bytes, size_bytes)

    async def check_room_for(self, project_id: str, sizes: Mapping[str, int]) -> None:
        """Check like `check_room`, for blobs by digest of which some may be stored already."""

        def kept_bytes(unit: UnitOfWork) -> int:
            return sum(unit[StoredBlobRecords].sizes(sizes).values())

        needed = sum(sizes.values()) - await self._records.read(project_id, kept_bytes)
        if needed > 0:
            await self.check_room(project_id, needed)

    async def count_all(self) -> None:
        """Count uncounted blobs that rows need, in every project."""
        project_ids = await self._records.read_projects(lambda projects: projects.list_ids())
        for project_id in project_ids:
            await self.count(project_id)

    async def count(self, project_id: str) -> None:
        """Count blobs that were stored without a quota, now or by another process."""
        last = ""

        def uncounted(unit: UnitOfWork) -> Mapping[str, int]:
            return unit[BlobCountRecords].uncounted(after=last, limit=DIGESTS_AT_ONCE)

        # Read without a lock first, so that no write waits if all blobs are counted.
        while sizes := await self._records.read(project_id, uncounted):
            last = max(sizes)
            await self._records.write(project_id, partial(_enter, sizes), is_alone=True)

    async def forget_missing(self, project_id: str) -> None:
        """Remove the counts of unneeded blobs that the store has lost, which no sweep can find."""
        last = ""

        def unneeded(unit: UnitOfWork) -> Sequence[str]:
            return unit[BlobCountRecords].unneeded(after=last, limit=DIGESTS_AT_ONCE)

        while digests := await self._records.read(project_id, unneeded):
            last = digests[-1]
            missing = set(digests) - (await self._blobs.sizes(project_id, digests)).keys()
            if missing:
                await self._forget(project_id, missing)

    async def _forget(self, project_id: str, missing: set[str]) -> None:
        def forget(unit: UnitOfWork) -> None:
            # With a claim like a removal, so that a concurrent upload of the same blob fails.
            claim = unit[SweptBlobRecords].claim(missing)
            if claim is not None:
                unit[SweptBlobRecords].end_claim(claim, claim.digests)

        await self._records.write(project_id, forget, is_alone=True)


class PendingReleases:
    """Releases of reservations that failed during an outage of the database.

    A reservation counts against its project until it expires hours later. So releases are retried
    in the background until they succeed. When the process ends, the remaining ones are left to
    expire, like those of a killed process.

    Args:
        records: The records of the reservations.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        # Projects by the id of the reservation, in order of arrival.
        self._pending: dict[str, str] = {}
        self._is_any = asyncio.Event()
        self._is_ending = asyncio.Event()

    def add(self, project_id: str, reservation_id: str) -> None:
        """Release a reservation when the database is available."""
        self._pending[reservation_id] = project_id
        self._is_any.set()

    def running(self) -> AbstractAsyncContextManager[object]:
        """Retry releases for the length of the block, and once more at its end."""
        # Not cancelled, since a cancelled statement would close the connection.
        return run_beside(self._run(), end=self._end)

    def _end(self) -> None:
        self._is_ending.set()
        self._is_any.set()

    async def _run(self) -> None:
        while True:
            await self._is_any.wait()
            with anyio.move_on_after(_RETRY_SECONDS):
                await self._is_ending.wait()
            with log_failures(_log, "reserved bytes not given back yet"):
                for reservation_id, project_id in list(self._pending.items()):
                    await self._records.write(project_id, partial(_release, reservation_id))
                    del self._pending[reservation_id]
            if self._is_ending.is_set():
                return
            if not self._pending:
                self._is_any.clear()


@dataclass(slots=True, eq=False)
class ByteReservation:
    """The reserved bytes of one blob. For one task."""

    _records: Records
    _project_id: str
    _quota_bytes: int
    _pending: PendingReleases
    """Retries the release if it fails."""
    _id: str = field(default_factory=new_id)
    _is_open: bool = False
    size_bytes: int = 0

    async def is_kept(self, digest: str) -> bool:
        """Return whether a blob is counted already, so that its bytes need no reservation."""
        return await self._records.read(
            self._project_id, lambda unit: bool(unit[StoredBlobRecords].sizes([digest]))
        )

    async def cover(self, size_bytes: int) -> None:
        """Reserve bytes for the current size of a blob, and for growth if there is room.

        The reservation is doubled, but by at most one block. So a large blob takes few
        transactions, and a small blob reserves little more than it needs.

        Raises:
            StoredBytesQuotaError: The bytes exceed the quota; earlier ones remain reserved.
            StoreUnavailableError: The database did not answer.
        """
        more_bytes = size_bytes - self.size_bytes
        if more_bytes <= 0:
            return
        ahead_bytes = min(self.size_bytes, BLOCK_BYTES)
        if ahead_bytes <= more_bytes:
            await self._grow(more_bytes)
            return
        try:
            await self._grow(ahead_bytes)
        except StoredBytesQuotaError:
            await self._grow(more_bytes)

    async def cover_exactly(self, size_bytes: int) -> None:
        """Reserve like `cover`, for the final size of a blob."""
        if size_bytes > self.size_bytes:
            await self._grow(size_bytes - self.size_bytes)

    async def commit(self, committing: Awaitable[StoredBlob]) -> StoredBlob:
        """Commit a blob and count it; see `count`."""
        blob = await committing
        await self.count(blob)
        return blob

    async def count(self, blob: StoredBlob) -> None:
        """Count a durable blob instead of its reservation.

        Raises:
            StoredBytesQuotaError: It is larger than its reservation and exceeds the quota; the
                blob is garbage.
            StoreUnavailableError: The database did not answer; the blob is garbage.
        """

        def replace_reservation(unit: UnitOfWork) -> None:
            entered = unit[BlobGuard].count_blobs(
                {blob.digest: blob.size_bytes}, reservation_id=self._id if self._is_open else None
            )
            needed_more = entered.size_bytes > entered.released_bytes
            if needed_more and entered.before.bytes + entered.size_bytes > self._quota_bytes:
                raise _no_room(entered.before, self._quota_bytes, entered.size_bytes)

        # Not durable, since the row that needs the blob is committed afterwards and syncs both.
        await self._records.write(self._project_id, replace_reservation, is_durable=False)
        self._is_open = False

    async def release(self) -> None:
        """Release the reservation; never fails, since it is retried after an outage."""
        if not self._is_open:
            return
        with anyio.CancelScope(shield=True):
            try:
                await self._records.write(
                    self._project_id, partial(_release, self._id), is_durable=False
                )
            except PagefaultError as exc:
                _log.warning("reserved bytes given back later", code=exc.problem_code)
                self._pending.add(self._project_id, self._id)
        self._is_open = False

    async def _grow(self, more_bytes: int) -> None:
        # Set first, and run to completion: a cancelled change may be committed nevertheless, and
        # has to be released afterwards.
        self._is_open = True
        total = await run_to_completion(
            self._records.write(
                self._project_id,
                lambda unit: unit[StoredBlobRecords].reserve(
                    self._id,
                    more_bytes,
                    quota_bytes=self._quota_bytes,
                    expires_at=utc_now() + _EXPIRES_AFTER,
                ),
                # A power loss also ends the upload that it is for.
                is_durable=False,
            )
        )
        if total is not None:
            raise _no_room(total, self._quota_bytes, more_bytes)
        self.size_bytes += more_bytes


def _enter(sizes: Mapping[str, int], unit: UnitOfWork) -> None:
    unit[BlobGuard].count_blobs(sizes)


def _release(reservation_id: str, unit: UnitOfWork) -> None:
    unit[StoredBlobRecords].release(reservation_id)


def _no_room(total: StoredTotal, quota_bytes: int, needed_bytes: int) -> StoredBytesQuotaError:
    return StoredBytesQuotaError(
        quota_bytes=quota_bytes,
        stored_bytes=total.stored_bytes,
        reserved_bytes=total.reserved_bytes,
        needed_bytes=needed_bytes,
    )
