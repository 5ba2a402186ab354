"""What a viewer may know before it has the bytes, found without decoding any of them.

Pixels come from image headers, durations from the headers of audio and video. A probe that fails
costs a hint and never the result: these are parsers of hostile bytes.
"""

import anyio
import anyio.to_thread

from app.errors import StoreUnavailableError
from app.media.headers import (
    WholeFile,
    WindowedFile,
    duration_hints,
    has_duration,
    has_known_header,
    image_hints,
)
from app.models.media import InMemoryMedia, MediaSource
from app.models.resource import MediaHints
from app.stores.blobs import BlobStore, DraftMedia, StoredBlob, read_whole

_IMAGE_HEAD_BYTES = 1024 * 1024
_WINDOW_BYTES = 8 * 1024 * 1024
_NO_HINTS = MediaHints()

# MP4 and its relatives may keep their header behind the media.
_HEADER_MAY_BE_LAST = frozenset(
    {"video/mp4", "audio/mp4", "video/quicktime", "audio/x-m4a", "video/x-m4v", "video/3gpp"}
)


def probe_media(head: bytes, source: MediaSource, mime_type: str) -> MediaHints:
    """The hints about a medium at hand; blocks, so it belongs in a worker thread.

    Args:
        head: The first bytes, as many as the caller has anyway.
        source: The medium; of a large one that is neither in memory nor a draft only the first
            8 MiB are read.
        mime_type: The type the bytes were found to be of.

    Returns:
        Pixels as displayed (a photograph on its side is turned), and seconds to the millisecond.
    """
    if has_known_header(mime_type):
        hints = image_hints(head, mime_type)
        if hints == _NO_HINTS and source.size_bytes > len(head):
            hints = image_hints(source.head(_IMAGE_HEAD_BYTES), mime_type)
        return hints
    if has_duration(mime_type):
        return duration_hints(_file_of(source), mime_type)
    return _NO_HINTS


async def probe_stored_media(
    blobs: BlobStore, project_id: str, blob: StoredBlob, mime_type: str
) -> MediaHints:
    """The hints about a blob that is stored already, from its beginning and perhaps its end.

    Returns:
        See `probe_media`. A store that does not answer costs the hints.
    """
    is_image = has_known_header(mime_type)
    if not is_image and not has_duration(mime_type):
        return _NO_HINTS
    window = _IMAGE_HEAD_BYTES if is_image else _WINDOW_BYTES
    try:
        head = await read_whole(blobs, project_id, blob.digest, end=window)
        if is_image:
            return await anyio.to_thread.run_sync(image_hints, head, mime_type)
        tail = b""
        if mime_type in _HEADER_MAY_BE_LAST and b"moov" not in head:
            start = max(len(head), blob.size_bytes - _WINDOW_BYTES)
            tail = await read_whole(blobs, project_id, blob.digest, start=start)
    except StoreUnavailableError:
        return _NO_HINTS
    file = WindowedFile(head, tail, blob.size_bytes)
    return await anyio.to_thread.run_sync(duration_hints, file, mime_type)


def _file_of(source: MediaSource) -> WindowedFile:
    if isinstance(source, DraftMedia):
        return WholeFile(source.draft.read, source.size_bytes)
    # What is in memory already costs nothing to show whole.
    size = source.size_bytes if isinstance(source, InMemoryMedia) else _WINDOW_BYTES
    return WindowedFile(source.head(size), b"", source.size_bytes)
