"""Headers of images: pixels, found without decoding any, and readers for those that decode them."""

from collections.abc import Callable
from io import BytesIO

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

from app.media.soundness import without_damaged_chunks
from app.models.derived_image import DECODED_TYPES
from app.models.resource import MediaHints

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
_MOST_PIXELS = 1 << 30
_EXIF_ORIENTATION = 0x0112
_ORIENTATIONS_ON_THE_SIDE = frozenset({5, 6, 7, 8})


def has_known_header(mime_type: str) -> bool:
    """Return whether pixels are read from headers of this type."""
    return mime_type in _IMAGE_READERS


def open_image(file: BytesIO, mime_type: str) -> ImageFile.ImageFile | None:
    """Open an image, only its header read yet; `None` for types that are not decoded.

    Raises:
        Exception: Whatever a damaged header runs Pillow's reader into.
    """
    return _IMAGE_READERS[mime_type](file) if mime_type in DECODED_TYPES else None


def image_hints(head: bytes, mime_type: str) -> MediaHints:
    """Return the pixels as displayed, a photograph on its side turned; none if they do not show."""
    try:
        # A chunk beside the picture may be damaged, which Pillow would refuse.
        image = _IMAGE_READERS[mime_type](BytesIO(without_damaged_chunks(head)))
        width, height = image.size
        if mime_type == "image/jpeg":
            orientation = image.getexif().get(_EXIF_ORIENTATION)
            if orientation in _ORIENTATIONS_ON_THE_SIDE:
                width, height = height, width
    except Exception:  # noqa: BLE001 - parsers of hostile bytes raise anything
        return MediaHints()
    if width <= 0 or height <= 0 or width * height > _MOST_PIXELS:
        return MediaHints()
    return MediaHints(width=width, height=height)
