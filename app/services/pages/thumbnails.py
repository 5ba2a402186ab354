"""Smaller images: the REDUCED level of an image page.

The one place that decodes pixels. Decoders are handed hostile bytes, so the size in pixels is known
and judged before any is decoded, and what cannot be decoded has no smaller form.
"""

from collections.abc import Iterator
from io import BytesIO

from PIL import Image, ImageFile, ImageOps

from app.services.persistence.probing import open_image

LONGEST_SIDE = 512
_JPEG_QUALITIES = (85, 50)
# Their values have no white: what is bright in them is not known.
_UNBOUNDED_MODES = frozenset({"I", "F"})
_TRANSPARENT_MODES = frozenset({"RGBA", "LA", "PA", "RGBa", "La"})


def reduce_image(data: bytes, mime_type: str, *, most_pixels: int) -> tuple[bytes, str] | None:
    """A smaller form of an image: at most 512 pixels on its longer side, the right way up.

    Blocks, so it belongs in a worker thread. Of an animation it shows the first picture.

    Args:
        data: The whole image.
        mime_type: The type the bytes were found to be of.
        most_pixels: An image that decodes to more has no smaller form.

    Returns:
        The bytes of a JPEG or PNG and their MIME type; the image itself where it has no more pixels
        already, or no smaller form of it takes fewer bytes; `None` if it cannot be decoded.
    """
    try:
        image = open_image(BytesIO(data), mime_type)
        return _reduced(image, data, mime_type, most_pixels) if image else None
    except Exception:  # noqa: BLE001 - decoders of hostile bytes raise anything
        return None


def _reduced(
    image: ImageFile.ImageFile, data: bytes, mime_type: str, most_pixels: int
) -> tuple[bytes, str] | None:
    is_small = max(image.size) <= LONGEST_SIDE
    if not image.info.get("progressive"):
        # JPEG decodes to a fraction of its size at a fraction of the cost; a progressive one keeps
        # all of itself in memory whatever is asked for.
        image.draft(None, (2 * LONGEST_SIDE, 2 * LONGEST_SIDE))
    width, height = image.size
    if width * height > most_pixels or image.mode in _UNBOUNDED_MODES:
        return None
    image.load()
    if is_small:
        return data, mime_type
    shown = _in_shades(image)
    shown.thumbnail((LONGEST_SIDE, LONGEST_SIDE), reducing_gap=2.0)
    smaller = _encoded(ImageOps.exif_transpose(shown))
    return next((made for made in smaller if len(made[0]) < len(data)), (data, mime_type))


def _in_shades(image: Image.Image) -> Image.Image:
    """The image in a mode that can be scaled: between two indexes of a palette is no colour."""
    if image.mode.startswith("I;16"):
        # Converted as it is, all but the darkest values would become white.
        return image.point(lambda value: value * (1 / 256)).convert("L")
    if image.mode == "1":
        return image.convert("L")
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image


def _encoded(image: Image.Image) -> Iterator[tuple[bytes, str]]:
    """The image as it may be sent, the best form first, then ever smaller ones."""
    if image.mode in _TRANSPARENT_MODES or "transparency" in image.info:
        transparent = image.convert("RGBA")
        yield _saved(transparent, "PNG", optimize=True), "image/png"
        yield _saved(transparent.quantize(64), "PNG", optimize=True), "image/png"
        return
    opaque = image.convert("RGB")
    for quality in _JPEG_QUALITIES:
        yield _saved(opaque, "JPEG", quality=quality, optimize=True), "image/jpeg"
    yield _saved(opaque.convert("1"), "PNG", optimize=True), "image/png"


def _saved(image: Image.Image, form: str, **options: int) -> bytes:
    out = BytesIO()
    image.save(out, form, **options)
    return out.getvalue()
