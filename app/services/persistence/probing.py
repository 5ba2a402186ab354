"""What a viewer may know before it has the bytes, found without decoding any of them.

Pixels come from image headers, durations from the headers of audio and video. A probe that fails
costs a hint and never the result: these are parsers of hostile bytes.
"""

from collections.abc import Callable
from io import BytesIO

import anyio
import anyio.to_thread
import puremagic
from PIL import (
    AvifImagePlugin,
    BmpImagePlugin,
    GifImagePlugin,
    ImageFile,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from app.errors import StoreUnavailableError
from app.models.derived_image import DECODED_TYPES
from app.models.media import InMemoryMedia, MediaSource
from app.models.resource import MediaHints
from app.services.persistence.durations import WholeFile, WindowedFile, duration_seconds
from app.services.soundness import without_damaged_chunks
from app.stores.blobs import BlobStore, DraftMedia, StoredBlob, read_whole

_IMAGE_HEAD_BYTES = 1024 * 1024
_WINDOW_BYTES = 8 * 1024 * 1024
_MOST_PIXELS = 1 << 30
_NO_HINTS = MediaHints()

# Pillow's readers themselves and not `Image.open`, which guesses the format and warns, through
# state that all threads share, about sizes that cost nothing as long as no pixel is decoded.
_IMAGE_READERS: dict[str, Callable[[BytesIO], ImageFile.ImageFile]] = {
    "image/avif": AvifImagePlugin.AvifImageFile,
    "image/bmp": BmpImagePlugin.BmpImageFile,
    "image/gif": GifImagePlugin.GifImageFile,
    "image/jpeg": JpegImagePlugin.JpegImageFile,
    "image/png": PngImagePlugin.PngImageFile,
    "image/tiff": TiffImagePlugin.TiffImageFile,
    "image/webp": WebPImagePlugin.WebPImageFile,
}
_EXIF_ORIENTATION = 0x0112
_ORIENTATIONS_ON_THE_SIDE = frozenset({5, 6, 7, 8})

# MP4 and its relatives may keep their header behind the media.
_HEADER_MAY_BE_LAST = frozenset(
    {"video/mp4", "audio/mp4", "video/quicktime", "audio/x-m4a", "video/x-m4v", "video/3gpp"}
)

_LEAST_CONFIDENCE = 0.8
# One container for documents, sheets and slides; the signature table knows only one of them.
_ANY_OLD_OFFICE_FILE = bytes.fromhex("d0cf11e0a1b11ae1")
_NEVER_BY_SNIFFING = ("text/", "image/svg", "message/", "multipart/")


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
    if mime_type in _IMAGE_READERS:
        hints = _image_hints(head, mime_type)
        if hints == _NO_HINTS and source.size_bytes > len(head):
            hints = _image_hints(source.head(_IMAGE_HEAD_BYTES), mime_type)
        return hints
    if _has_duration(mime_type):
        return _duration_hints(_file_of(source), mime_type)
    return _NO_HINTS


async def probe_stored_media(
    blobs: BlobStore, project_id: str, blob: StoredBlob, mime_type: str
) -> MediaHints:
    """The hints about a blob that is stored already, from its beginning and perhaps its end.

    Returns:
        See `probe_media`. A store that does not answer costs the hints.
    """
    is_image = mime_type in _IMAGE_READERS
    if not is_image and not _has_duration(mime_type):
        return _NO_HINTS
    window = _IMAGE_HEAD_BYTES if is_image else _WINDOW_BYTES
    try:
        head = await read_whole(blobs, project_id, blob.digest, end=window)
        if is_image:
            return await anyio.to_thread.run_sync(_image_hints, head, mime_type)
        tail = b""
        if mime_type in _HEADER_MAY_BE_LAST and b"moov" not in head:
            start = max(len(head), blob.size_bytes - _WINDOW_BYTES)
            tail = await read_whole(blobs, project_id, blob.digest, start=start)
    except StoreUnavailableError:
        return _NO_HINTS
    file = WindowedFile(head, tail, blob.size_bytes)
    return await anyio.to_thread.run_sync(_duration_hints, file, mime_type)


def open_image(file: BytesIO, mime_type: str) -> ImageFile.ImageFile | None:
    """An image of which nothing but the header is read yet; `None` for types that are not decoded.

    Raises:
        Exception: Whatever a damaged header runs Pillow's reader into.
    """
    return _IMAGE_READERS[mime_type](file) if mime_type in DECODED_TYPES else None


def second_opinion(head: bytes) -> str | None:
    """The MIME type that a long, unmistakable signature at the beginning stands for, if any.

    It is asked where our own table knows nothing. It never says text, HTML, SVG or XML, which
    sniffing must not promote.
    """
    try:
        matches = puremagic.magic_string(head)
    except (ValueError, LookupError):
        return None
    sure: set[str] = {
        match.mime_type.lower() for match in matches if match.confidence >= _LEAST_CONFIDENCE
    }
    sure.discard("")
    if len(sure) != 1 or head.startswith(_ANY_OLD_OFFICE_FILE):
        return None
    (mime_type,) = sure
    if mime_type.startswith(_NEVER_BY_SNIFFING) or "xml" in mime_type or "html" in mime_type:
        return None
    return mime_type


def _file_of(source: MediaSource) -> WindowedFile:
    if isinstance(source, DraftMedia):
        return WholeFile(source.draft.read, source.size_bytes)
    # What is in memory already costs nothing to show whole.
    size = source.size_bytes if isinstance(source, InMemoryMedia) else _WINDOW_BYTES
    return WindowedFile(source.head(size), b"", source.size_bytes)


def _has_duration(mime_type: str) -> bool:
    return mime_type.startswith(("audio/", "video/")) or mime_type == "application/ogg"


def _image_hints(head: bytes, mime_type: str) -> MediaHints:
    try:
        # A chunk beside the picture may be damaged, which Pillow would refuse.
        image = _IMAGE_READERS[mime_type](BytesIO(without_damaged_chunks(head)))
        width, height = image.size
        if mime_type == "image/jpeg":
            orientation = image.getexif().get(_EXIF_ORIENTATION)
            if orientation in _ORIENTATIONS_ON_THE_SIDE:
                width, height = height, width
    except Exception:  # noqa: BLE001 - parsers of hostile bytes raise anything
        return _NO_HINTS
    if width <= 0 or height <= 0 or width * height > _MOST_PIXELS:
        return _NO_HINTS
    return MediaHints(width=width, height=height)


def _duration_hints(file: WindowedFile, mime_type: str) -> MediaHints:
    try:
        return MediaHints(duration_seconds=duration_seconds(file, mime_type))
    except Exception:  # noqa: BLE001 - parsers of hostile bytes raise anything
        return _NO_HINTS
