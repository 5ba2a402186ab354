"""The quota of bytes that a project keeps: room is reserved before bytes are, and counted after.

Unlike the quotas of a key it is counted in the database, in short transactions of its own, so that
it holds across processes and is still right after a crash. What counts are the blobs that are
there, each once, whether a record needs them or a sweep has yet to remove them, and what is on its
way.
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

# Longer than a block takes that comes as slowly as a body may, and the commit behind the last one.
# What a killed process has reserved is reserved for so long.
_EXPIRES_AFTER = timedelta(hours=4)
_RETRY_SECONDS = 5.0
_log = structlog.get_logger(__name__)


class StorageQuota:
    """Counts what projects keep, and says when it is too much.

    Args:
        records: Where it is counted.
        blobs: What is counted.
        quota_bytes: How many bytes a project may keep.
    """

    def __init__(self, records: Records, blobs: BlobStore, *, quota_bytes: int) -> None:
        self._records = records
        self._blobs = blobs
        self._quota_bytes = quota_bytes
        self._left = LeftReservations(records)
        # For the length of a block, what an outage kept from being given back is given back.
        self.running = self._left.running

    def reservation(self, project_id: str) -> "ByteReservation":
        """Return room for one blob on its way; none is taken yet."""
        return ByteReservation(self._records, project_id, self._quota_bytes, self._left)

    async def check_room(self, project_id: str, size_bytes: int) -> None:
        """Refuse at once what there is no room for now; nothing is reserved.

        Raises:
            StoredBytesQuotaError: There is none.
        """
        total = await self._records.write(project_id, lambda unit: unit[StoredBlobRecords].total())
        if total.bytes + size_bytes > self._quota_bytes:
            raise _no_room(total, self._quota_bytes, size_bytes)

    async def check_room_for(self, project_id: str, sizes: Mapping[str, int]) -> None:
        """Check like `check_room`, for blobs of which some may be there: sizes by digest."""

        def kept_bytes(unit: UnitOfWork) -> int:
            return sum(unit[StoredBlobRecords].sizes(sizes).values())

        needed = sum(sizes.values()) - await self._records.read(project_id, kept_bytes)
        if needed > 0:
            await self.check_room(project_id, needed)

    async def count_all(self) -> None:
        """Count the blobs that rows need and nobody has counted, in every project."""
        project_ids = await self._records.read_projects(lambda projects: projects.list_ids())
        for project_id in project_ids:
            await self.count(project_id)

    async def count(self, project_id: str) -> None:
        """Count what was stored while there was no quota, or by a process that knows of none."""
        last = ""

        def uncounted(unit: UnitOfWork) -> Mapping[str, int]:
            return unit[BlobCountRecords].uncounted(after=last, limit=DIGESTS_AT_ONCE)

        # Asked without a lock first: where all are counted, no write waits for this.
        while sizes := await self._records.read(project_id, uncounted):
            last = max(sizes)
            await self._records.write(project_id, partial(_enter, sizes), is_alone=True)

    async def forget_missing(self, project_id: str) -> None:
        """Count no longer what no row needs and the store has lost: no sweep comes across it."""
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
            # As a removal is: whoever puts one of them again meanwhile learns of it.
            claim = unit[SweptBlobRecords].claim(missing)
            if claim is not None:
                unit[SweptBlobRecords].note_over(claim, claim.digests)

        await self._records.write(project_id, forget, is_alone=True)


class LeftReservations:
    """Gives reservations back that could not be given back, because the database was away.

    Each would take room from its project until it expires, hours later. They are tried again in the
    background until the database has taken them. What a process has not given back when it ends is
    left to expire, as that of a killed process is.

    Args:
        records: Where they are.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        # Projects by the id of the reservation, in the order in which they came.
        self._left: dict[str, str] = {}
        self._is_any = asyncio.Event()
        self._is_ending = asyncio.Event()

    def add(self, project_id: str, reservation_id: str) -> None:
        """Give a reservation back as soon as the database takes it."""
        self._left[reservation_id] = project_id
        self._is_any.set()

    def running(self) -> AbstractAsyncContextManager[object]:
        """Give back what is left for the length of the block, and once more at its end."""
        # Not cancelled: a statement that is given up would cost the connection.
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
                for reservation_id, project_id in list(self._left.items()):
                    await self._records.write(project_id, partial(_release, reservation_id))
                    del self._left[reservation_id]
            if self._is_ending.is_set():
                return
            if not self._left:
                self._is_any.clear()


@dataclass(slots=True, eq=False)
class ByteReservation:
    """The room that one blob takes on its way. One task uses it."""

    _records: Records
    _project_id: str
    _quota_bytes: int
    _left: LeftReservations
    """Takes the reservation where it cannot be given back now."""
    _id: str = field(default_factory=new_id)
    _is_open: bool = False
    size_bytes: int = 0

    async def is_kept(self, digest: str) -> bool:
        """Return whether a blob is counted already, so that the same bytes again cost nothing."""
        return await self._records.read(
            self._project_id, lambda unit: bool(unit[StoredBlobRecords].sizes([digest]))
        )

    async def cover(self, size_bytes: int) -> None:
        """Ensure room for a blob that has so many bytes by now, and for as many more if there is.

        At most a block is reserved ahead, so that a large blob takes few reservations, and what is
        small, little room that it does not need.

        Raises:
            StoredBytesQuotaError: There is none for these bytes; what was reserved stays so.
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
        """Reserve like `cover`, for a blob that gets no larger."""
        if size_bytes > self.size_bytes:
            await self._grow(size_bytes - self.size_bytes)

    async def settled(self, committing: Awaitable[StoredBlob]) -> StoredBlob:
        """Commit a blob, and count it as `settle` does."""
        blob = await committing
        await self.settle(blob)
        return blob

    async def settle(self, blob: StoredBlob) -> None:
        """Count a blob that is durable now, in place of what was reserved for it.

        Raises:
            StoredBytesQuotaError: It needs more than was reserved, and there is not so much; the
                blob is garbage.
            StoreUnavailableError: The database did not answer; the blob is garbage.
        """

        def count(unit: UnitOfWork) -> None:
            entered = unit[BlobGuard].enter(
                {blob.digest: blob.size_bytes}, reservation_id=self._id if self._is_open else None
            )
            needed_more = entered.size_bytes > entered.released_bytes
            if needed_more and entered.before.bytes + entered.size_bytes > self._quota_bytes:
                raise _no_room(entered.before, self._quota_bytes, entered.size_bytes)

        # The row that needs the blob is committed behind this, and syncs it.
        await self._records.write(self._project_id, count, is_durable=False)
        self._is_open = False

    async def release(self) -> None:
        """Give back what was reserved; never fails: what an outage keeps from it is tried again."""
        if not self._is_open:
            return
        with anyio.CancelScope(shield=True):
            try:
                await self._records.write(
                    self._project_id, partial(_release, self._id), is_durable=False
                )
            except PagefaultError as exc:
                _log.warning("reserved bytes given back later", code=exc.problem_code)
                self._left.add(self._project_id, self._id)
        self._is_open = False

    async def _grow(self, more_bytes: int) -> None:
        # Before it is, and to its end: a change that is cancelled is committed all the same, and
        # what gives it back comes behind it.
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
                # A power loss ends what it was reserved for, too.
                is_durable=False,
            )
        )
        if total is not None:
            raise _no_room(total, self._quota_bytes, more_bytes)
        self.size_bytes += more_bytes


def _enter(sizes: Mapping[str, int], unit: UnitOfWork) -> None:
    unit[BlobGuard].enter(sizes)


def _release(reservation_id: str, unit: UnitOfWork) -> None:
    unit[StoredBlobRecords].release(reservation_id)


def _no_room(total: StoredTotal, quota_bytes: int, needed_bytes: int) -> StoredBytesQuotaError:
    return StoredBytesQuotaError(
        quota_bytes=quota_bytes,
        stored_bytes=total.stored_bytes,
        reserved_bytes=total.reserved_bytes,
        needed_bytes=needed_bytes,
    )
