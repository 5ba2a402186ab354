"""Sizes of blobs that a transaction needs, which are looked up in the blob store before it begins.

`swept_blobs` says when.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

BlobSize: TypeAlias = Callable[[str, str], Awaitable[int | None]]
"""The size in bytes of the blob that a project (first) has of a digest (second), if it has one."""


@dataclass(frozen=True, slots=True)
class ClaimOver:
    """A claim on the strength of which nothing is removed any more."""

    digest: str
    claimed_at: datetime
    swept_at: datetime | None


KnownSizes: TypeAlias = dict[ClaimOver, int | None]
"""Sizes that were asked for before the transaction: of the blobs that claims were about.

A blob that was claimed again since has another claim, and is asked for again.
"""


@dataclass(eq=False)
class SizeUnknownError(Exception):
    """A transaction needs the sizes of blobs that have come back behind claims, if they have."""

    claims: Sequence[ClaimOver]
