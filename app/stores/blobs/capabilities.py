"""What only some stores can do beside keeping blobs: name a file, or a URL, that others read."""

from pathlib import Path
from typing import Protocol, runtime_checkable


@runtime_checkable
class LocalBlobs(Protocol):
    """A store whose blobs are files of this machine."""

    async def path(self, project_id: str, digest: str) -> Path:
        """Where the blob lies, absolute. Whoever reads it there must not change it.

        Raises:
            BlobMissingError: This project has no such blob.
            StoreUnavailableError: The store did not answer.
        """
        ...


@runtime_checkable
class LinkedBlobs(Protocol):
    """A store that gives blobs out itself, to whoever has a URL that was signed for them."""

    async def link(
        self, project_id: str, digest: str, *, content_type: str, disposition: str, seconds: int
    ) -> str:
        """A URL under which the blob can be read with GET for so many seconds.

        Whether there is such a blob is not looked at. The two headers are part of what is signed:
        under another type or disposition the URL is worth nothing.

        Args:
            project_id: Whose it is.
            digest: Its SHA-256, as 64 hex digits.
            content_type: The `Content-Type` that the store answers with.
            disposition: The `Content-Disposition` that the store answers with.
            seconds: How long the URL is good for.

        Raises:
            StoreUnavailableError: The keys to sign with could not be had.
        """
        ...
