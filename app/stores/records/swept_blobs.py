"""Blobs that are being removed, or were not long ago: how a sweep and a write keep apart.

A row is to be written only while its blob is there, and a blob removed only while no row needs it.
The two meet here. A sweep claims the digests it will remove, in a transaction that sees every row;
a write asks, in the transaction of its row, whether a digest is claimed. A lock that writers share
and a sweep has to itself keeps either from missing the other. A claim stays after the removal, so
that a write that stored its bytes before and its row after it learns that they are gone.

    free ── claim ──> running ── note_over ──> over ── forget ──> free
                        │  └──── a day passes: forget ──────────> free
                        └─ the sweep was killed, minutes pass: as good as over

A row is refused while a claim runs; once it is over, the blob store is asked. Moments are those of
the database's clock, so that the clocks of several machines need not agree.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, func, or_

from app.stores.records.blob_guard import CLAIM_LOCK, read_claims
from app.stores.records.prepared_statements import touch
from app.stores.records.scope import scoped_from
from app.stores.records.stored_blobs import StoredBlobRecords
from app.stores.records.tables import resources, swept_blobs, upload_segments
from app.stores.records.unit_of_work import Repository, UnitOfWork

CLAIM_SECONDS = 60.0
"""The time that a sweep has to remove the blobs of a claim."""

DIGESTS_AT_ONCE = 500

# Every write of the project waits behind a claim that waits, so it does not wait long.
_WAIT_SECONDS = 2.0
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


class BlobReferenceRecords(Repository):
    """The rows of one project that need blobs."""

    def needed(self, digests: Collection[str]) -> set[str]:
        """Return those of at most 500 digests that some row needs."""
        wanted = sorted(set(digests))
        needed: set[str] = set()
        for table in _TABLES:
            needed |= self._scope.column(table.c.digest, table.c.digest.in_(wanted))
        return needed

    def digests(self, *, after: str, limit: int) -> list[str]:
        """Return up to `limit` digests that rows need, in order, each once, behind one or `""`."""
        found: set[str] = set()
        for table in _TABLES:
            digest = table.c.digest
            behind = self._scope.select(table, digest > after, columns=[digest]).distinct()
            rows = self._scope.all(behind.order_by(digest).limit(limit))
            found |= {row.digest for row in rows}
        return sorted(found)[:limit]

    def of(self, digests: Collection[str]) -> Sequence[BlobReference]:
        """Return the rows that need at most 500 digests, in order of digest and name."""
        files = self._scope.rows_with(resources.c.digest, digests)
        pieces = self._scope.rows_with(upload_segments.c.digest, digests)
        found = [*map(_of_resource, files), *map(_of_segment, pieces)]
        return sorted(found, key=lambda reference: (reference.digest, reference.owner))

    def bytes_needed(self) -> int:
        """Return the size in bytes of blobs rows need; one needed by both tables counts twice."""
        total = 0
        for table in _TABLES:
            columns = [table.c.digest, table.c.size_bytes]
            blobs = self._scope.select(table, columns=columns).distinct().subquery()
            size_bytes = func.sum(blobs.c.size_bytes).label("size_bytes")
            (row,) = self._scope.all(scoped_from(blobs, size_bytes))
            total += int(row.size_bytes or 0)
        return total


def _of_resource(row: Row[Any]) -> BlobReference:
    owner = f"blob:{row.resource_id}"
    return BlobReference(row.digest, row.size_bytes, owner, (owner, row.created_at.isoformat()))


def _of_segment(row: Row[Any]) -> BlobReference:
    owner = f"upload {row.upload_id} from byte {row.start}"
    return BlobReference(row.digest, row.size_bytes, owner, (owner,))


@dataclass(frozen=True, slots=True)
class BlobClaim:
    """Digests whose blobs the holder may remove; `claimed_at` tells it from later claims."""

    digests: tuple[str, ...]
    claimed_at: datetime


class SweptBlobRecords(Repository):
    """The removals of one project's blobs."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._references = unit[BlobReferenceRecords]
        self._stored_blobs = unit[StoredBlobRecords]

    def claim(self, digests: Collection[str]) -> BlobClaim | None:
        """Claim those of at most 500 digests that no row needs; the caller may remove their blobs.

        It has `CLAIM_SECONDS` from the moment it began the transaction, and calls `note_over` when
        it is done with them. What another sweep is removing is not claimed.

        Returns:
            The claim, which may be empty; `None` if a long write is under way.
        """
        if not self._scope.lock_alone(CLAIM_LOCK, wait_seconds=_WAIT_SECONDS):
            return None
        needed = self._references.needed(digests)
        claim = self._claim(set(digests) - needed)
        self._stored_blobs.drop(claim.digests)
        return claim

    def claim_needed(self, digest: str) -> BlobClaim | None:
        """Claim, like `claim`, a damaged blob that rows need: they lose it knowingly."""
        if not self._scope.lock_alone(CLAIM_LOCK, wait_seconds=_WAIT_SECONDS):
            return None
        return self._claim({digest})

    def note_over(self, claim: BlobClaim, digests: Collection[str]) -> None:
        """Note that nothing of these digests is removed any more on the strength of the claim.

        They need not have been removed. If somebody else has claimed them since, because the
        caller was very late, that claim goes on.
        """
        self._scope.set_values(
            swept_blobs,
            swept_blobs.c.digest.in_(sorted(digests)),
            swept_blobs.c.claimed_at == claim.claimed_at,
            swept_at=self._scope.now(),
        )

    def forget(self, age: timedelta) -> int:
        """Drop claims that are older; says how many.

        The age has to exceed the time between a request's first blob and its row.
        """
        before = self._scope.now() - age
        return self._scope.remove(
            swept_blobs,
            swept_blobs.c.claimed_at < before,
            or_(swept_blobs.c.swept_at.is_(None), swept_blobs.c.swept_at < before),
        )

    def _claim(self, wanted: set[str]) -> BlobClaim:
        # Taken behind the lock, which may have been waited for.
        now = self._scope.now()
        running, _ = read_claims(self._scope, wanted)
        claimed = tuple(sorted(wanted - running))
        rows = [{"digest": digest, "claimed_at": now, "swept_at": None} for digest in claimed]
        self._scope.merge_all(swept_blobs, rows, touch("claimed_at", "swept_at"))
        return BlobClaim(claimed, now)
