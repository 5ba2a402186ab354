"""Finds the hints of media, which are sizes and durations, and finds damaged media.

Hints are read from headers, without decoding: the pixels of images, and the durations of audio and
video. The bytes may be hostile. If they cannot be parsed, the medium has no hints, which is no
error.

Damage depends only on the bytes. It is computed and cached, but never stored, so that new checks
also apply to old media. Because of the cache, the media of a conversation are not read again for
each rendering.
"""

from collections import OrderedDict
from functools import partial

import anyio
import anyio.from_thread
import anyio.to_thread

from app.errors import StoreUnavailableError
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.store import BlobStore, StoredBlob, read_whole
from pagefault_dialects.media import headers
from pagefault_dialects.media.soundness.bounded_reader import BoundedReader
from pagefault_dialects.media.soundness.checks import check_soundness, check_source_soundness
from pagefault_dialects.model.conversation import InlineBytes, Medium, StoredBytes
from pagefault_dialects.model.media import InMemoryMedia, MediaSource
from pagefault_dialects.model.resource import Damage, MediaHints, Resource

_IMAGE_HEAD_BYTES = 1024 * 1024
_WINDOW_BYTES = 8 * 1024 * 1024
_NO_HINTS = MediaHints()

# MP4 and related formats may have their header after the media.
_HEADER_MAY_BE_LAST = frozenset(
    {"video/mp4", "audio/mp4", "video/quicktime", "audio/x-m4a", "video/x-m4v", "video/3gpp"}
)


def probe_media(head: bytes, source: MediaSource, mime_type: str) -> MediaHints:
    """Return the hints of a medium. Reads the medium, so call it in a thread.

    Args:
        head: The first bytes of the medium.
        source: The medium. Unless it is in memory or a draft, only its first 8 MiB are read.
        mime_type: The detected type.

    Returns:
        The pixels as displayed (after the rotation of a photograph), and the seconds, rounded to
        milliseconds.
    """
    if headers.has_known_header(mime_type):
        hints = headers.read_image_hints(head, mime_type)
        if hints == _NO_HINTS and source.size_bytes > len(head):
            hints = headers.read_image_hints(source.head(_IMAGE_HEAD_BYTES), mime_type)
        return hints
    if headers.has_duration(mime_type):
        return headers.read_duration_hints(_file_of(source), mime_type)
    return _NO_HINTS


async def probe_stored_media(
    blobs: BlobStore, project_id: str, blob: StoredBlob, mime_type: str
) -> MediaHints:
    """Return the hints of a stored blob. Only its beginning, and for some types its end, are read.

    Returns:
        See `probe_media`. If the store does not answer, there are no hints.
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
        if mime_type in _HEADER_MAY_BE_LAST and b"moov" not in head:
            start = max(len(head), blob.size_bytes - _WINDOW_BYTES)
            tail = await read_whole(blobs, project_id, blob.digest, start=start)
    except StoreUnavailableError:
        return _NO_HINTS
    file = headers.WindowedFile(head, tail, blob.size_bytes)
    return await anyio.to_thread.run_sync(headers.read_duration_hints, file, mime_type)


def _file_of(source: MediaSource) -> headers.WindowedFile:
    if isinstance(source, DraftMedia):
        return headers.WholeFile(source.draft.read, source.size_bytes)
    # All bytes of a medium in memory are passed, as this does not copy them.
    size = source.size_bytes if isinstance(source, InMemoryMedia) else _WINDOW_BYTES
    return headers.WindowedFile(source.head(size), b"", source.size_bytes)


_MAX_CACHED = 20_000
_SMALL_BYTES = 4_096
# While a check waits for the store, it occupies a thread.
_MAX_CONCURRENT = 8


class MediaChecks:
    """Finds damaged media, with a cache that all services share.

    Args:
        blobs: Reads stored media.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._cache: OrderedDict[tuple[str, str], Damage | None] = OrderedDict()
        self._threads = anyio.CapacityLimiter(_MAX_CONCURRENT)

    async def check_medium(self, project_id: str, medium: Medium) -> Damage | None:
        """Return the damage of a medium of a conversation; `None` for a medium at a URL.

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
        """Return the damage of a stored medium.

        Raises:
            StoreUnavailableError: The store did not answer, or has lost the bytes.
        """
        mime_type, size_bytes = resource.mime_type, resource.size_bytes
        return await self.check_blob(
            project_id, resource.digest, mime_type=mime_type, size_bytes=size_bytes
        )

    async def check_bytes(self, data: bytes, mime_type: str) -> Damage | None:
        """Return the damage of a medium in memory."""
        source = InMemoryMedia(data)
        if len(data) <= _SMALL_BYTES:
            # Checking an icon is faster than starting a thread, and a history may have thousands.
            return check_source_soundness(source, mime_type)
        return await anyio.to_thread.run_sync(
            check_source_soundness, source, mime_type, limiter=self._threads
        )

    async def check_blob(
        self, project_id: str, digest: str, *, mime_type: str, size_bytes: int
    ) -> Damage | None:
        """Return the damage of a stored medium.

        Raises:
            StoreUnavailableError: The store did not answer, or has lost the bytes.
        """
        if (digest, mime_type) in self._cache:
            self._cache.move_to_end((digest, mime_type))
            return self._cache[digest, mime_type]

        def read_at(start: int, size: int) -> bytes:
            read = partial(read_whole, start=start, end=start + size)
            data = anyio.from_thread.run(read, self._blobs, project_id, digest)
            if len(data) != size:
                # The store has lost a part of the blob. The medium itself may not be damaged.
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
        if len(self._cache) > _MAX_CACHED:
            self._cache.popitem(last=False)
