"""Pixels: the one place that decodes and encodes any: images fitted to recipes, and smaller forms.

A page has the smaller form of its image at its second level. Decoders are handed hostile bytes, so
the number of pixels, and of passes over them, is known and judged before any is decoded. All of
this blocks, so it belongs in a thread or in a process of its own, and may raise whatever a decoder
raises.
"""

from collections.abc import Iterator
from io import BytesIO
from math import ceil, isqrt, log

import PIL
from PIL import Image, ImageFile, ImageOps

from app.models.resource_descriptor import FittedImage
from app.services.images.image_tasks import ImageTask, TooCostlyError
from pagefault_dialects.media.decoding_cost import (
    MOST_OUTPUT_PIXELS,
    count_passes,
    is_read_in_rows,
)
from pagefault_dialects.media.headers import open_image
from pagefault_dialects.media.soundness import without_damaged_chunks
from pagefault_dialects.media.types import sniff
from pagefault_dialects.model.resource import ImageRecipe

CODEC_VERSION = PIL.__version__
"""Of what decodes and encodes; another one may make other bytes, or any at all."""

_TRANSPARENT_MODES = frozenset({"RGBA", "LA", "PA", "RGBa", "La"})
_HEAD_BYTES = 512
_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# What their headers have room for, or their encoders take.
_MOST_SIDE = {"image/jpeg": 65_500, "image/webp": 16_383, "image/gif": 65_535}
_ANY_SIDE = 1 << 30
_FOR_OPAQUE = ("image/jpeg",)
_FOR_TRANSPARENT = ("image/png", "image/webp", "image/gif")
_QUALITIES = (85, 70, 50)
_COLOURS = 256
_STEP = 0.7
# The last one has a fiftieth of the sides, far below what any bound on bytes asks for.
_MOST_STEPS = 12
_DRAFTS = (1, 2, 4, 8)
_REDUCED_SIDE = 512
_REDUCED_QUALITIES = (85, 50)
# Twice as many as are shown, so that scaling has something to choose from.
_ENOUGH = (2 * _REDUCED_SIDE, 2 * _REDUCED_SIDE)


def make_image(data: bytes, task: ImageTask) -> FittedImage | None:
    """Return what a task makes of an image; see `fit_image` and `reduce_image`."""
    if task.recipe is None:
        return reduce_image(data, task)
    return fit_image(data, task, task.recipe)


def _load_pixels(
    image: ImageFile.ImageFile,
    data: bytes,
    task: ImageTask,
    enough: tuple[int, int] | None = None,
) -> bool:
    """Decode the pixels of an image that was opened; says whether it has no more than it may.

    Args:
        image: The image; of a JPEG, it may become 2, 4 or 8 times smaller.
        data: The bytes it was opened from.
        task: Its bounds.
        enough: The least width and height wanted.

    Raises:
        TooCostlyError: It takes too many passes.
    """
    pixels = _pixels(image.size, 1)
    if enough is not None and is_read_in_rows(image, data):
        # JPEG decodes to a fraction of its size at a fraction of the cost.
        image.draft(None, enough)
    if _pixels(image.size, 1) > task.most_pixels:
        return False
    passes = count_passes(image, data)
    if passes * pixels > task.most_work:
        raise TooCostlyError(
            f"To decode it takes {passes} passes over {pixels} pixels, which is too much work, so "
            "no smaller image is made of it."
        )
    image.load()
    return True


def _in_shades(image: Image.Image) -> Image.Image:
    """Return the image in a mode that can be scaled: between two palette indexes is no colour."""
    if image.mode.startswith("I;16"):
        # Converted as it is, all but the darkest values would become white.
        return image.point(lambda value: value * (1 / 256)).convert("L")
    if image.mode == "1":
        return image.convert("L")
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image


def _may_be_transparent(image: Image.Image) -> bool:
    """Return whether the image has a way to say that something in it is transparent."""
    return image.mode in _TRANSPARENT_MODES or "transparency" in image.info


def _saved(image: Image.Image, form: str, **options: int) -> bytes:
    """Return the image as a file in one of Pillow's formats."""
    out = BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def _is_want_of_resources(exc: Exception) -> bool:
    """Return whether an error is about this process now, and tells nothing of the image."""
    if isinstance(exc, OSError):
        # Pillow itself has no number for what is wrong with an image, and this is one of its words.
        return exc.errno is not None or "out of memory" in str(exc)
    return isinstance(exc, MemoryError)


def fit_image(data: bytes, task: ImageTask, recipe: ImageRecipe) -> FittedImage | None:
    """Return the image as the recipe wants it, the right way up; itself where it is so already.

    What is damaged beside the picture of a PNG is left out.

    What is opaque becomes a JPEG, and what is not a PNG, if the recipe has them; else the first
    type it has. It has at most `MOST_OUTPUT_PIXELS`. Where the file has too many bytes, its quality
    is lowered, then its sides. The same bytes give the same bytes.

    Args:
        data: The whole image.
        task: Its type, and bounds.
        recipe: What it has to be like.

    Returns:
        The image, of animations the first picture unless it is the image itself; `None` if it
        cannot be decoded, or nothing that fits can be made of it.

    Raises:
        TooCostlyError: It takes too many passes over its pixels, and was not decoded.
        MemoryError: There is not enough of it now.
        OSError: The system refuses something else now.
    """
    shown = sniff(data[:_HEAD_BYTES]) or task.mime_type
    data = without_damaged_chunks(data)
    try:
        image = open_image(BytesIO(data), shown)
        return _fitted(image, data, shown, task=task, recipe=recipe) if image else None
    except TooCostlyError:
        raise
    except Exception as exc:
        # Decoders of hostile bytes raise anything.
        if _is_want_of_resources(exc):
            raise
        return None


def _fitted(
    image: ImageFile.ImageFile, data: bytes, shown: str, *, task: ImageTask, recipe: ImageRecipe
) -> FittedImage | None:
    side, most_pixels = recipe.most_side or _ANY_SIDE, task.most_pixels
    least_side = recipe.least_side or 0
    if shown != "image/jpeg" and _pixels(image.size, 1) > most_pixels:
        # Before it is asked how it is turned: a PNG decodes all of itself to answer that.
        return None
    orientation = _orientation(image)
    fits = (
        shown in recipe.types
        and max(image.size) <= side
        and not _is_to_be_enlarged(image.size, least_side, side)
        and (recipe.most_bytes is None or len(data) <= recipe.most_bytes)
        and orientation not in _TURNS
    )
    has_more = bool(getattr(image, "is_animated", False))
    enough = None if fits else _enough(image.size, side, most_pixels)
    if not _load_pixels(image, data, task, enough):
        return None
    if fits:
        return FittedImage(data, shown, is_first_picture=False)
    upright = _upright(image, min(side, _most_side(image.size)), orientation)
    if _is_to_be_enlarged(upright.size, least_side, side):
        upright = _enlarged(upright, least_side)
    mime_type = _type_of(upright, recipe.types)
    made = _within(upright, mime_type, recipe.most_bytes) if mime_type else None
    return FittedImage(made, mime_type, has_more) if made and mime_type else None


def _most_side(size: tuple[int, int]) -> int:
    """Return the longer side of an image of these proportions that has as many pixels as may be."""
    return max(1, isqrt(MOST_OUTPUT_PIXELS * max(size) // min(size)))


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception as exc:
        # Damaged Exif data tell nothing, and the image is still one.
        if _is_want_of_resources(exc):
            raise
        return 1


def _enough(size: tuple[int, int], side: int, most_pixels: int) -> tuple[int, int]:
    """Return the least pixels to decode a JPEG to, of those it can be, within the bounds."""
    # Twice as many as are shown, so that scaling has something to choose from.
    wanted = 2 * min(side, max(size))
    chosen = 1
    for draft in _DRAFTS:
        if max(size) // draft >= wanted or _pixels(size, chosen) > most_pixels:
            chosen = draft
    width, height = size
    return max(1, width // chosen), max(1, height // chosen)


def _pixels(size: tuple[int, int], draft: int) -> int:
    return ceil(size[0] / draft) * ceil(size[1] / draft)


def _upright(image: Image.Image, side: int, orientation: int) -> Image.Image:
    """Return the image in RGB or RGBA, within the side, without anything that is said about it."""
    if image.mode.startswith("I;16"):
        # It names a shade out of 65,536, and there are 256 left.
        image.info.pop("transparency", None)
    shown = _in_shades(image)
    if "transparency" in shown.info:
        # Before it is scaled: there is nothing between a colour and the one that is see-through.
        shown = shown.convert("RGBA")
    shown = _scaled(shown, side)
    if orientation in _TURNS:
        shown = shown.transpose(_TURNS[orientation])
    mode = "RGBA" if _may_be_transparent(shown) else "RGB"
    # Pillow copies an image that is in the mode already.
    shown = shown if shown.mode == mode else shown.convert(mode)
    if shown.mode == "RGBA" and shown.getchannel("A").getextrema() == (255, 255):
        shown = shown.convert("RGB")
    # What is said about an image is not shown, and takes bytes: colour profiles, places, comments.
    shown.info = {}
    return shown


def _scaled(image: Image.Image, side: int) -> Image.Image:
    longest = max(image.size)
    if longest <= side:
        return image
    width, height = (max(1, round(length * side / longest)) for length in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=2.0)


def _is_to_be_enlarged(size: tuple[int, int], least_side: int, side: int) -> bool:
    """Return whether the shorter side is too short, and the longer one may grow with it."""
    shorter, longer = sorted(size)
    return shorter < least_side and longer * least_side <= side * shorter


def _enlarged(image: Image.Image, least_side: int) -> Image.Image:
    shorter = min(image.size)
    width, height = (round(length * least_side / shorter) for length in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS)


def _type_of(image: Image.Image, types: tuple[str, ...]) -> str | None:
    best = _FOR_TRANSPARENT if image.mode == "RGBA" else _FOR_OPAQUE
    can_be_made = (*_FOR_OPAQUE, *_FOR_TRANSPARENT)
    return next((each for each in (*best, *types) if each in types and each in can_be_made), None)


def _within(image: Image.Image, mime_type: str, most_bytes: int | None) -> bytes | None:
    """Return a file of the image, smaller and smaller until it has no more bytes than it may."""
    if image.mode == "RGBA" and mime_type == "image/jpeg":
        paper = Image.new("RGB", image.size, "white")
        paper.paste(image, mask=image.getchannel("A"))
        image = paper
    image = _scaled(image, _MOST_SIDE.get(mime_type, _ANY_SIDE))
    left = _MOST_STEPS
    while True:
        least = 0
        for made in _encoded(image, mime_type):
            if most_bytes is None or len(made) <= most_bytes:
                return made
            least = min(least or len(made), len(made))
        if not left or most_bytes is None:
            return None
        # A file grows about as its pixels do: sides that are far too long are not tried.
        steps = min(left, max(1, int(log(least / max(1, most_bytes), 1 / _STEP**2))))
        left -= steps
        image = _scaled(image, max(1, round(max(image.size) * _STEP**steps)))


def _encoded(image: Image.Image, mime_type: str) -> Iterator[bytes]:
    """Yield the image as a file, the best form first."""
    if mime_type == "image/gif":
        yield _saved(image, "GIF")
    elif mime_type == "image/png":
        yield _saved(image, "PNG")
        yield _saved(image.quantize(_COLOURS, Image.Quantize.FASTOCTREE), "PNG")
    else:
        form = "JPEG" if mime_type == "image/jpeg" else "WEBP"
        for quality in _QUALITIES:
            yield _saved(image, form, quality=quality)


def reduce_image(data: bytes, task: ImageTask) -> FittedImage | None:
    """Make an image smaller: at most 512 pixels on its longer side, the right way up.

    Of an animation it shows the first picture.

    Args:
        data: The whole image.
        task: The type the bytes were found to be of, and bounds.

    Returns:
        A JPEG or PNG; the image itself where it has no more pixels already, or no smaller form of
        it takes fewer bytes; `None` if it cannot be decoded.

    Raises:
        TooCostlyError: It takes too many passes over its pixels, and was not decoded.
    """
    data = without_damaged_chunks(data)
    itself = FittedImage(data, task.mime_type, is_first_picture=False)
    try:
        image = open_image(BytesIO(data), task.mime_type)
        if image is None:
            return None
        is_small = max(image.size) <= _REDUCED_SIDE
        if not _load_pixels(image, data, task, _ENOUGH):
            return None
        if is_small:
            return itself
        shown = _in_shades(image)
        shown.thumbnail((_REDUCED_SIDE, _REDUCED_SIDE), reducing_gap=2.0)
        smaller = _smaller_forms(ImageOps.exif_transpose(shown))
        made = next((made for made in smaller if len(made[0]) < len(data)), None)
        return FittedImage(*made, is_first_picture=False) if made else itself
    except TooCostlyError:
        raise
    except Exception:  # noqa: BLE001 - decoders of hostile bytes raise anything
        return None


def _smaller_forms(image: Image.Image) -> Iterator[tuple[bytes, str]]:
    """Yield the image as it may be sent, the best form first, then ever smaller ones."""
    if _may_be_transparent(image):
        transparent = image.convert("RGBA")
        yield _saved(transparent, "PNG", optimize=True), "image/png"
        yield _saved(transparent.quantize(64), "PNG", optimize=True), "image/png"
        return
    opaque = image.convert("RGB")
    for quality in _REDUCED_QUALITIES:
        yield _saved(opaque, "JPEG", quality=quality, optimize=True), "image/jpeg"
    yield _saved(opaque.convert("1"), "PNG", optimize=True), "image/png"
