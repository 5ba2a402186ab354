"""Compares the blobs that are counted towards a quota with the rows that need blobs."""

from sqlalchemy import ColumnElement

from app.stores.records.scope import AnyTable
from app.stores.records.stored_blob_tables import stored_blobs
from app.stores.records.tables import resources, upload_segments
from app.stores.records.unit_of_work import Repository


class BlobCountRecords(Repository):
    """The blobs of one project that are counted and not needed, or needed and not counted."""

    def uncounted(self, *, after: str, limit: int) -> dict[str, int]:
        """Return up to `limit` blobs that rows need and are not counted, behind a digest or `""`.

        Sizes by digest, in order.
        """
        found: dict[str, int] = {}
        for table in (resources, upload_segments):
            digest, is_counted = table.c.digest, self._alike(table, stored_blobs)
            columns = [digest, table.c.size_bytes]
            missing = self._scope.select(table, digest > after, ~is_counted, columns=columns)
            rows = self._scope.all(missing.order_by(digest).limit(limit))
            found |= {row.digest: row.size_bytes for row in rows}
        return {digest: found[digest] for digest in sorted(found)[:limit]}

    def unneeded(self, *, after: str, limit: int) -> list[str]:
        """Return up to `limit` digests that are counted and no row needs, behind one or `""`."""
        found = self._scope.select(stored_blobs, stored_blobs.c.digest > after)
        for table in (resources, upload_segments):
            found = found.where(~self._alike(stored_blobs, table))
        rows = self._scope.all(found.order_by(stored_blobs.c.digest).limit(limit))
        return [row.digest for row in rows]

    def _alike(self, outer: AnyTable, inner: AnyTable) -> ColumnElement[bool]:
        """Return whether a table has a row of the project with the digest of a row of another."""
        return self._scope.select(inner, inner.c.digest == outer.c.digest).exists()
