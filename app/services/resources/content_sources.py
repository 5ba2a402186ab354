"""The ways stored bytes get to a caller: through the service, or from where they lie.

The service says who may have what, and under which headers; the bytes need not pass through it.
A proxy in front of it may read the file, the server under it may, or the bucket answers by itself.
Nothing here asks who the caller is: that is settled before.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.stores.blobs.store import BlobStore, LinkedBlobs, LocalBlobs, blob_path

Sender = Literal["proxy", "store"]

_FOLDER = "blobs/"


@dataclass(frozen=True, slots=True)
class OffloadRules:
    """Who else is to send content; by default nobody.

    `proxy_prefix` is where the proxy has the folder of the blobs, with slashes around it.
    `redirect_bytes` is the size from which on the bucket sends, and `redirect_seconds` how long an
    address in it is good for.
    """

    proxy_prefix: str | None = None
    redirect_bytes: int | None = None
    redirect_seconds: int = 300


@dataclass(frozen=True, slots=True)
class ProxyPath:
    """Where the proxy finds the bytes."""

    path: str


@dataclass(frozen=True, slots=True)
class StoreLink:
    """Where the caller gets the bytes from the store itself."""

    url: str


class ContentSources:
    """Knows the ways to the bytes of every blob."""

    def __init__(self, blobs: BlobStore, rules: OffloadRules) -> None:
        self.blobs = blobs
        self.rules = rules
        self.files = blobs if isinstance(blobs, LocalBlobs) else None
        self.links = blobs if isinstance(blobs, LinkedBlobs) else None

    def of(self, project_id: str, digest: str) -> "ContentSource":
        """Return the ways to one blob; nothing is looked at yet."""
        return ContentSource(self, project_id, digest)


@dataclass(frozen=True, slots=True)
class ContentSource:
    """The bytes of one blob, and the ways to them.

    Any of them raises StoreUnavailableError if the store did not answer, or has lost the bytes.
    """

    sources: ContentSources
    project_id: str
    digest: str

    async def open(self, start: int, end: int) -> AsyncIterator[bytes]:
        """Open the bytes from `start` up to, not including, `end`, to be sent by the service."""
        return await self.sources.blobs.open(self.project_id, self.digest, start=start, end=end)

    async def path(self) -> Path | None:
        """Return the file of this machine that the bytes are, known to be there, if one is."""
        files = self.sources.files
        return None if files is None else await files.path(self.project_id, self.digest)

    def sender(self, size_bytes: int) -> Sender | None:
        """Return who is to send so many bytes; `None` for the service itself."""
        rules = self.sources.rules
        if self.sources.links is not None:
            least = rules.redirect_bytes
            return "store" if least is not None and size_bytes >= least else None
        is_proxied = self.sources.files is not None and rules.proxy_prefix is not None
        return "proxy" if is_proxied else None

    async def offload_location(
        self, *, content_type: str, disposition: str
    ) -> ProxyPath | StoreLink:
        """Return where somebody else has the bytes; asked for if there is a `sender`.

        Args:
            content_type: The `Content-Type` they are to be sent with.
            disposition: The `Content-Disposition` they are to be sent with.
        """
        rules, links = self.sources.rules, self.sources.links
        if links is not None:
            url = await links.link(
                self.project_id,
                self.digest,
                content_type=content_type,
                disposition=disposition,
                seconds=rules.redirect_seconds,
            )
            return StoreLink(url)
        # A proxy that finds nothing would answer in words of its own.
        await self.path()
        below = blob_path(self.project_id, self.digest).removeprefix(_FOLDER)
        return ProxyPath(f"{rules.proxy_prefix}{below}")
