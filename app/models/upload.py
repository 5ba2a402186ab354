"""Uploads in pieces: their progress and their resource."""

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
    """The `Upload-Metadata` of the client, unchanged."""
    filename: str | None
    """The name that the client sent; the resource has a safe form of it."""
    mime_type: str | None
    """The type that the client sent; the resource has that of its bytes."""
    created_at: datetime
    expires_at: datetime
    resource_id: str | None = None
    """The id of the finished resource, which may have been deleted since."""
    alias: str | None = None
    """An alias for the resource."""

    @property
    def missing_bytes(self) -> int:
        """The number of bytes still to be received."""
        return self.length_bytes - self.received_bytes


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of an upload, stored as a blob until the file is complete."""

    start: int
    size_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class Checksum:
    """The checksum that the client sent for a piece."""

    algorithm: ChecksumAlgorithm
    digest: bytes
