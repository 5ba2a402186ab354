"""Read the width, height and playing time of media from their headers, without decoding them.

Pillow parses the headers of images, and TinyTag those of audio and video. TinyTag reads from a
`WindowedFile`, which has only the first megabytes of a file and perhaps the last ones. It also
limits the number of reads, since hostile files could cause endless loops. If these bytes do not
contain the playing time, it is unknown.
"""

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from io import SEEK_CUR, SEEK_END, SEEK_SET, BytesIO
from typing import TYPE_CHECKING

from tinytag import TinyTag

from pagefault_dialects.media.raw_audio import parse_raw_audio
from pagefault_dialects.media.soundness import without_damaged_chunks
from pagefault_dialects.media.soundness.matroska import parse_ebml_number
from pagefault_dialects.model.resource import DECODED_TYPES, MediaHints

if TYPE_CHECKING:
    from PIL import ImageFile

_IMAGE_TYPES = DECODED_TYPES | {"image/tiff"}
_MAX_PIXELS = 1 << 30
_EXIF_ORIENTATION = 0x0112
_ROTATED_ORIENTATIONS = frozenset({5, 6, 7, 8})

# The property of an AVIF item that has its width and height (ISO/IEC 23008-12, 6.5.3).
_SPATIAL_EXTENTS = re.compile(rb"ispe\0{4}(.{8})", re.DOTALL)

_MAX_READS = 200_000
_LARGEST_READ_BYTES = 8 * 1024 * 1024
# The `Info` element is near the beginning of a file. Reading more would only help hostile files.
_MATROSKA_HEAD_BYTES = 256 * 1024
_MAX_SECONDS = 10 * 366 * 86_400

_MATROSKA_TYPES = frozenset(
    {"video/webm", "audio/webm", "video/x-matroska", "audio/x-matroska", "video/matroska"}
)
# Element ids of RFC 9559, with their length markers.
_SEGMENT, _INFO, _CLUSTER = 0x18538067, 0x1549A966, 0x1F43B675
_TIMESTAMP_SCALE, _DURATION = 0x2AD7B1, 0x4489
_NANOSECONDS = 1_000_000_000
_DEFAULT_TIMESTAMP_SCALE = 1_000_000


def has_known_header(mime_type: str) -> bool:
    """Return whether width and height can be read from the headers of this type."""
    return mime_type in _IMAGE_TYPES


@cache
def _import_image_classes() -> "Mapping[str, Callable[[BytesIO], ImageFile.ImageFile]]":
    """Import Pillow's image classes on first use, and return them by MIME type.

    `Image.open` is not used, since it guesses the format, and warns about large images through
    state that all threads share.
    """
    from PIL import (  # noqa: PLC0415
        AvifImagePlugin,
        BmpImagePlugin,
        GifImagePlugin,
        JpegImagePlugin,
        PngImagePlugin,
        TiffImagePlugin,
        WebPImagePlugin,
    )

    return {
        "image/avif": AvifImagePlugin.AvifImageFile,
        "image/bmp": BmpImagePlugin.BmpImageFile,
        "image/gif": GifImagePlugin.GifImageFile,
        "image/jpeg": JpegImagePlugin.JpegImageFile,
        "image/png": PngImagePlugin.PngImageFile,
        "image/tiff": TiffImagePlugin.TiffImageFile,
        "image/webp": WebPImagePlugin.WebPImageFile,
    }


def open_image(file: BytesIO, mime_type: str) -> "ImageFile.ImageFile | None":
    """Open an image, reading only its header; return `None` for types not in `DECODED_TYPES`.

    Raises:
        Exception: Any error of Pillow's reader on a damaged header.
    """
    return _import_image_classes()[mime_type](file) if mime_type in DECODED_TYPES else None


def read_size_from_head(head: bytes, mime_type: str) -> tuple[int, int] | None:
    """Return the width and height of a WebP or AVIF, which Pillow opens only as a whole.

    Args:
        head: The first bytes.
        mime_type: The type; other types return `None`.

    Raises:
        struct.error: The head is too short.
    """
    if mime_type == "image/avif":
        # Tiles and thumbnails have extents too, and are smaller.
        sizes = [struct.unpack(">II", found) for found in _SPATIAL_EXTENTS.findall(head)]
        return max(sizes, key=lambda size: size[0] * size[1], default=None)
    if mime_type != "image/webp":
        return None
    kind = head[12:16]
    if kind == b"VP8X":
        # Three bytes each (RFC 9649, 2.7).
        low_width, high_width, low_height, high_height = struct.unpack_from("<HBHB", head, 24)
        return 1 + (high_width << 16 | low_width), 1 + (high_height << 16 | low_height)
    if kind == b"VP8L":
        # Fourteen bits each (RFC 9649, 3.4).
        (bits,) = struct.unpack_from("<I", head, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    # Fourteen bits each, in two bytes (RFC 6386, 9.1).
    width, height = struct.unpack_from("<HH", head, 26)
    return width & 0x3FFF, height & 0x3FFF


def read_image_hints(head: bytes, mime_type: str) -> MediaHints:
    """Return the width and height of an image as it is displayed; empty if unknown."""
    try:
        width, height = read_size_from_head(head, mime_type) or _read_opened_size(head, mime_type)
    except Exception:  # noqa: BLE001 - parsers of hostile bytes raise anything
        return MediaHints()
    if width <= 0 or height <= 0 or width * height > _MAX_PIXELS:
        return MediaHints()
    return MediaHints(width=width, height=height)


def _read_opened_size(head: bytes, mime_type: str) -> tuple[int, int]:
    # Pillow refuses files with a damaged chunk beside the picture.
    image = _import_image_classes()[mime_type](BytesIO(without_damaged_chunks(head)))
    width, height = image.size
    if mime_type == "image/jpeg":
        orientation = image.getexif().get(_EXIF_ORIENTATION)
        if orientation in _ROTATED_ORIENTATIONS:
            width, height = height, width
    return width, height


def read_hints(data: bytes, mime_type: str) -> MediaHints:
    """Return width, height and playing time of a medium in memory, as far as known."""
    if has_known_header(mime_type):
        return read_image_hints(data, mime_type)
    if has_duration(mime_type):
        return read_duration_hints(WindowedFile(data, b"", len(data)), mime_type)
    return MediaHints()


class WindowedFile(BytesIO):
    """A file of which only the beginning and perhaps the end are available.

    Reads between the two return nothing, and set `has_missed_bytes`.

    Args:
        head: The first bytes.
        tail: The last bytes; may be empty.
        size_bytes: The size of the whole file.

    Raises:
        EOFError: On reading, when the budget of reads is used up.
    """

    def __init__(self, head: bytes, tail: bytes, size_bytes: int) -> None:
        super().__init__()
        self._head = head
        self._tail = tail
        self._size_bytes = size_bytes
        self._position = 0
        self._reads_left = _MAX_READS
        self.has_missed_bytes = False

    def tell(self) -> int:
        """Return the position in the whole file."""
        return self._position

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Move to a position in the whole file, which may be behind its end."""
        base = {SEEK_SET: 0, SEEK_CUR: self._position, SEEK_END: self._size_bytes}[whence]
        if base + offset < 0:
            raise OSError("a position before the beginning")
        self._position = base + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """Return bytes from the beginning or the end of the file; none in between."""
        self._reads_left -= 1
        if self._reads_left < 0:
            raise EOFError("the budget of reads is spent")
        remaining = max(0, self._size_bytes - self._position)
        size_bytes = remaining if size is None or size < 0 else min(size, remaining)
        piece = self._read_piece(self._position, size_bytes)
        self._position += len(piece)
        self.has_missed_bytes = self.has_missed_bytes or len(piece) < size_bytes
        return piece

    def _read_piece(self, start: int, size_bytes: int) -> bytes:
        tail_start = self._size_bytes - len(self._tail)
        if start >= tail_start:
            return self._tail[start - tail_start : start - tail_start + size_bytes]
        return self._head[start : start + size_bytes]


class WholeFile(WindowedFile):
    """A file that can be read as a whole, a limited piece at a time.

    Args:
        read_at: Returns a number of bytes from a position.
        size_bytes: The size of the file.
    """

    def __init__(self, read_at: Callable[[int, int], bytes], size_bytes: int) -> None:
        super().__init__(b"", b"", size_bytes)
        self._read_at = read_at

    def _read_piece(self, start: int, size_bytes: int) -> bytes:
        return self._read_at(start, min(size_bytes, _LARGEST_READ_BYTES))


def has_duration(mime_type: str) -> bool:
    """Return whether files of this type have a playing time."""
    return mime_type.startswith(("audio/", "video/")) or mime_type == "application/ogg"


def read_duration_hints(file: WindowedFile, mime_type: str) -> MediaHints:
    """Return the playing time in seconds, to the millisecond; empty if unknown."""
    try:
        return MediaHints(duration_seconds=_read_duration(file, mime_type))
    except Exception:  # noqa: BLE001 - parsers of hostile bytes raise anything
        return MediaHints()


def _read_duration(file: WindowedFile, mime_type: str) -> float | None:
    if raw := parse_raw_audio(mime_type):
        seconds: float | None = raw.seconds(file.seek(0, SEEK_END))
    elif mime_type in _MATROSKA_TYPES:
        seconds = _read_matroska_duration(file.read(_MATROSKA_HEAD_BYTES))
    else:
        tag = TinyTag.get(file_obj=file, tags=False, duration=True)
        # The playing time of Ogg is on its last page, so without that page it is wrong.
        is_part = file.has_missed_bytes and (tag.mime_type or "").startswith("audio/ogg")
        seconds = None if is_part else tag.duration
    # The comparison is false for NaN as well.
    return round(seconds, 3) if seconds is not None and 0 < seconds <= _MAX_SECONDS else None


def _read_matroska_duration(data: bytes) -> float | None:
    """Return the playing time in seconds from the elements Duration and TimestampScale.

    Source: RFC 9559, 5.1.2.
    """
    scale = _DEFAULT_TIMESTAMP_SCALE
    ticks: float | None = None
    for segment_start, segment_end in _find_elements(data, 0, len(data), _SEGMENT):
        for start, end in _find_elements(data, segment_start, segment_end, _INFO):
            for inner_start, inner_end in _find_elements(data, start, end, _TIMESTAMP_SCALE):
                scale = int.from_bytes(data[inner_start:inner_end], "big")
            for inner_start, inner_end in _find_elements(data, start, end, _DURATION):
                layout = {4: ">f", 8: ">d"}[inner_end - inner_start]
                (ticks,) = struct.unpack_from(layout, data, inner_start)
    return None if ticks is None else ticks * scale / _NANOSECONDS


def _find_elements(data: bytes, start: int, end: int, element_id: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the content of each element with an id in `data[start:end]`."""
    while start < end:
        element, start = parse_ebml_number(data, start, keeps_marker=True)
        size, start = parse_ebml_number(data, start, keeps_marker=False)
        stop = end if size is None else min(end, start + size)
        if element == element_id:
            yield start, stop
        if element == _CLUSTER or element is None:
            return
        start = stop
