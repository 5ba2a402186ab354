"""Decodes and encodes images: fits them to recipes, and makes smaller forms.

A page has the smaller form of its image at its second level. Decoders read hostile bytes, so the
numbers of pixels and of passes over them are checked before decoding. All functions block, so call
them in a thread or a process of their own. They may raise any error of a decoder.
"""

from collections.abc import Iterator
from io import BytesIO
from math import ceil, isqrt, log

import PIL
from PIL import Image, ImageFile, ImageOps

from app.models.resource_descriptor import FittedImage
from app.services.images.image_tasks import ImageTask, TooCostlyError
from pagefault_dialects.media.decoding_cost import (
    MAX_OUTPUT_PIXELS,
    count_passes,
    is_decoded_in_rows,
)
from pagefault_dialects.media.headers import open_image
from pagefault_dialects.media.soundness import without_damaged_chunks
from pagefault_dialects.media.types import sniff
from pagefault_dialects.model.resource import ImageRecipe

CODEC_VERSION = PIL.__version__
"""The version of the codecs; another one may give other bytes, or decode more images."""

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
# The limits of their headers or encoders.
_MAX_SIDE = {"image/jpeg": 65_500, "image/webp": 16_383, "image/gif": 65_535}
_ANY_SIDE = 1 << 30
_FOR_OPAQUE = ("image/jpeg",)
_FOR_TRANSPARENT = ("image/png", "image/webp", "image/gif")
_QUALITIES = (85, 70, 50)
_COLOURS = 256
_STEP = 0.7
# The last step has a fiftieth of the sides, which is small enough for any limit of bytes.
_MAX_STEPS = 12
_DRAFTS = (1, 2, 4, 8)
_REDUCED_SIDE = 512
_REDUCED_QUALITIES = (85, 50)
# Twice the final size, for the quality of scaling.
_MIN_DRAFT_SIZE = (2 * _REDUCED_SIDE, 2 * _REDUCED_SIDE)


def make_image(data: bytes, task: ImageTask) -> FittedImage | None:
    """Run a task on an image; see `fit_image` and `reduce_image`."""
    if task.recipe is None:
        return reduce_image(data, task)
    return fit_image(data, task, task.recipe)


def _load_pixels(
    image: ImageFile.ImageFile,
    data: bytes,
    task: ImageTask,
    min_size: tuple[int, int] | None = None,
) -> bool:
    """Decode the pixels of an opened image; return False if it has too many.

    Args:
        image: The image; a JPEG may become 2, 4 or 8 times smaller.
        data: The bytes of the image.
        task: The limits.
        min_size: The minimum width and height.

    Raises:
        TooCostlyError: It takes too many passes.
    """
    pixels = _pixels(image.size, 1)
    if min_size is not None and is_decoded_in_rows(image, data):
        # A JPEG can be decoded to a fraction of its size at a fraction of the cost.
        image.draft(None, min_size)
    if _pixels(image.size, 1) > task.max_pixels:
        return False
    passes = count_passes(image, data)
    if passes * pixels > task.max_work:
        raise TooCostlyError(
            f"To decode it takes {passes} passes over {pixels} pixels, which is too much work, so "
            "no smaller image is made of it."
        )
    image.load()
    return True


def _to_scalable_mode(image: Image.Image) -> Image.Image:
    """Return the image in a mode that can be scaled, unlike palette indexes."""
    if image.mode.startswith("I;16"):
        # A plain conversion would turn all but the darkest values white.
        return image.point(lambda value: value * (1 / 256)).convert("L")
    if image.mode == "1":
        return image.convert("L")
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image


def _may_be_transparent(image: Image.Image) -> bool:
    """Return whether the image can have transparent pixels."""
    return image.mode in _TRANSPARENT_MODES or "transparency" in image.info


def _save(image: Image.Image, form: str, **options: int) -> bytes:
    """Return the image as a file in one of Pillow's formats."""
    out = BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def _is_lack_of_resources(exc: Exception) -> bool:
    """Return whether an error is about this process, not about the image."""
    if isinstance(exc, OSError):
        # Pillow's errors about images have no errno, but its lack of memory has none either.
        return exc.errno is not None or "out of memory" in str(exc)
    return isinstance(exc, MemoryError)


def fit_image(data: bytes, task: ImageTask, recipe: ImageRecipe) -> FittedImage | None:
    """Return an image that fits a recipe, upright; the image itself if it fits already.

    Damaged chunks of a PNG, other than the picture, are removed. An opaque image becomes a JPEG,
    and a transparent one a PNG, if the recipe has these types; else it gets the first type of the
    recipe. It has at most `MAX_OUTPUT_PIXELS`. If the file is too large, first its quality is
    reduced, then its sides. The result is deterministic.

    Args:
        data: The whole image.
        task: Its type, and the limits.
        recipe: The required form.

    Returns:
        The image; of an animation the first picture, unless it is the image itself. `None` if it
        cannot be decoded, or not be made to fit.

    Raises:
        TooCostlyError: It takes too many passes over its pixels, and was not decoded.
        MemoryError: The process lacks memory now.
        OSError: The process lacks another resource now.
    """
    source_type = sniff(data[:_HEAD_BYTES]) or task.mime_type
    data = without_damaged_chunks(data)
    try:
        image = open_image(BytesIO(data), source_type)
        return _fit(image, data, source_type, task=task, recipe=recipe) if image else None
    except TooCostlyError:
        raise
    except Exception as exc:
        # Decoders of hostile bytes raise errors of any kind.
        if _is_lack_of_resources(exc):
            raise
        return None


def _fit(
    image: ImageFile.ImageFile,
    data: bytes,
    source_type: str,
    *,
    task: ImageTask,
    recipe: ImageRecipe,
) -> FittedImage | None:
    side, max_pixels = recipe.max_side or _ANY_SIDE, task.max_pixels
    min_side = recipe.min_side or 0
    if source_type != "image/jpeg" and _pixels(image.size, 1) > max_pixels:
        # Before its orientation is read, since Pillow decodes a whole PNG for that.
        return None
    orientation = _orientation(image)
    fits = (
        source_type in recipe.types
        and max(image.size) <= side
        and not _needs_enlarging(image.size, min_side, side)
        and (recipe.max_bytes is None or len(data) <= recipe.max_bytes)
        and orientation not in _TURNS
    )
    has_more = bool(getattr(image, "is_animated", False))
    min_size = None if fits else _draft_size(image.size, side, max_pixels)
    if not _load_pixels(image, data, task, min_size):
        return None
    if fits:
        return FittedImage(data, source_type, is_first_picture=False)
    upright = _make_upright(image, min(side, _max_side(image.size)), orientation)
    if _needs_enlarging(upright.size, min_side, side):
        shorter = min(upright.size)
        width, height = (round(length * min_side / shorter) for length in upright.size)
        upright = upright.resize((width, height), Image.Resampling.LANCZOS)
    mime_type = _choose_type(upright, recipe.types)
    made = _encode_within(upright, mime_type, recipe.max_bytes) if mime_type else None
    return FittedImage(made, mime_type, has_more) if made and mime_type else None


def _max_side(size: tuple[int, int]) -> int:
    """Return the longest side of an image of these proportions within the limit of pixels."""
    return max(1, isqrt(MAX_OUTPUT_PIXELS * max(size) // min(size)))


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception as exc:
        # The image is valid even if its Exif data are damaged.
        if _is_lack_of_resources(exc):
            raise
        return 1


def _draft_size(size: tuple[int, int], side: int, max_pixels: int) -> tuple[int, int]:
    """Return the smallest sufficient size to decode a JPEG to."""
    # Twice the final size, for the quality of scaling.
    min_side = 2 * min(side, max(size))
    chosen = 1
    for draft in _DRAFTS:
        if max(size) // draft >= min_side or _pixels(size, chosen) > max_pixels:
            chosen = draft
    width, height = size
    return max(1, width // chosen), max(1, height // chosen)


def _pixels(size: tuple[int, int], draft: int) -> int:
    return ceil(size[0] / draft) * ceil(size[1] / draft)


def _make_upright(image: Image.Image, side: int, orientation: int) -> Image.Image:
    """Return the image upright in RGB or RGBA, within the side, and without metadata."""
    if image.mode.startswith("I;16"):
        # The transparent shade is one of 65,536, of which 256 remain.
        image.info.pop("transparency", None)
    upright = _to_scalable_mode(image)
    if "transparency" in upright.info:
        # Before scaling, which cannot interpolate a transparent colour.
        upright = upright.convert("RGBA")
    upright = _scale(upright, side)
    if orientation in _TURNS:
        upright = upright.transpose(_TURNS[orientation])
    mode = "RGBA" if _may_be_transparent(upright) else "RGB"
    # Pillow would copy an image that has the mode already.
    upright = upright if upright.mode == mode else upright.convert(mode)
    if upright.mode == "RGBA" and upright.getchannel("A").getextrema() == (255, 255):
        upright = upright.convert("RGB")
    # Metadata take bytes, and may reveal where a picture was taken.
    upright.info = {}
    return upright


def _scale(image: Image.Image, side: int) -> Image.Image:
    longest = max(image.size)
    if longest <= side:
        return image
    width, height = (max(1, round(length * side / longest)) for length in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=2.0)


def _needs_enlarging(size: tuple[int, int], min_side: int, side: int) -> bool:
    """Return whether the shorter side is too short, and the longer one stays within `side`."""
    shorter, longer = sorted(size)
    return shorter < min_side and longer * min_side <= side * shorter


def _choose_type(image: Image.Image, types: tuple[str, ...]) -> str | None:
    best = _FOR_TRANSPARENT if image.mode == "RGBA" else _FOR_OPAQUE
    can_be_made = (*_FOR_OPAQUE, *_FOR_TRANSPARENT)
    return next((kind for kind in (*best, *types) if kind in types and kind in can_be_made), None)


def _encode_within(image: Image.Image, mime_type: str, max_bytes: int | None) -> bytes | None:
    """Return the image as a file within a limit of bytes, reducing its sides as needed."""
    if image.mode == "RGBA" and mime_type == "image/jpeg":
        paper = Image.new("RGB", image.size, "white")
        paper.paste(image, mask=image.getchannel("A"))
        image = paper
    image = _scale(image, _MAX_SIDE.get(mime_type, _ANY_SIDE))
    remaining = _MAX_STEPS
    while True:
        smallest = 0
        for made in _encode_forms(image, mime_type):
            if max_bytes is None or len(made) <= max_bytes:
                return made
            smallest = min(smallest or len(made), len(made))
        if not remaining or max_bytes is None:
            return None
        # The size of a file is about proportional to its pixels, so useless steps are skipped.
        steps = min(remaining, max(1, int(log(smallest / max(1, max_bytes), 1 / _STEP**2))))
        remaining -= steps
        image = _scale(image, max(1, round(max(image.size) * _STEP**steps)))


def _encode_forms(image: Image.Image, mime_type: str) -> Iterator[bytes]:
    """Yield the image as a file, the best form first."""
    if mime_type == "image/gif":
        yield _save(image, "GIF")
    elif mime_type == "image/png":
        yield _save(image, "PNG")
        yield _save(image.quantize(_COLOURS, Image.Quantize.FASTOCTREE), "PNG")
    else:
        form = "JPEG" if mime_type == "image/jpeg" else "WEBP"
        for quality in _QUALITIES:
            yield _save(image, form, quality=quality)


def reduce_image(data: bytes, task: ImageTask) -> FittedImage | None:
    """Reduce an image to at most 512 pixels on its longer side, upright.

    An animation is reduced to its first picture.

    Args:
        data: The whole image.
        task: Its detected type, and the limits.

    Returns:
        A JPEG or PNG; the image itself if it is small enough already, or no smaller form has fewer
        bytes; `None` if it cannot be decoded.

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
        if not _load_pixels(image, data, task, _MIN_DRAFT_SIZE):
            return None
        if is_small:
            return itself
        reduced = _to_scalable_mode(image)
        reduced.thumbnail((_REDUCED_SIDE, _REDUCED_SIDE), reducing_gap=2.0)
        smaller = _smaller_forms(ImageOps.exif_transpose(reduced))
        made = next((made for made in smaller if len(made[0]) < len(data)), None)
        return FittedImage(*made, is_first_picture=False) if made else itself
    except TooCostlyError:
        raise
    except Exception:  # noqa: BLE001 - decoders of hostile bytes raise errors of any kind
        return None


def _smaller_forms(image: Image.Image) -> Iterator[tuple[bytes, str]]:
    """Yield the image as files, the best form first, then smaller ones."""
    if _may_be_transparent(image):
        transparent = image.convert("RGBA")
        yield _save(transparent, "PNG", optimize=True), "image/png"
        yield _save(transparent.quantize(64), "PNG", optimize=True), "image/png"
        return
    opaque = image.convert("RGB")
    for quality in _REDUCED_QUALITIES:
        yield _save(opaque, "JPEG", quality=quality, optimize=True), "image/jpeg"
    yield _save(opaque.convert("1"), "PNG", optimize=True), "image/png"
