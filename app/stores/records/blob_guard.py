"""Synchronise writers of rows with sweeps that remove unreferenced blobs.

Before it removes a blob, a sweep claims it with a row in `swept_blobs`. A writer that refers to a
claimed blob is refused, and one that refers to a removed blob is refused unless the blob was stored
again.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from app.errors import BlobSweptError
from app.stores.records.blob_sizes import EndedClaim, SizeUnknownError
from app.stores.records.scope import ProjectScope, read_row
from app.stores.records.stored_blobs import CountedBlobs, StoredBlobRecords
from app.stores.records.tables import swept_blobs
from app.stores.records.unit_of_work import Repository, UnitOfWork

CLAIM_LOCK = 7_224_013
"""The key of the advisory lock: shared by writers, and exclusive to a sweep that claims."""
# A claim that is older and not ended belongs to a sweep that was killed. Far above CLAIM_SECONDS.
_ABANDONED_AFTER = timedelta(minutes=10)


class BlobGuard(Repository):
    """Checks that the blobs that one project's rows refer to exist."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._stored_blobs = unit[StoredBlobRecords]
        self._sizes = unit.blob_sizes

    def guard(self, digests: Collection[str]) -> None:
        """Check that blobs exist; no sweep can claim blobs until the transaction ends.

        Transactions call this before they write rows with these digests.

        Raises:
            BlobSweptError: A blob is being removed, or was removed and not stored again.
            SizeUnknownError: The size of a blob is needed; `Records.write` looks it up and retries.
        """
        if not digests:
            return
        self._scope.lock(CLAIM_LOCK, shared=True)
        running, ended = read_claims(self._scope, set(digests))
        if running:
            raise BlobSweptError
        # The sizes of all blobs are read together, because each SizeUnknownError repeats the
        # transaction.
        for digest, size_bytes in self._sizes_of(ended).items():
            if size_bytes is None:
                raise BlobSweptError
            # The sweep has stopped counting the blob, and the blob was stored again.
            self._stored_blobs.count_blobs({digest: size_bytes})

    def count_blobs(
        self, sizes: Mapping[str, int], *, reservation_id: str | None = None
    ) -> CountedBlobs:
        """Count at most 500 blobs towards the quota, and release the reservation for them.

        Blobs that are being removed, or were removed and not stored again, are not counted, because
        `guard` will refuse their rows.
        """
        self._scope.lock(CLAIM_LOCK, shared=True)
        running, ended = read_claims(self._scope, sizes)
        removed = {digest for digest, size in self._sizes_of(ended).items() if size is None}
        counted = {digest: sizes[digest] for digest in sizes.keys() - running - removed}
        return self._stored_blobs.count_blobs(counted, reservation_id=reservation_id)

    def _sizes_of(self, claims: Sequence[EndedClaim]) -> dict[str, int | None]:
        """Return the sizes of the blobs of claims; `None` if a blob was not stored again.

        Raises:
            SizeUnknownError: Some sizes were not looked up before the transaction.
        """
        if unknown := [claim for claim in claims if claim not in self._sizes]:
            raise SizeUnknownError(unknown)
        return {claim.digest: self._sizes[claim] for claim in claims}


def read_claims(scope: ProjectScope, digests: Collection[str]) -> tuple[set[str], list[EndedClaim]]:
    """Return the digests with a running claim, and the ended claims in the order of digests."""
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
