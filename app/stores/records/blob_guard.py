"""Synchronise writes of rows with sweeps that remove their blobs; see `swept_blobs`."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from app.errors import BlobSweptError
from app.stores.records.blob_sizes import EndedClaim, SizeUnknownError
from app.stores.records.scope import ProjectScope, read_row
from app.stores.records.stored_blobs import Entered, StoredBlobRecords
from app.stores.records.tables import swept_blobs
from app.stores.records.unit_of_work import Repository, UnitOfWork

CLAIM_LOCK = 7_224_013
"""The lock that writers share, and that is exclusive to a claim."""
# Far above CLAIM_SECONDS: no sweep removes blobs of a claim so old.
_ABANDONED_AFTER = timedelta(minutes=10)


class BlobGuard(Repository):
    """Checks that the blobs of one project's rows exist."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._stored_blobs = unit[StoredBlobRecords]
        self._sizes = unit.blob_sizes

    def guard(self, digests: Collection[str]) -> None:
        """Check that blobs exist, and keep sweeps from claiming any until the transaction ends.

        It is called before rows with these digests are written, in their transaction.

        Raises:
            BlobSweptError: One is being removed, or was and was not stored again.
        """
        if not digests:
            return
        self._scope.lock(CLAIM_LOCK, shared=True)
        running, over = read_claims(self._scope, set(digests))
        if running:
            raise BlobSweptError
        # All at once, because an unknown size makes the transaction begin again.
        for digest, size_bytes in self._sizes_of(over).items():
            if size_bytes is None:
                raise BlobSweptError
            # The claim has removed its entry, and the blob was stored again.
            self._stored_blobs.enter({digest: size_bytes})

    def enter(self, sizes: Mapping[str, int], *, reservation_id: str | None = None) -> Entered:
        """Count blobs, at most 500, that exist, in place of a reservation.

        Blobs that are being removed are not counted, and neither are blobs that were removed and
        not stored again. Their rows will be refused.
        """
        self._scope.lock(CLAIM_LOCK, shared=True)
        running, over = read_claims(self._scope, sizes)
        removed = {digest for digest, size in self._sizes_of(over).items() if size is None}
        there = sizes.keys() - running - removed
        counted = {digest: sizes[digest] for digest in there}
        return self._stored_blobs.enter(counted, reservation_id=reservation_id)

    def _sizes_of(self, claims: Sequence[EndedClaim]) -> dict[str, int | None]:
        """Return the sizes of the blobs of claims; `None` if a blob was not stored again.

        Raises:
            SizeUnknownError: Some sizes were not looked up before the transaction.
        """
        if unknown := [claim for claim in claims if claim not in self._sizes]:
            raise SizeUnknownError(unknown)
        return {claim.digest: self._sizes[claim] for claim in claims}


def read_claims(scope: ProjectScope, digests: Collection[str]) -> tuple[set[str], list[EndedClaim]]:
    """Return the digests with a running claim, and the claims that are over, by digest."""
    claims = list(scope.rows_with(swept_blobs.c.digest, digests))
    if not claims:
        return set(), []
    abandoned = scope.now() - _ABANDONED_AFTER
    running = {
        claim.digest for claim in claims if claim.swept_at is None and claim.claimed_at > abandoned
    }
    return running, [
        read_row(EndedClaim, claim)
        for claim in sorted(claims, key=lambda claim: str(claim.digest))
        if claim.digest not in running
    ]
