"""Makes the smaller form of an image that a page has at its second level."""

from collections.abc import Iterator
from io import BytesIO

from PIL import Image, ImageFile, ImageOps

from app.media.headers import open_image
from app.media.soundness import without_damaged_chunks
from app.services.images.pixels import in_shades, load_pixels, may_be_transparent, saved

_LONGEST_SIDE = 512
_JPEG_QUALITIES = (85, 50)
# Twice as many as are shown, so that scaling has something to choose from.
_ENOUGH = (2 * _LONGEST_SIDE, 2 * _LONGEST_SIDE)


def reduce_image(data: bytes, mime_type: str, *, most_pixels: int) -> tuple[bytes, str] | None:
    """Make an image smaller: at most 512 pixels on its longer side, the right way up.

    Blocks, so it belongs in a worker thread. Of an animation it shows the first picture.

    Args:
        data: The whole image.
        mime_type: The type the bytes were found to be of.
        most_pixels: An image that decodes to more has no smaller form.

    Returns:
        The bytes of a JPEG or PNG and their MIME type; the image itself where it has no more pixels
        already, or no smaller form of it takes fewer bytes; `None` if it cannot be decoded.
    """
    data = without_damaged_chunks(data)
    try:
        image = open_image(BytesIO(data), mime_type)
        return _reduced(image, data, mime_type, most_pixels) if image else None
    except Exception:  # noqa: BLE001 - decoders of hostile bytes raise anything
        return None


def _reduced(
    image: ImageFile.ImageFile, data: bytes, mime_type: str, most_pixels: int
) -> tuple[bytes, str] | None:
    is_small = max(image.size) <= _LONGEST_SIDE
    if not load_pixels(image, data, most_pixels=most_pixels, enough=_ENOUGH):
        return None
    if is_small:
        return data, mime_type
    shown = in_shades(image)
    shown.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE), reducing_gap=2.0)
    smaller = _encoded(ImageOps.exif_transpose(shown))
    return next((made for made in smaller if len(made[0]) < len(data)), (data, mime_type))


def _encoded(image: Image.Image) -> Iterator[tuple[bytes, str]]:
    """Yield the image as it may be sent, the best form first, then ever smaller ones."""
    if may_be_transparent(image):
        transparent = image.convert("RGBA")
        yield saved(transparent, "PNG", optimize=True), "image/png"
        yield saved(transparent.quantize(64), "PNG", optimize=True), "image/png"
        return
    opaque = image.convert("RGB")
    for quality in _JPEG_QUALITIES:
        yield saved(opaque, "JPEG", quality=quality, optimize=True), "image/jpeg"
    yield saved(opaque.convert("1"), "PNG", optimize=True), "image/png"
