"""Bytes by project and SHA-256, whole or not at all: a directory or an S3 bucket.

That of S3 is imported from its module: its client takes a while to load.
"""

from app.stores.blobs.filesystem import FilesystemBlobStore
from app.stores.blobs.store import (
    BlobDraft,
    BlobMissingError,
    BlobReader,
    BlobStore,
    BlobWriter,
    LinkedBlobs,
    ListedBlob,
    LocalBlobs,
    StoredBlob,
    read_whole,
)
from app.stores.blobs.writing import DraftMedia

__all__ = [
    "BlobDraft",
    "BlobMissingError",
    "BlobReader",
    "BlobStore",
    "BlobWriter",
    "DraftMedia",
    "FilesystemBlobStore",
    "LinkedBlobs",
    "ListedBlob",
    "LocalBlobs",
    "StoredBlob",
    "read_whole",
]
