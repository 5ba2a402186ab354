"""Sources of stored bytes: the service, a proxy, or the store itself.

The service decides about access and headers, but need not send the bytes itself: a proxy in front
of it, or the server under it, reads the file, or the bucket answers. Access is checked before.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.errors import UnsupportedMediaError
from app.stores.blobs.store import BlobReader, BlobStore, LinkedBlobs, LocalBlobs, blob_path
from pagefault_dialects.media.raw_audio import WavFile, plan_wav_file
from pagefault_dialects.model.media import CHUNK_BYTES
from pagefault_dialects.model.resource import Resource

Sender = Literal["proxy", "store"]

_FOLDER = "blobs/"
# Converting G.711 doubles the number of bytes.
_CONVERSION_BYTES = CHUNK_BYTES // 2


@dataclass(frozen=True, slots=True)
class OffloadRules:
    """The settings for content that the service does not send itself; by default none.

    `proxy_prefix` is the proxy's path of the blob folder, with slashes around it. `redirect_bytes`
    is the minimum size for redirects to the bucket, and `redirect_seconds` the validity of their
    addresses.
    """

    proxy_prefix: str | None = None
    redirect_bytes: int | None = None
    redirect_seconds: int = 300


@dataclass(frozen=True, slots=True)
class ProxyPath:
    """The path of the bytes for the proxy."""

    path: str


@dataclass(frozen=True, slots=True)
class StoreLink:
    """The URL of the bytes in the store."""

    url: str


class ContentSources:
    """The sources of all blobs."""

    def __init__(self, blobs: BlobStore, rules: OffloadRules) -> None:
        self.blobs = blobs
        self.rules = rules
        self.files = blobs if isinstance(blobs, LocalBlobs) else None
        self.links = blobs if isinstance(blobs, LinkedBlobs) else None

    def of(self, project_id: str, digest: str) -> "ContentSource":
        """Return the source of one blob, without reading it."""
        return ContentSource(self, project_id, digest)

    def wav_of(self, project_id: str, resource: Resource) -> "WavSource":
        """Return stored samples as a WAV file, without reading them.

        Raises:
            UnsupportedMediaError: They are not samples without a header, or their type does not
                have their format.
        """
        wav = plan_wav_file(resource.mime_type, resource.size_bytes)
        if wav is None:
            raise UnsupportedMediaError(
                f"A {resource.mime_type} has no form as WAV. Samples without a header have, if "
                "their type says their rate, such as audio/pcm;rate=24000."
            )
        return WavSource(self.of(project_id, resource.digest), wav)


@dataclass(frozen=True, slots=True)
class ContentSource:
    """The source of one blob.

    Its methods raise StoreUnavailableError if the store did not answer, or has lost the bytes.
    """

    sources: ContentSources
    project_id: str
    digest: str

    async def open(self, start: int, end: int) -> BlobReader:
        """Open the bytes from `start` to before `end`, to be sent by the service."""
        return await self.sources.blobs.open(self.project_id, self.digest, start=start, end=end)

    async def path(self) -> Path | None:
        """Return the local file with the bytes, if the store has local files."""
        files = self.sources.files
        return None if files is None else await files.path(self.project_id, self.digest)

    def sender(self, size_bytes: int) -> Sender | None:
        """Return the sender of this number of bytes; `None` for the service itself."""
        rules = self.sources.rules
        if self.sources.links is not None:
            min_bytes = rules.redirect_bytes
            return "store" if min_bytes is not None and size_bytes >= min_bytes else None
        is_proxied = self.sources.files is not None and rules.proxy_prefix is not None
        return "proxy" if is_proxied else None

    async def offload_location(
        self, *, content_type: str, disposition: str
    ) -> ProxyPath | StoreLink:
        """Return the location of the bytes for their `sender`.

        Args:
            content_type: The `Content-Type` of the answer.
            disposition: The `Content-Disposition` of the answer.
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
        # Check that the file exists, since the proxy would send another kind of error.
        await self.path()
        below = blob_path(self.project_id, self.digest).removeprefix(_FOLDER)
        return ProxyPath(f"{rules.proxy_prefix}{below}")


@dataclass(frozen=True, slots=True)
class WavSource:
    """Stored samples that are sent as a WAV file; no other server can send them."""

    source: ContentSource
    wav: WavFile

    async def open(self, start: int, end: int) -> AsyncIterator[bytes]:
        """Open the bytes of the file from `start` to before `end`, see `ContentSource.open`."""
        first, last, skipped = self.wav.find_samples(start, end)
        header = self.wav.header[start:end]
        samples = None if first == last else await self.source.open(first, last)
        return self._send(header, samples, skipped, end - start)

    async def _send(
        self,
        header: bytes,
        samples: BlobReader | None,
        skipped: int,
        size_bytes: int,
    ) -> AsyncGenerator[bytes, None]:
        """Yield the header, and the samples as they are read, in pieces of offset most 1 MiB."""
        remaining = size_bytes - len(header)
        if header:
            yield header
        if samples is not None:
            async with aclosing(samples), aclosing(self._convert(samples)) as pieces:
                async for piece in pieces:
                    part = piece[skipped : skipped + remaining]
                    skipped, remaining = 0, remaining - len(part)
                    yield part
        if remaining:
            # The last chunk of the file has an even length.
            yield b"\0"

    async def _convert(self, samples: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        rest, width = b"", self.wav.raw.sample_bytes
        async for piece in samples:
            for offset in range(0, len(piece), _CONVERSION_BYTES):
                rest += piece[offset : offset + _CONVERSION_BYTES]
                whole = len(rest) - len(rest) % width
                if whole:
                    yield self.wav.convert(rest[:whole])
                rest = rest[whole:]
