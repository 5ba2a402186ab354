"""Claims of sweeps on blobs, which synchronise the removal of blobs with writes.

A row may be written only while its blob exists, and a blob may be removed only while no row needs
it. A sweep claims the digests of the blobs that it will remove, in a transaction that sees every
row. A write checks that its digests are not claimed, in the transaction that writes its row. Both
acquire a lock first: writers a shared one, a sweep an exclusive one. A claim is kept after the
removal, for writes that have stored a blob before the removal and commit their row after it.

    free ── claim ──> running ── end_claim ──> ended ── forget ──> free
                        │  └──── a day passes: forget ───────────> free
                        └─ the sweep was killed, minutes pass: treated as ended

While a claim runs, rows with its digests are refused. After its end, a row is refused unless the
blob exists in the blob store, since it was stored again. All times are from the clock of the
database, so the clocks of several machines may differ.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Integer, bindparam, func, or_

from app.stores.records.blob_guard import CLAIM_LOCK, read_claims
from app.stores.records.statements import (
    is_among,
    overwrite,
    scoped_delete,
    scoped_from,
    scoped_select,
    scoped_update,
)
from app.stores.records.stored_blobs import StoredBlobRecords
from app.stores.records.tables import resources, swept_blobs, upload_segments
from app.stores.records.unit_of_work import Repository, UnitOfWork

CLAIM_SECONDS = 60.0
"""The time within which a sweep removes the blobs of a claim."""

DIGESTS_AT_ONCE = 500
"""The maximum number of digests in a claim."""

# While a claim waits for the lock, every write of the project waits behind it.
_WAIT_SECONDS = 2.0
_TABLES = (resources, upload_segments)
_SELECT_NEEDED = [
    scoped_select(table, table.c.digest).where(is_among(table.c.digest, "digests"))
    for table in _TABLES
]
_SELECT_DIGESTS = [
    scoped_select(table, table.c.digest)
    .where(table.c.digest > bindparam("after"))
    .distinct()
    .order_by(table.c.digest)
    .limit(bindparam("limit", type_=Integer()))
    for table in _TABLES
]
_BLOBS = [
    scoped_select(table, table.c.digest, table.c.size_bytes).distinct().subquery()
    for table in _TABLES
]
_SELECT_NEEDED_BYTES = [scoped_from(blobs, func.sum(blobs.c.size_bytes)) for blobs in _BLOBS]
_END_CLAIM = scoped_update(swept_blobs, by={"claimed_at": "of_claim"}).where(
    is_among(swept_blobs.c.digest, "digests")
)
_FORGET = scoped_delete(swept_blobs).where(
    swept_blobs.c.claimed_at < bindparam("before"),
    or_(swept_blobs.c.swept_at.is_(None), swept_blobs.c.swept_at < bindparam("before")),
)


@dataclass(frozen=True, slots=True)
class BlobReference:
    """A row that needs a blob, with the size of the blob.

    `owner` names the row in messages: `blob:<id>`, or `upload <id> from byte <start>`. If a row is
    deleted and written again under the same name, its `identity` changes.
    """

    digest: str
    size_bytes: int
    owner: str
    identity: tuple[str, ...]


class BlobReferenceRecords(Repository):
    """The rows of one project that need blobs."""

    def find_needed(self, digests: Collection[str]) -> set[str]:
        """Return the digests, out of at most 500, that rows need."""
        unique = sorted(set(digests))
        needed: set[str] = set()
        for statement in _SELECT_NEEDED:
            needed.update(self._scope.execute(statement, digests=unique).scalars())
        return needed

    def list_digests(self, *, after: str, limit: int) -> list[str]:
        """Return up to `limit` digests after `after` that rows need, sorted, without duplicates."""
        found: set[str] = set()
        for statement in _SELECT_DIGESTS:
            found.update(self._scope.execute(statement, after=after, limit=limit).scalars())
        return sorted(found)[:limit]

    def find(self, digests: Collection[str]) -> Sequence[BlobReference]:
        """Return the rows that need one of these digests, in order of digest and owner."""
        found: list[BlobReference] = []
        for row in self._scope.rows_with(resources.c.digest, digests):
            owner = f"blob:{row.resource_id}"
            identity = (owner, row.created_at.isoformat())
            found.append(BlobReference(row.digest, row.size_bytes, owner, identity))
        for row in self._scope.rows_with(upload_segments.c.digest, digests):
            owner = f"upload {row.upload_id} from byte {row.start}"
            found.append(BlobReference(row.digest, row.size_bytes, owner, (owner,)))
        return sorted(found, key=lambda reference: (reference.digest, reference.owner))

    def sum_needed_bytes(self) -> int:
        """Return the bytes of the blobs that rows need; blobs in both tables count twice."""
        sums = (self._scope.execute(statement).scalar_one() for statement in _SELECT_NEEDED_BYTES)
        return sum(int(size_bytes or 0) for size_bytes in sums)


@dataclass(frozen=True, slots=True)
class BlobClaim:
    """Digests whose blobs a sweep may remove; `claimed_at` distinguishes it from later claims."""

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

        The caller removes the blobs within `CLAIM_SECONDS` after the beginning of the transaction,
        and then calls `end_claim`. Digests that another sweep is removing are not claimed.

        Returns:
            The claim, which may be empty; `None` if the lock was not acquired, because a long write
            is running.
        """
        if not self._scope.lock_exclusively(CLAIM_LOCK, wait_seconds=_WAIT_SECONDS):
            return None
        needed = self._references.find_needed(digests)
        claim = self._claim(set(digests) - needed)
        self._stored_blobs.drop(claim.digests)
        return claim

    def claim_needed(self, digest: str) -> BlobClaim | None:
        """Claim a damaged blob, as `claim` does, although rows need it."""
        if not self._scope.lock_exclusively(CLAIM_LOCK, wait_seconds=_WAIT_SECONDS):
            return None
        return self._claim({digest})

    def end_claim(self, claim: BlobClaim, digests: Collection[str]) -> None:
        """End a claim for some of its digests, even if their blobs were not removed.

        If another sweep has claimed the digests since then, its claim continues.
        """
        self._scope.run(
            _END_CLAIM,
            digests=sorted(digests),
            of_claim=claim.claimed_at,
            swept_at=self._scope.now(),
        )

    def forget(self, age: timedelta) -> int:
        """Remove the claims that are older than `age`; return their number.

        `age` has to exceed the time from the first blob of a request to the commit of its rows.
        """
        return self._scope.run(_FORGET, before=self._scope.now() - age)

    def _claim(self, digests: set[str]) -> BlobClaim:
        # The time is read after the lock was acquired, which may have taken a while.
        now = self._scope.now()
        running, _ = read_claims(self._scope, digests)
        claimed = tuple(sorted(digests - running))
        rows = [{"digest": digest, "claimed_at": now, "swept_at": None} for digest in claimed]
        self._scope.merge_all(swept_blobs, rows, overwrite("claimed_at", "swept_at"))
        return BlobClaim(claimed, now)
