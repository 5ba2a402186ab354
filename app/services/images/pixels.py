"""Pixels: the one place that decodes and encodes any.

Decoders are handed hostile bytes, so the size in pixels is known and judged before any is decoded.
All of this blocks, so it belongs in a worker thread, and may raise whatever a decoder raises.
"""

import struct
from io import BytesIO

import PIL
from PIL import Image, ImageFile, JpegImagePlugin

CODEC_VERSION = PIL.__version__
"""Of what decodes and encodes; another one may make other bytes, or any at all."""

_TRANSPARENT_MODES = frozenset({"RGBA", "LA", "PA", "RGBa", "La"})


def load_pixels(
    image: ImageFile.ImageFile,
    data: bytes,
    *,
    most_pixels: int,
    enough: tuple[int, int] | None = None,
) -> bool:
    """Decode the pixels of an image that was opened; says whether that could be done in bounds.

    Args:
        image: The image; of a JPEG, it may become 2, 4 or 8 times smaller.
        data: The bytes it was opened from.
        most_pixels: An image that decodes to more is not decoded.
        enough: The least width and height wanted.
    """
    if enough is not None and _is_read_in_rows(image, data):
        # JPEG decodes to a fraction of its size at a fraction of the cost.
        image.draft(None, enough)
    width, height = image.size
    if width * height > most_pixels:
        return False
    image.load()
    return True


def in_shades(image: Image.Image) -> Image.Image:
    """The image in a mode that can be scaled: between two indexes of a palette is no colour."""
    if image.mode.startswith("I;16"):
        # Converted as it is, all but the darkest values would become white.
        return image.point(lambda value: value * (1 / 256)).convert("L")
    if image.mode == "1":
        return image.convert("L")
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image


def may_be_transparent(image: Image.Image) -> bool:
    """Whether the image has a way to say that something in it is transparent."""
    return image.mode in _TRANSPARENT_MODES or "transparency" in image.info


def saved(image: Image.Image, form: str, **options: int) -> bytes:
    """The image as a file in one of Pillow's formats."""
    out = BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def is_want_of_resources(exc: Exception) -> bool:
    """Whether an error is about this process at this moment, and tells nothing of the image."""
    if isinstance(exc, OSError):
        # Pillow itself has no number for what is wrong with an image, and this is one of its words.
        return exc.errno is not None or "out of memory" in str(exc)
    return isinstance(exc, MemoryError)


def _is_read_in_rows(image: ImageFile.ImageFile, data: bytes) -> bool:
    """Whether a JPEG is decoded row by row.

    Where the first scan is not all of the image, because it is progressive or has a scan for each
    colour, the decoder keeps all of it in memory, however small it is asked to make it.
    """
    if not isinstance(image, JpegImagePlugin.JpegImageFile) or image.info.get("progressive"):
        return False
    # Pillow has read as far as the end of the header of the first scan.
    header = struct.pack(">HHB", 0xFFDA, 6 + 2 * image.layers, image.layers)
    end = image.fp.tell() if image.fp else 0
    start = end - 2 - 6 - 2 * image.layers
    return start >= 0 and data.startswith(header, start)
