"""Which blobs the rows of a project need."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, func

from app.stores.records.blob_tables import upload_segments
from app.stores.records.scope import ProjectScope
from app.stores.records.tables import resources

_TABLES = (resources, upload_segments)


@dataclass(frozen=True, slots=True)
class BlobReference:
    """A row that needs a blob, and the size it says the blob has.

    `owner` names the row, `blob:<id>` or `upload <id> from byte <start>`; a row that is deleted and
    written again under the same name has another `identity`.
    """

    digest: str
    size_bytes: int
    owner: str
    identity: tuple[str, ...]


class BlobReferenceRecords:
    """The rows of one project that need blobs."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope

    def needed(self, digests: Collection[str]) -> set[str]:
        """Those of at most 500 digests that some row needs."""
        wanted = sorted(set(digests))
        needed: set[str] = set()
        for table in _TABLES:
            rows = self._scope.all(
                self._scope.select(table)
                .with_only_columns(table.c.digest)
                .where(table.c.digest.in_(wanted))
            )
            needed |= {row.digest for row in rows}
        return needed

    def digests(self, *, after: str, limit: int) -> list[str]:
        """Up to `limit` digests that rows need, in order, each once, behind a digest or `""`."""
        found: set[str] = set()
        for table in _TABLES:
            rows = self._scope.all(
                self._scope.select(table)
                .with_only_columns(table.c.digest)
                .where(table.c.digest > after)
                .distinct()
                .order_by(table.c.digest)
                .limit(limit)
            )
            found |= {row.digest for row in rows}
        return sorted(found)[:limit]

    def of(self, digests: Collection[str]) -> Sequence[BlobReference]:
        """The rows that need at most 500 digests, in order of digest and name."""
        wanted = sorted(set(digests))
        files = self._scope.all(self._scope.select(resources).where(resources.c.digest.in_(wanted)))
        pieces = self._scope.all(
            self._scope.select(upload_segments).where(upload_segments.c.digest.in_(wanted))
        )
        found = [_of_resource(row) for row in files] + [_of_segment(row) for row in pieces]
        return sorted(found, key=lambda reference: (reference.digest, reference.owner))

    def bytes_needed(self) -> int:
        """How many bytes the blobs have that rows need; one needed by both tables counts twice."""
        total = 0
        for table in _TABLES:
            blobs = (
                self._scope.select(table)
                .with_only_columns(table.c.digest, table.c.size_bytes)
                .distinct()
                .subquery()
            )
            row = self._scope.first(
                self._scope.select_from(blobs, func.sum(blobs.c.size_bytes).label("total"))
            )
            total += int(row.total or 0) if row else 0
        return total


def _of_resource(row: Row[Any]) -> BlobReference:
    owner = f"blob:{row.resource_id}"
    return BlobReference(row.digest, row.size_bytes, owner, (owner, row.created_at.isoformat()))


def _of_segment(row: Row[Any]) -> BlobReference:
    owner = f"upload {row.upload_id} from byte {row.start}"
    return BlobReference(row.digest, row.size_bytes, owner, (owner,))
