"""The blobs that a project keeps, each counted once, and bytes reserved for others.

Where a quota of bytes is set, every blob that is put is entered here once it is durable, and before
it the room for it is reserved. The sum is kept beside the entries, so that no write adds them up;
its row is locked by whoever changes it, always before any other of these rows. A sweep takes the
entry of a blob away in the transaction that claims it, whether a quota is set or not:

    bytes arrive ── reserve ──> on their way ── enter, release ──> kept ── claim: drop ──> free
                                     └── failed, cancelled: release; killed: expire ──────> free

Entries are made behind the lock that writers share and a claim has to itself (see
`app.stores.records.swept_blobs`), so there is none of a blob that a sweep removes.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, bindparam

from app.stores.records.prepared_statements import Offered, touch
from app.stores.records.scope import AnyTable, scoped_update
from app.stores.records.stored_blob_tables import (
    byte_reservations,
    stored_blobs,
    stored_totals,
)
from app.stores.records.unit_of_work import Repository

_TOTAL = stored_totals.c.stored_bytes + stored_totals.c.reserved_bytes
_CHANGE = scoped_update(stored_totals).values(
    stored_bytes=stored_totals.c.stored_bytes + bindparam("entered"),
    reserved_bytes=stored_totals.c.reserved_bytes + bindparam("taken"),
)
_ENTER_OR_TAKE = _CHANGE.returning(stored_totals.c.project_id)
_TAKE_IF_THERE_IS_ROOM = _CHANGE.where(_TOTAL + bindparam("taken") <= bindparam("quota")).returning(
    stored_totals.c.project_id
)


@dataclass(frozen=True, slots=True)
class StoredTotal:
    """Bytes that a project keeps, and bytes that are reserved."""

    stored_bytes: int
    reserved_bytes: int

    @property
    def bytes(self) -> int:
        """Both."""
        return self.stored_bytes + self.reserved_bytes


@dataclass(frozen=True, slots=True)
class Entered:
    """Bytes newly counted, bytes released from a reservation, and the total before."""

    size_bytes: int
    released_bytes: int
    before: StoredTotal


class StoredBlobRecords(Repository):
    """The blobs one project keeps, as they count towards its quota."""

    def total(self) -> StoredTotal:
        """Return what is kept and on its way; it stays so until the transaction ends."""
        row = self._scope.insert_or_merge(
            stored_totals, touch("project_id"), stored_bytes=0, reserved_bytes=0
        )
        return StoredTotal(row.stored_bytes, row.reserved_bytes)

    def reserve(
        self, reservation_id: str, size_bytes: int, *, quota_bytes: int, expires_at: datetime
    ) -> StoredTotal | None:
        """Reserve so many bytes more, if there is room.

        Returns:
            `None` if they are reserved, else what leaves no room for them; nothing has changed.
        """
        room = {"entered": 0, "taken": size_bytes, "quota": quota_bytes}
        if self._scope.change(_TAKE_IF_THERE_IS_ROOM, **room) is None:
            # Either there is no room, or nothing was ever counted.
            total = self.total()
            if total.bytes + size_bytes > quota_bytes:
                return total
            self._change(taken=size_bytes)
        self._scope.insert_or_merge(
            byte_reservations,
            _grown,
            reservation_id=reservation_id,
            size_bytes=size_bytes,
            expires_at=expires_at,
        )
        return None

    def release(self, reservation_id: str) -> int:
        """Give a reservation back; says how many bytes it had, 0 if it has expired."""
        return self._release(_is(reservation_id))

    def expire(self, now: datetime) -> int:
        """Give back the reservations of processes that were killed; says how many bytes."""
        expired = byte_reservations.c.expires_at <= now
        # Asked without a lock first: there is hardly ever one.
        statement = self._scope.select(byte_reservations, expired).limit(1)
        return self._release(expired) if self._scope.first(statement) else 0

    def enter(self, sizes: Mapping[str, int], *, reservation_id: str | None = None) -> Entered:
        """Count blobs, sizes by digest, unless they are counted, in place of a reservation.

        Their blobs are there, and no claim on them runs.
        """
        total = self.total()
        released = 0
        if reservation_id is not None:
            released = self._removed(byte_reservations, _is(reservation_id))
        rows = [{"digest": digest, "size_bytes": sizes[digest]} for digest in sorted(sizes)]
        inserted = self._scope.insert_absent(stored_blobs, rows, returning=["size_bytes"])
        entered = sum(int(row.size_bytes) for row in inserted)
        if entered or released:
            self._change(entered=entered, taken=-released)
        before = StoredTotal(total.stored_bytes, total.reserved_bytes - released)
        return Entered(entered, released, before)

    def drop(self, digests: Collection[str]) -> None:
        """Count at most 500 blobs no more, for a sweep removes them."""
        if not digests:
            return
        size_bytes = self._removed(stored_blobs, stored_blobs.c.digest.in_(sorted(digests)))
        if size_bytes:
            self._change(entered=-size_bytes)

    def sizes(self, digests: Collection[str]) -> dict[str, int]:
        """Return the sizes of those of some blobs that are counted, by digest."""
        rows = self._scope.rows_with(stored_blobs.c.digest, digests)
        return {row.digest: row.size_bytes for row in rows}

    def _release(self, which: ColumnElement[bool]) -> int:
        self.total()
        size_bytes = self._removed(byte_reservations, which)
        if size_bytes:
            self._change(taken=-size_bytes)
        return size_bytes

    def _removed(self, table: AnyTable, which: ColumnElement[bool]) -> int:
        """Remove rows; says how many bytes they stood for."""
        removal = self._scope.delete(table).where(which).returning(table.c.size_bytes)
        return sum(int(row.size_bytes) for row in self._scope.all(removal))

    def _change(self, *, entered: int = 0, taken: int = 0) -> None:
        self._scope.change(_ENTER_OR_TAKE, entered=entered, taken=taken)


def _is(reservation_id: str) -> ColumnElement[bool]:
    return byte_reservations.c.reservation_id == reservation_id


def _grown(offered: Offered) -> dict[str, ColumnElement[Any]]:
    return {
        "size_bytes": byte_reservations.c.size_bytes + offered.size_bytes,
        "expires_at": offered.expires_at,
    }
