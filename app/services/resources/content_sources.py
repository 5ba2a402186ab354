"""Sources of the bytes of a response: the service, a proxy in front of it, or the blob store.

The service checks access and sets the headers. It does not have to send the bytes itself: a proxy
can read the file, or a redirect can lead the client to the bucket of the store.
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
# Samples are converted in pieces of this size. Converting G.711 doubles their bytes.
_CONVERSION_BYTES = CHUNK_BYTES // 2


@dataclass(frozen=True, slots=True)
class OffloadRules:
    """The settings for content that a proxy or the bucket sends. By default, the service does."""

    proxy_prefix: str | None = None
    """The path of the blob folder in the proxy, with a slash at its beginning and its end."""
    redirect_bytes: int | None = None
    """The minimum size for a redirect to the bucket."""
    redirect_seconds: int = 300
    """The number of seconds for which the URL of a redirect is valid."""


@dataclass(frozen=True, slots=True)
class ProxyPath:
    """The location of the bytes, if the proxy sends them."""

    path: str


@dataclass(frozen=True, slots=True)
class StoreLink:
    """The location of the bytes, if the bucket sends them."""

    url: str


class ContentSources:
    """Makes the sources of blobs."""

    def __init__(self, blobs: BlobStore, rules: OffloadRules) -> None:
        self.blobs = blobs
        self.rules = rules
        self.files = blobs if isinstance(blobs, LocalBlobs) else None
        self.links = blobs if isinstance(blobs, LinkedBlobs) else None

    def make_source(self, project_id: str, digest: str) -> "ContentSource":
        """Return the source of one blob, without reading it."""
        return ContentSource(self, project_id, digest)

    def make_wav_source(self, project_id: str, resource: Resource) -> "WavSource":
        """Return the source of a WAV file with the raw audio samples of a resource.

        Nothing is read.

        Raises:
            UnsupportedMediaError: The resource is not raw audio, or its MIME type does not have the
                format of the samples.
        """
        wav = plan_wav_file(resource.mime_type, resource.size_bytes)
        if wav is None:
            raise UnsupportedMediaError(
                f"A {resource.mime_type} has no form as WAV. Samples without a header have, if "
                "their type says their rate, such as audio/pcm;rate=24000."
            )
        return WavSource(self.make_source(project_id, resource.digest), wav)


@dataclass(frozen=True, slots=True)
class ContentSource:
    """The source of one blob.

    The methods raise StoreUnavailableError if the store did not respond, or has lost the bytes.
    """

    sources: ContentSources
    project_id: str
    digest: str

    async def open(self, start: int, end: int) -> BlobReader:
        """Open the bytes from `start` up to `end`, which the service sends; `end` is excluded."""
        return await self.sources.blobs.open(self.project_id, self.digest, start=start, end=end)

    async def path(self) -> Path | None:
        """Return the path of the local file with the bytes, if the store has local files."""
        files = self.sources.files
        return None if files is None else await files.path(self.project_id, self.digest)

    def sender(self, size_bytes: int) -> Sender | None:
        """Return who sends a file of this size; `None` if the service itself does."""
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
            content_type: The `Content-Type` of the response.
            disposition: The `Content-Disposition` of the response.
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
        # This checks that the file exists. The proxy would send an error of its own format.
        await self.path()
        relative_path = blob_path(self.project_id, self.digest).removeprefix(_FOLDER)
        return ProxyPath(f"{rules.proxy_prefix}{relative_path}")


@dataclass(frozen=True, slots=True)
class WavSource:
    """The source of a WAV file that is made of stored samples. Only the service can send it."""

    source: ContentSource
    wav: WavFile

    async def open(self, start: int, end: int) -> AsyncIterator[bytes]:
        """Open the bytes of the WAV file from `start` up to `end`; see `ContentSource.open`."""
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
        """Yield the header, and then the samples as they are read, in pieces of up to 1 MiB."""
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
            # In a WAV file, a byte is added to a chunk of odd length.
            yield b"\0"

    async def _convert(self, samples: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """Yield samples in the format of the WAV file. Only whole samples are converted."""
        unconverted, width = b"", self.wav.raw.sample_bytes
        async for piece in samples:
            for offset in range(0, len(piece), _CONVERSION_BYTES):
                unconverted += piece[offset : offset + _CONVERSION_BYTES]
                whole_bytes = len(unconverted) - len(unconverted) % width
                if whole_bytes:
                    yield self.wav.convert(unconverted[:whole_bytes])
                unconverted = unconverted[whole_bytes:]
