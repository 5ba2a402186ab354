"""Reads blobs that are small enough to be held whole."""

from contextlib import aclosing

from app.stores.blobs.store import BlobStore


async def read_whole(
    blobs: BlobStore, project_id: str, digest: str, *, start: int = 0, end: int | None = None
) -> bytes:
    """The bytes of a blob from `start` up to, not including, `end`.

    How many that may be is for the caller to limit.

    Raises:
        BlobMissingError: The project has no such blob.
        StoreUnavailableError: The store did not answer.
    """
    async with aclosing(await blobs.open(project_id, digest, start=start, end=end)) as reader:
        return b"".join([piece async for piece in reader])
