"""Reads the hints of media from their headers, and finds damaged media.

*Hints* are the pixels of an image, and the duration of audio or video. They are read without
decoding. If the header cannot be parsed, the medium has no hints; this is not an error.

*Damage* is found by reading the whole medium. It depends only on the bytes. It is cached in memory,
so that the media of a conversation are not read for each rendering, and is never stored, so that
new checks also apply to old media.
"""

from functools import partial

import anyio
import anyio.from_thread
import anyio.to_thread
from cachetools import LRUCache

from app.errors import StoreUnavailableError
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.store import BlobStore, StoredBlob, read_whole
from pagefault_dialects.media import headers
from pagefault_dialects.media.soundness.bounded_reader import BoundedReader
from pagefault_dialects.media.soundness.checks import check_soundness, check_source_soundness
from pagefault_dialects.model.conversation import InlineBytes, Medium, StoredBytes
from pagefault_dialects.model.media import InMemoryMedia, MediaSource
from pagefault_dialects.model.resource import Damage, MediaHints, Resource

# How much of the beginning of an image is read for its hints.
_IMAGE_HEAD_BYTES = 1024 * 1024
# How much of the beginning and of the end of audio and video is read for their hints.
_WINDOW_BYTES = 8 * 1024 * 1024
_NO_HINTS = MediaHints()

# MP4 and related formats may have their header at the end.
_TYPES_WITH_HEADER_AT_END = frozenset(
    {"video/mp4", "audio/mp4", "video/quicktime", "audio/x-m4a", "video/x-m4v", "video/3gpp"}
)


def probe_media(head: bytes, source: MediaSource, mime_type: str) -> MediaHints:
    """Read the hints of a medium that is being stored. This reads the medium, so use a thread.

    Args:
        head: The first bytes of the medium.
        source: The medium. If it is neither in memory nor in a temporary file, only its first 8 MiB
            are read.
        mime_type: The detected type.

    Returns:
        The pixels as displayed (after the rotation of a photograph), and the duration in seconds,
        rounded to milliseconds.
    """
    if headers.has_known_header(mime_type):
        hints = headers.read_image_hints(head, mime_type)
        if hints == _NO_HINTS and source.size_bytes > len(head):
            hints = headers.read_image_hints(source.head(_IMAGE_HEAD_BYTES), mime_type)
        return hints
    if headers.has_duration(mime_type):
        return headers.read_duration_hints(_open_source(source), mime_type)
    return _NO_HINTS


async def probe_stored_media(
    blobs: BlobStore, project_id: str, blob: StoredBlob, mime_type: str
) -> MediaHints:
    """Read the hints of a stored blob, from its beginning and, for some types, its end.

    Returns:
        The hints; see `probe_media`. If the store does not answer, the hints are empty.
    """
    is_image = headers.has_known_header(mime_type)
    if not is_image and not headers.has_duration(mime_type):
        return _NO_HINTS
    window = _IMAGE_HEAD_BYTES if is_image else _WINDOW_BYTES
    try:
        head = await read_whole(blobs, project_id, blob.digest, end=window)
        if is_image:
            return await anyio.to_thread.run_sync(headers.read_image_hints, head, mime_type)
        tail = b""
        if mime_type in _TYPES_WITH_HEADER_AT_END and b"moov" not in head:
            start = max(len(head), blob.size_bytes - _WINDOW_BYTES)
            tail = await read_whole(blobs, project_id, blob.digest, start=start)
    except StoreUnavailableError:
        return _NO_HINTS
    file = headers.WindowedFile(head, tail, blob.size_bytes)
    return await anyio.to_thread.run_sync(headers.read_duration_hints, file, mime_type)


def _open_source(source: MediaSource) -> headers.WindowedFile:
    """Return a medium as a file, from which the parser reads only what it needs."""
    if isinstance(source, DraftMedia):
        return headers.WholeFile(source.draft.read, source.size_bytes)
    # `head` does not copy the bytes of a medium in memory, so all of them can be passed.
    size = source.size_bytes if isinstance(source, InMemoryMedia) else _WINDOW_BYTES
    return headers.WindowedFile(source.head(size), b"", source.size_bytes)


_MAX_CACHED = 20_000
# The size up to which a medium in memory is checked in the event loop.
_SMALL_BYTES = 4_096
# The number of concurrent checks, each of which occupies a thread while it waits for the store.
_MAX_CONCURRENT = 8


class MediaChecks:
    """Finds damaged media. All services share one instance, because of its cache.

    Args:
        blobs: Reads stored media.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._cache = LRUCache[tuple[str, str], Damage | None](_MAX_CACHED)
        self._threads = anyio.CapacityLimiter(_MAX_CONCURRENT)

    async def check_medium(self, project_id: str, medium: Medium) -> Damage | None:
        """Return the damage of a medium of a conversation; `None` if it is sound or at a URL.

        Raises:
            StoreUnavailableError: The store did not answer, or has lost the bytes.
        """
        match medium.source:
            case InlineBytes(data=data):
                return await self.check_bytes(data, medium.mime_type)
            case StoredBytes(digest=digest):
                size_bytes = medium.size_bytes or 0
                return await self.check_blob(
                    project_id, digest, mime_type=medium.mime_type, size_bytes=size_bytes
                )
        return None

    async def check_resource(self, project_id: str, resource: Resource) -> Damage | None:
        """Return the damage of a resource; `None` if it is sound.

        Raises:
            StoreUnavailableError: The store did not answer, or has lost the bytes.
        """
        mime_type, size_bytes = resource.mime_type, resource.size_bytes
        return await self.check_blob(
            project_id, resource.digest, mime_type=mime_type, size_bytes=size_bytes
        )

    async def check_bytes(self, data: bytes, mime_type: str) -> Damage | None:
        """Return the damage of a medium in memory; `None` if it is sound."""
        source = InMemoryMedia(data)
        if len(data) <= _SMALL_BYTES:
            # Checking an icon is faster than starting a thread, and a history may have thousands of
            # them.
            return check_source_soundness(source, mime_type)
        return await anyio.to_thread.run_sync(
            check_source_soundness, source, mime_type, limiter=self._threads
        )

    async def check_blob(
        self, project_id: str, digest: str, *, mime_type: str, size_bytes: int
    ) -> Damage | None:
        """Return the damage of stored bytes; `None` if they are sound.

        Raises:
            StoreUnavailableError: The store did not answer, or has lost the bytes.
        """
        if (digest, mime_type) in self._cache:
            return self._cache[digest, mime_type]

        def read_at(start: int, size: int) -> bytes:
            read = partial(read_whole, start=start, end=start + size)
            data = anyio.from_thread.run(read, self._blobs, project_id, digest)
            if len(data) != size:
                # The store has lost a part of the blob. The medium itself may be sound.
                raise StoreUnavailableError("blob store")
            return data

        file = BoundedReader(read_at, size_bytes)
        damage = await anyio.to_thread.run_sync(
            check_soundness, file, mime_type, limiter=self._threads
        )
        self.remember(digest, mime_type, damage)
        return damage

    def remember(self, digest: str, mime_type: str, damage: Damage | None) -> None:
        """Add the result of a check to the cache."""
        self._cache[digest, mime_type] = damage
