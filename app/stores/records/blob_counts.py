"""Compare the blobs that count towards a quota with the blobs that rows need."""

from sqlalchemy import ColumnElement, Integer, bindparam

from app.stores.records.statements import AnyTable, scoped_select
from app.stores.records.tables import resources, stored_blobs, upload_segments
from app.stores.records.unit_of_work import Repository

_LIMIT = bindparam("limit", type_=Integer())
_TABLES = (resources, upload_segments)


def _has_same_digest(outer: AnyTable, inner: AnyTable) -> ColumnElement[bool]:
    return scoped_select(inner).where(inner.c.digest == outer.c.digest).exists()


_UNCOUNTED = [
    scoped_select(table, table.c.digest, table.c.size_bytes)
    .where(table.c.digest > bindparam("after"), ~_has_same_digest(table, stored_blobs))
    .order_by(table.c.digest)
    .limit(_LIMIT)
    for table in _TABLES
]
_UNNEEDED = (
    scoped_select(stored_blobs, stored_blobs.c.digest)
    .where(
        stored_blobs.c.digest > bindparam("after"),
        *(~_has_same_digest(stored_blobs, table) for table in _TABLES),
    )
    .order_by(stored_blobs.c.digest)
    .limit(_LIMIT)
)


class BlobCountRecords(Repository):
    """Finds differences between the counted blobs and the blobs that rows need, in one project."""

    def find_uncounted(self, *, after: str, limit: int) -> dict[str, int]:
        """Return up to `limit` blobs that rows need and that are not counted.

        Returns:
            Sizes by digest, in order, after the digest `after`, which may be `""`.
        """
        found: dict[str, int] = {}
        for statement in _UNCOUNTED:
            rows = self._scope.all(statement, after=after, limit=limit)
            found |= {row.digest: row.size_bytes for row in rows}
        return {digest: found[digest] for digest in sorted(found)[:limit]}

    def find_unneeded(self, *, after: str, limit: int) -> list[str]:
        """Return up to `limit` digests after `after` that are counted and that no row needs."""
        return list(self._scope.execute(_UNNEEDED, after=after, limit=limit).scalars())
