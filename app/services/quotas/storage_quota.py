"""The quota of the bytes that a project may store.

Bytes are reserved before they are stored. When a blob is stored, its count replaces the
reservation. Counts and reservations are in the database, and are changed in short transactions of
their own. So they are correct for several processes and after a crash, unlike the quotas of keys.
Each blob counts once, even if no row needs it any more and a sweep has not removed it yet.
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
"""The maximum number of bytes that are reserved in advance for a body of unknown length."""

# The time for which the reservations of a killed process count. It is longer than the slowest
# allowed upload of a block takes, with the commit after the last block.
_EXPIRES_AFTER = timedelta(hours=4)
_RETRY_SECONDS = 5.0
_log = structlog.get_logger(__name__)


class StorageQuota:
    """Counts the stored bytes of each project, and limits them.

    Args:
        records: Stores the counts.
        blobs: The blob store, which says if a blob exists.
        quota_bytes: The maximum number of bytes of a project.
    """

    def __init__(self, records: Records, blobs: BlobStore, *, quota_bytes: int) -> None:
        self._records = records
        self._blobs = blobs
        self._quota_bytes = quota_bytes
        self._pending = PendingReleases(records)
        self.lifespan = self._pending.lifespan
        """Retries failed releases during a block; see `PendingReleases.lifespan`."""

    def make_reservation(self, project_id: str) -> "ByteReservation":
        """Return a reservation for one blob, with no bytes yet."""
        return ByteReservation(self._records, project_id, self._quota_bytes, self._pending)

    async def check_room(self, project_id: str, size_bytes: int) -> None:
        """Raise an error if additional bytes exceed the quota now. They are not reserved.

        Raises:
            StoredBytesQuotaError: The bytes exceed the quota.
        """
        total = await self._records.write(
            project_id, lambda unit: unit[StoredBlobRecords].lock_total()
        )
        if total.bytes + size_bytes > self._quota_bytes:
            raise _no_room_error(total, self._quota_bytes, size_bytes)

    async def check_room_for(self, project_id: str, sizes: Mapping[str, int]) -> None:
        """Raise an error if blobs exceed the quota now. Blobs that are stored already do not count.

        Args:
            project_id: The project.
            sizes: The sizes of the blobs by digest.

        Raises:
            StoredBytesQuotaError: The blobs exceed the quota.
        """
        stored = await self._records.read(
            project_id, lambda unit: unit[StoredBlobRecords].sizes(sizes)
        )
        needed_bytes = sum(sizes.values()) - sum(stored.values())
        if needed_bytes > 0:
            await self.check_room(project_id, needed_bytes)

    async def count_all(self) -> None:
        """Count the blobs of all projects that are not counted yet; see `count`."""
        project_ids = await self._records.read_projects(lambda projects: projects.list_ids())
        for project_id in project_ids:
            await self.count(project_id)

    async def count(self, project_id: str) -> None:
        """Count the blobs that rows of a project need and that are not counted yet.

        They were stored while the service had no quota.
        """
        last_digest = ""

        def find_uncounted(unit: UnitOfWork) -> Mapping[str, int]:
            return unit[BlobCountRecords].find_uncounted(after=last_digest, limit=DIGESTS_AT_ONCE)

        # The read takes no lock, so no write has to wait if all blobs are counted.
        while sizes := await self._records.read(project_id, find_uncounted):
            last_digest = max(sizes)
            await self._records.write(project_id, partial(_count_blobs, sizes), is_alone=True)

    async def forget_missing(self, project_id: str) -> None:
        """Remove the counts of blobs that no row needs and that are not in the store any more.

        A sweep lists the store, so it does not find such blobs.
        """
        last_digest = ""

        def find_unneeded(unit: UnitOfWork) -> Sequence[str]:
            return unit[BlobCountRecords].find_unneeded(after=last_digest, limit=DIGESTS_AT_ONCE)

        while digests := await self._records.read(project_id, find_unneeded):
            last_digest = digests[-1]
            missing = set(digests) - (await self._blobs.sizes(project_id, digests)).keys()
            if missing:
                await self._forget(project_id, missing)

    async def _forget(self, project_id: str, digests: set[str]) -> None:
        """Remove the counts of blobs."""

        def forget(unit: UnitOfWork) -> None:
            # The claim makes a concurrent upload of the same blob fail. Its end removes the count.
            claim = unit[SweptBlobRecords].claim(digests)
            if claim is not None:
                unit[SweptBlobRecords].end_claim(claim, claim.digests)

        await self._records.write(project_id, forget, is_alone=True)


class PendingReleases:
    """Retries releases of reservations that have failed during an outage of the database.

    A reservation counts for its project until it is released or expires, which takes hours. When
    the process ends, the reservations that could not be released are left to expire.

    Args:
        records: Stores the reservations.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        # The project of each reservation, by the id of the reservation, in order of arrival.
        self._pending: dict[str, str] = {}
        # Set if there are reservations to release, or if the process is ending.
        self._has_work = asyncio.Event()
        self._is_ending = asyncio.Event()

    def add(self, project_id: str, reservation_id: str) -> None:
        """Release a reservation when the database is available again."""
        self._pending[reservation_id] = project_id
        self._has_work.set()

    def lifespan(self) -> AbstractAsyncContextManager[object]:
        """Retry releases during the block, and once more at its end."""
        # The task is not cancelled, because a cancelled statement would close the connection.
        return run_beside(self._run(), end=self._end)

    def _end(self) -> None:
        self._is_ending.set()
        self._has_work.set()

    async def _run(self) -> None:
        while True:
            await self._has_work.wait()
            with anyio.move_on_after(_RETRY_SECONDS):
                await self._is_ending.wait()
            with log_failures(_log, "reserved bytes not given back yet"):
                for reservation_id, project_id in list(self._pending.items()):
                    await self._records.write(project_id, partial(_release, reservation_id))
                    del self._pending[reservation_id]
            if self._is_ending.is_set():
                return
            if not self._pending:
                self._has_work.clear()


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
    """True if the database may have a row of the reservation."""
    size_bytes: int = 0
    """The number of reserved bytes."""

    async def is_counted(self, digest: str) -> bool:
        """Return True if a blob is counted already, so that it needs no reservation."""
        return await self._records.read(
            self._project_id, lambda unit: bool(unit[StoredBlobRecords].sizes([digest]))
        )

    async def cover(self, size_bytes: int) -> None:
        """Reserve bytes for the current size of a growing blob and, if there is room, for more.

        The reservation is doubled, but grows by at most one block. So a large blob needs few
        transactions, and a small blob does not reserve much more than it needs.

        Args:
            size_bytes: The number of bytes that the blob has now.

        Raises:
            StoredBytesQuotaError: The bytes exceed the quota. Earlier bytes stay reserved.
            StoreUnavailableError: The database did not answer.
        """
        needed_bytes = size_bytes - self.size_bytes
        if needed_bytes <= 0:
            return
        preferred_bytes = min(self.size_bytes, BLOCK_BYTES)
        if preferred_bytes <= needed_bytes:
            await self._grow(needed_bytes)
            return
        try:
            await self._grow(preferred_bytes)
        except StoredBytesQuotaError:
            await self._grow(needed_bytes)

    async def cover_exactly(self, size_bytes: int) -> None:
        """Reserve bytes for the final size of a blob; see `cover`."""
        if size_bytes > self.size_bytes:
            await self._grow(size_bytes - self.size_bytes)

    async def commit(self, committing: Awaitable[StoredBlob]) -> StoredBlob:
        """Wait until a blob is durable, and count it; see `count`.

        Args:
            committing: Makes the blob durable, and returns it.
        """
        blob = await committing
        await self.count(blob)
        return blob

    async def count(self, blob: StoredBlob) -> None:
        """Replace the reservation by the count of the blob, which is durable.

        After an error, the caller writes no row that needs the blob, so a sweep removes it.

        Raises:
            StoredBytesQuotaError: The blob is larger than its reservation, and exceeds the quota.
            StoreUnavailableError: The database did not answer.
        """

        def replace_reservation(unit: UnitOfWork) -> None:
            counted = unit[BlobGuard].count_blobs(
                {blob.digest: blob.size_bytes}, reservation_id=self._id if self._is_open else None
            )
            exceeds_reservation = counted.size_bytes > counted.released_bytes
            if (
                exceeds_reservation
                and counted.before.bytes + counted.size_bytes > self._quota_bytes
            ):
                raise _no_room_error(counted.before, self._quota_bytes, counted.size_bytes)

        # This commit does not have to be durable: the commit of the row that needs the blob follows
        # it, and makes both durable.
        await self._records.write(self._project_id, replace_reservation, is_durable=False)
        self._is_open = False

    async def release(self) -> None:
        """Release the reservation. If the database does not answer, this is retried later."""
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

    async def _grow(self, additional_bytes: int) -> None:
        """Reserve additional bytes; see `cover` for the errors."""
        # Set before the write, because a write that raises an error may have been committed, and
        # its bytes have to be released.
        self._is_open = True
        total = await run_to_completion(
            self._records.write(
                self._project_id,
                lambda unit: unit[StoredBlobRecords].reserve(
                    self._id,
                    additional_bytes,
                    quota_bytes=self._quota_bytes,
                    expires_at=utc_now() + _EXPIRES_AFTER,
                ),
                # The reservation may be lost in a power failure, because the upload is lost too.
                is_durable=False,
            )
        )
        if total is not None:
            raise _no_room_error(total, self._quota_bytes, additional_bytes)
        self.size_bytes += additional_bytes


def _count_blobs(sizes: Mapping[str, int], unit: UnitOfWork) -> None:
    unit[BlobGuard].count_blobs(sizes)


def _release(reservation_id: str, unit: UnitOfWork) -> None:
    unit[StoredBlobRecords].release(reservation_id)


def _no_room_error(
    total: StoredTotal, quota_bytes: int, needed_bytes: int
) -> StoredBytesQuotaError:
    return StoredBytesQuotaError(
        quota_bytes=quota_bytes,
        stored_bytes=total.stored_bytes,
        reserved_bytes=total.reserved_bytes,
        needed_bytes=needed_bytes,
    )
