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
    """The size of the whole file."""
    received_bytes: int
    """The bytes received and stored: the offset of the next piece."""
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
    """An alias for the resource."""

    @property
    def left_bytes(self) -> int:
        """The number of bytes still to be received."""
        return self.length_bytes - self.received_bytes


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of an upload, kept as a blob of its own until the whole file is there."""

    start: int
    size_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class Checksum:
    """The checksum that the client sent for a piece."""

    algorithm: ChecksumAlgorithm
    digest: bytes
