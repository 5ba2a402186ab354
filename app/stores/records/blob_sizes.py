"""Sizes of blobs that a transaction needs, and that are looked up before the transaction begins.

A transaction needs a size if a sweep has claimed the blob and the claim has ended (see
`swept_blobs`). Then the blob exists only if it was stored again. Only the blob store shows this,
and transactions must not wait for the blob store.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

BlobSize: TypeAlias = Callable[[str, str], Awaitable[int | None]]
"""Returns the size in bytes of a blob, by project and digest; `None` if there is no such blob."""


@dataclass(frozen=True, slots=True)
class EndedClaim:
    """A claim on a blob that has ended, because the sweep has removed the blob or was killed."""

    digest: str
    claimed_at: datetime
    swept_at: datetime | None


SizesByClaim: TypeAlias = dict[EndedClaim, int | None]
"""The sizes of blobs that were looked up before the transaction, by the ended claim.

If a blob is claimed again, its size has no entry under the new claim, so it is looked up again.
"""


@dataclass(eq=False)
class SizeUnknownError(Exception):
    """A transaction needs sizes of blobs that were not looked up before it began."""

    claims: Sequence[EndedClaim]
