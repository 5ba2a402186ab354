"""Estimate the memory and the work of decoding an image, before it is decoded.

The header of an image has its number of pixels, but not the number of passes over them:

- A JPEG may have any number of scans, and each scan is a pass over all pixels.
- PNG, GIF and WebP take one pass, since only the first picture of an animation is decoded.
- An AVIF may have any number of AV1 frames for one picture. They are not counted here, so the work
  of decoding an AVIF is unknown.

Source: ITU-T T.81, annex B; libjpeg's search for markers, in and between scans.
"""

import re
import struct
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from pagefault_dialects.media.headers import open_image, read_size_from_head
from pagefault_dialects.media.soundness import without_damaged_chunks
from pagefault_dialects.media.types import sniff

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

_START_OF_SCAN, _END_OF_IMAGE = 0xDA, 0xD9
# Markers that begin a segment or end the image. Restart markers have no length and are omitted, as
# are bytes that are not markers, which decoders skip.
_MARKER = re.compile(rb"\xff([\xc0-\xcf\xd9-\xfe])")
_SNIFFED_BYTES = 512

# The measured bytes for each pixel: for decoding and converting it, and for the decoder itself.
_BYTES_PER_PIXEL = 6
_BYTES_PER_PIXEL_OF_ROWS = 5
_BYTES_PER_PIXEL_BY_MODE = {"RGBA": 11, "LA": 11, "PA": 11, "P": 11}
_BYTES_PER_PIXEL_BY_TYPE = {"image/webp": 20, "image/avif": 20}
# The bytes for each pixel of the smaller image, and for the files that are encoded from it.
_OUTPUT_BYTES_PER_PIXEL = 9
MAX_OUTPUT_PIXELS = 3_000_000
"""The most pixels of a smaller image. Providers use fewer, and more would exceed the budget."""


@dataclass(frozen=True, slots=True)
class DecodingCost:
    """The cost of decoding an image, estimated from its header."""

    pixels: int
    memory_bytes: int
    """The peak of memory, without the file itself."""
    is_bounded: bool
    """False if decoding may take any amount of work and memory."""


def estimate_decoding_cost(head: bytes, mime_type: str, *, max_pixels: int) -> DecodingCost | None:
    """Return the cost of decoding an image. Blocks, so call it in a worker thread.

    Args:
        head: The first bytes of the image.
        mime_type: The declared type, which is used if the first bytes do not show the type.
        max_pixels: The size to which a larger JPEG is scaled while decoding.

    Returns:
        The cost; `None` if the header is unreadable, so the image cannot be decoded either.
    """
    mime_type = sniff(head[:_SNIFFED_BYTES]) or mime_type
    head = without_damaged_chunks(head)
    try:
        size = read_size_from_head(head, mime_type)
        image = None if size else open_image(BytesIO(head), mime_type)
    except Exception:  # noqa: BLE001 - parsers of hostile bytes raise anything
        return None
    if size:
        bytes_per_pixel = _BYTES_PER_PIXEL_BY_TYPE[mime_type]
    elif image:
        size, bytes_per_pixel = image.size, _bytes_per_pixel(image, head, mime_type)
    else:
        return None
    pixels = size[0] * size[1]
    decoded = min(pixels, max_pixels) * bytes_per_pixel
    output = min(pixels, MAX_OUTPUT_PIXELS) * _OUTPUT_BYTES_PER_PIXEL
    return DecodingCost(pixels, decoded + output, is_bounded=mime_type != "image/avif")


def _bytes_per_pixel(image: "ImageFile", head: bytes, mime_type: str) -> int:
    if mime_type == "image/jpeg":
        if is_decoded_in_rows(image, head):
            return _BYTES_PER_PIXEL_OF_ROWS
        # Decoders keep the coefficients of all colours until the last scan.
        return 4 + 2 * len(image.getbands())
    return _BYTES_PER_PIXEL_BY_MODE.get(image.mode, _BYTES_PER_PIXEL)


def is_decoded_in_rows(image: "ImageFile", data: bytes) -> bool:
    """Return whether an image is a JPEG that is decoded row by row, in one pass.

    If a JPEG has several scans, because it is progressive or has a scan for each colour, the
    decoder keeps the whole image in memory, even if the result is smaller.

    Args:
        image: The image, just opened.
        data: The bytes it was opened from.
    """
    if image.format != "JPEG" or image.info.get("progressive"):
        return False
    # Pillow has read up to the end of the first scan's header. If that header has all colours, the
    # first scan is the only one.
    layers = len(image.getbands())
    header = struct.pack(">HHB", 0xFFDA, 6 + 2 * layers, layers)
    end = image.fp.tell() if image.fp else 0
    start = end - 2 - 6 - 2 * layers
    return start >= 0 and data.startswith(header, start)


def count_passes(image: "ImageFile", data: bytes) -> int:
    """Return the number of passes over the pixels that decoding an image takes.

    Args:
        image: The image, just opened.
        data: The bytes it was opened from.
    """
    if image.format != "JPEG" or is_decoded_in_rows(image, data):
        return 1
    return max(1, count_scans(data))


def count_scans(data: bytes) -> int:
    """Return the number of scans of a JPEG; for malformed files an upper bound."""
    at, scans = 2, 0
    while found := _MARKER.search(data, at):
        marker, at = found[1][0], found.end()
        if marker == _END_OF_IMAGE:
            break
        scans += marker == _START_OF_SCAN
        at += max(2, int.from_bytes(data[at : at + 2], "big"))
    return scans
