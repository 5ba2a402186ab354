"""The blobs that count towards the quota of a project, and bytes reserved for new blobs.

If a quota of bytes is set, bytes are reserved for every blob before it is stored, and the blob is
counted after it is durable. The sum of all sizes is stored in `stored_totals`, so that writes do
not have to compute it. A transaction locks the row of the sum before the rows of blobs and
reservations. A sweep removes the row of a blob in the transaction that claims the blob, even if no
quota is set:

    bytes arrive ── reserve ──> reserved ── count, release ──> stored ── claim: drop ──> free
                                   └── failed, cancelled: release; killed: expire ─────> free

Blobs are counted while the shared lock of `app.stores.records.swept_blobs` is held, so a blob that
a sweep is removing is not counted.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Executable, bindparam

from app.stores.records.statements import (
    Excluded,
    is_among,
    overwrite,
    scoped_delete,
    scoped_select,
    scoped_update,
)
from app.stores.records.tables import (
    byte_reservations,
    stored_blobs,
    stored_totals,
)
from app.stores.records.unit_of_work import Repository

_TOTAL = stored_totals.c.stored_bytes + stored_totals.c.reserved_bytes
_CHANGE = scoped_update(stored_totals).values(
    stored_bytes=stored_totals.c.stored_bytes + bindparam("added"),
    reserved_bytes=stored_totals.c.reserved_bytes + bindparam("reserved"),
)
_CHANGE_TOTAL = _CHANGE.returning(stored_totals.c.project_id)
_RESERVE_WITHIN_QUOTA = _CHANGE.where(
    _TOTAL + bindparam("reserved") <= bindparam("quota")
).returning(stored_totals.c.project_id)
_HAS_EXPIRED = byte_reservations.c.expires_at <= bindparam("now")
_FIND_EXPIRED = scoped_select(byte_reservations).where(_HAS_EXPIRED).limit(1)
_RELEASE = scoped_delete(byte_reservations, by=["reservation_id"]).returning(
    byte_reservations.c.size_bytes
)
_EXPIRE = (
    scoped_delete(byte_reservations).where(_HAS_EXPIRED).returning(byte_reservations.c.size_bytes)
)
_DROP = (
    scoped_delete(stored_blobs)
    .where(is_among(stored_blobs.c.digest, "digests"))
    .returning(stored_blobs.c.size_bytes)
)


@dataclass(frozen=True, slots=True)
class StoredTotal:
    """Bytes that a project stores, and bytes that are reserved."""

    stored_bytes: int
    reserved_bytes: int

    @property
    def bytes(self) -> int:
        """The sum of stored and reserved bytes."""
        return self.stored_bytes + self.reserved_bytes


@dataclass(frozen=True, slots=True)
class CountedBlobs:
    """The effect of counting blobs."""

    size_bytes: int
    """The bytes of blobs that were not counted before."""
    released_bytes: int
    """The bytes of the released reservation."""
    before: StoredTotal
    """The total before, without the reservation."""


class StoredBlobRecords(Repository):
    """The blobs that one project stores, as they count towards its quota."""

    def lock_total(self) -> StoredTotal:
        """Return the total, and lock it until the transaction ends."""
        row = self._scope.insert_or_merge(
            stored_totals, overwrite("project_id"), stored_bytes=0, reserved_bytes=0
        )
        return StoredTotal(row.stored_bytes, row.reserved_bytes)

    def reserve(
        self, reservation_id: str, size_bytes: int, *, quota_bytes: int, expires_at: datetime
    ) -> StoredTotal | None:
        """Reserve bytes, unless the total would exceed the quota.

        Returns:
            `None` if the bytes are reserved, otherwise the total.
        """
        values = {"added": 0, "reserved": size_bytes, "quota": quota_bytes}
        if self._scope.first(_RESERVE_WITHIN_QUOTA, **values) is None:
            # The quota is exceeded, or the project has no row with a total yet.
            total = self.lock_total()
            if total.bytes + size_bytes > quota_bytes:
                return total
            self._change(reserved=size_bytes)
        self._scope.insert_or_merge(
            byte_reservations,
            _merge_reservation,
            reservation_id=reservation_id,
            size_bytes=size_bytes,
            expires_at=expires_at,
        )
        return None

    def release(self, reservation_id: str) -> int:
        """Release a reservation; return its bytes, 0 if it has expired."""
        return self._release(_RELEASE, reservation_id=reservation_id)

    def expire(self, now: datetime) -> int:
        """Release expired reservations, which killed processes have left; return their bytes."""
        # Usually no reservation has expired, so the total is only locked if there is one.
        has_expired = self._scope.first(_FIND_EXPIRED, now=now) is not None
        return self._release(_EXPIRE, now=now) if has_expired else 0

    def count_blobs(
        self, sizes: Mapping[str, int], *, reservation_id: str | None = None
    ) -> CountedBlobs:
        """Count blobs that are not counted yet, and release the reservation for them.

        Args:
            sizes: The sizes by digest of blobs that exist and that no sweep has claimed.
            reservation_id: The reservation, if there is one.
        """
        total = self.lock_total()
        released = 0
        if reservation_id is not None:
            released = self._remove(_RELEASE, reservation_id=reservation_id)
        rows = [{"digest": digest, "size_bytes": sizes[digest]} for digest in sorted(sizes)]
        inserted = self._scope.insert_absent(stored_blobs, rows, returning=["size_bytes"])
        added = sum(int(row.size_bytes) for row in inserted)
        if added or released:
            self._change(added=added, reserved=-released)
        before = StoredTotal(total.stored_bytes, total.reserved_bytes - released)
        return CountedBlobs(added, released, before)

    def drop(self, digests: Collection[str]) -> None:
        """Stop counting at most 500 blobs, because a sweep removes them."""
        if not digests:
            return
        size_bytes = self._remove(_DROP, digests=sorted(digests))
        if size_bytes:
            self._change(added=-size_bytes)

    def sizes(self, digests: Collection[str]) -> dict[str, int]:
        """Return the sizes of the blobs that are counted, by digest."""
        rows = self._scope.rows_with(stored_blobs.c.digest, digests)
        return {row.digest: row.size_bytes for row in rows}

    def _release(self, statement: Executable, **values: object) -> int:
        """Remove reservations by a statement; return their bytes, subtracted from the total."""
        self.lock_total()
        size_bytes = self._remove(statement, **values)
        if size_bytes:
            self._change(reserved=-size_bytes)
        return size_bytes

    def _remove(self, statement: Executable, **values: object) -> int:
        """Execute a delete; return the sum of bytes of its rows."""
        return sum(map(int, self._scope.execute(statement, **values).scalars()))

    def _change(self, *, added: int = 0, reserved: int = 0) -> None:
        self._scope.first(_CHANGE_TOTAL, added=added, reserved=reserved)


def _merge_reservation(excluded: Excluded) -> dict[str, ColumnElement[Any]]:
    return {
        "size_bytes": byte_reservations.c.size_bytes + excluded.size_bytes,
        "expires_at": excluded.expires_at,
    }
