"""Uploads in pieces: how far they are, and what has come of them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

ChecksumAlgorithm: TypeAlias = Literal["sha1", "sha256", "sha512"]


@dataclass(frozen=True, slots=True)
class ResumableUpload:
    """A file that arrives in pieces, or has arrived."""

    upload_id: str
    length_bytes: int
    """What the whole file will have."""
    received_bytes: int
    """What has come and is kept: the offset that the next piece begins at."""
    metadata: str | None
    """The client's own words about the file, as it sent them."""
    filename: str | None
    """As it was claimed; the resource has a safe one."""
    mime_type: str | None
    """As it was claimed; the resource has the one its bytes are of."""
    created_at: datetime
    expires_at: datetime
    resource_id: str | None = None
    """Set once the whole file is a resource; that may have been deleted since."""
    alias: str | None = None
    """What else the resource is to be called."""

    @property
    def left_bytes(self) -> int:
        """What has not come yet."""
        return self.length_bytes - self.received_bytes


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of an upload, kept as a blob of its own until the whole file is there."""

    start: int
    size_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class Checksum:
    """What the bytes of a piece are to hash to."""

    algorithm: ChecksumAlgorithm
    digest: bytes
