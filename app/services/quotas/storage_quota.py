"""The quota of stored bytes of a project. Bytes are reserved before they are stored, then counted.

The count is in the database, and is changed in separate short transactions. So it is correct for
several processes and after a crash, unlike the quotas of keys. It includes each stored blob once,
also garbage that a sweep has not removed yet, and all reservations.
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
"""The number of bytes that are reserved at once for a body of unknown length."""

# This is longer than the slowest allowed upload of a block, and the commit after the last block. If
# a process is killed, its reservations stay for this time.
_EXPIRES_AFTER = timedelta(hours=4)
_RETRY_SECONDS = 5.0
_log = structlog.get_logger(__name__)


class StorageQuota:
    """Counts the stored bytes of each project, and limits them.

    Args:
        records: Stores the counts.
        blobs: The store of the blobs.
        quota_bytes: The maximum number of bytes of a project.
    """

    def __init__(self, records: Records, blobs: BlobStore, *, quota_bytes: int) -> None:
        self._records = records
        self._blobs = blobs
        self._quota_bytes = quota_bytes
        self._pending = PendingReleases(records)
        # Retries, during a block, releases that have failed because of an outage.
        self.running = self._pending.running

    def make_reservation(self, project_id: str) -> "ByteReservation":
        """Return a reservation for one blob, with no bytes yet."""
        return ByteReservation(self._records, project_id, self._quota_bytes, self._pending)

    async def check_room(self, project_id: str, size_bytes: int) -> None:
        """Check that bytes fit the quota now, without reserving them.

        Raises:
            StoredBytesQuotaError: The bytes do not fit.
        """
        total = await self._records.write(
            project_id, lambda unit: unit[StoredBlobRecords].lock_total()
        )
        if total.bytes + size_bytes > self._quota_bytes:
            raise _no_room(total, self._quota_bytes, size_bytes)

    async def check_room_for(self, project_id: str, sizes: Mapping[str, int]) -> None:
        """Check that those of several blobs fit that are not stored yet; see `check_room`.

        Args:
            project_id: The project.
            sizes: The sizes of the blobs by digest.
        """
        stored = await self._records.read(
            project_id, lambda unit: unit[StoredBlobRecords].sizes(sizes)
        )
        needed_bytes = sum(sizes.values()) - sum(stored.values())
        if needed_bytes > 0:
            await self.check_room(project_id, needed_bytes)

    async def count_all(self) -> None:
        """Count, in all projects, those needed blobs that are not counted yet; see `count`."""
        project_ids = await self._records.read_projects(lambda projects: projects.list_ids())
        for project_id in project_ids:
            await self.count(project_id)

    async def count(self, project_id: str) -> None:
        """Count the blobs of a project that were stored while there was no quota."""
        last = ""

        def find_uncounted(unit: UnitOfWork) -> Mapping[str, int]:
            return unit[BlobCountRecords].find_uncounted(after=last, limit=DIGESTS_AT_ONCE)

        # The first read takes no lock, so that no write waits if all blobs are counted.
        while sizes := await self._records.read(project_id, find_uncounted):
            last = max(sizes)
            await self._records.write(project_id, partial(_enter, sizes), is_alone=True)

    async def forget_missing(self, project_id: str) -> None:
        """Remove the counts of unneeded blobs that the store has lost, which no sweep can find."""
        last = ""

        def find_unneeded(unit: UnitOfWork) -> Sequence[str]:
            return unit[BlobCountRecords].find_unneeded(after=last, limit=DIGESTS_AT_ONCE)

        while digests := await self._records.read(project_id, find_unneeded):
            last = digests[-1]
            missing = set(digests) - (await self._blobs.sizes(project_id, digests)).keys()
            if missing:
                await self._forget(project_id, missing)

    async def _forget(self, project_id: str, missing: set[str]) -> None:
        def forget(unit: UnitOfWork) -> None:
            # A claim, as for a removal, makes a concurrent upload of the same blob fail.
            claim = unit[SweptBlobRecords].claim(missing)
            if claim is not None:
                unit[SweptBlobRecords].end_claim(claim, claim.digests)

        await self._records.write(project_id, forget, is_alone=True)


class PendingReleases:
    """Retries releases of reservations that have failed during an outage of the database.

    Until it is released, a reservation counts for its project; it expires only after hours. When
    the process ends, the reservations that could not be released are left to expire.

    Args:
        records: Stores the reservations.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        # The projects by the ids of their reservations, in order of arrival.
        self._pending: dict[str, str] = {}
        self._is_any = asyncio.Event()
        self._is_ending = asyncio.Event()

    def add(self, project_id: str, reservation_id: str) -> None:
        """Release a reservation once the database is available."""
        self._pending[reservation_id] = project_id
        self._is_any.set()

    def running(self) -> AbstractAsyncContextManager[object]:
        """Retry releases during the block, and once more at its end."""
        # The task is not cancelled, because a cancelled statement would close the connection.
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
    """The reserved bytes of one blob. Only one task may use it."""

    _records: Records
    _project_id: str
    _quota_bytes: int
    _pending: PendingReleases
    """Retries the release if it fails."""
    _id: str = field(default_factory=new_id)
    _is_open: bool = False
    size_bytes: int = 0

    async def is_counted(self, digest: str) -> bool:
        """Return True if a blob is counted already, so that it needs no reservation."""
        return await self._records.read(
            self._project_id, lambda unit: bool(unit[StoredBlobRecords].sizes([digest]))
        )

    async def cover(self, size_bytes: int) -> None:
        """Reserve bytes for the current size of a blob and, if there is room, for more.

        The reservation is doubled, but grows by at most one block. So a large blob needs few
        transactions, and for a small blob little more is reserved than it needs.

        Raises:
            StoredBytesQuotaError: The bytes exceed the quota. Earlier bytes stay reserved.
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
        """Reserve bytes for the final size of a blob; see `cover`."""
        if size_bytes > self.size_bytes:
            await self._grow(size_bytes - self.size_bytes)

    async def commit(self, committing: Awaitable[StoredBlob]) -> StoredBlob:
        """Commit a blob and count it; see `count`."""
        blob = await committing
        await self.count(blob)
        return blob

    async def count(self, blob: StoredBlob) -> None:
        """Replace the reservation by the count of the durable blob.

        Raises:
            StoredBytesQuotaError: The blob is larger than its reservation, and exceeds the quota.
            StoreUnavailableError: The database did not answer.

        After an error, no row refers to the blob, and a sweep removes it.
        """

        def replace_reservation(unit: UnitOfWork) -> None:
            entered = unit[BlobGuard].count_blobs(
                {blob.digest: blob.size_bytes}, reservation_id=self._id if self._is_open else None
            )
            exceeds_reservation = entered.size_bytes > entered.released_bytes
            if (
                exceeds_reservation
                and entered.before.bytes + entered.size_bytes > self._quota_bytes
            ):
                raise _no_room(entered.before, self._quota_bytes, entered.size_bytes)

        # This commit need not be durable: that of the row that needs the blob syncs both.
        await self._records.write(self._project_id, replace_reservation, is_durable=False)
        self._is_open = False

    async def release(self) -> None:
        """Release the reservation. Raises no error: after an outage, the release is retried."""
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
        # `_is_open` is set before the write: a cancelled write may still be committed, and its
        # bytes have to be released.
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
                # A power loss would also end the upload.
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
