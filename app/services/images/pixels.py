"""Decode and encode images with Pillow, in a thread or in the image worker.

`fit_image` changes an image to fit an `ImageRecipe`: its types, sides and file size.
`reduce_image` makes the small copy that a memory page shows at level 1 (REDUCED).

Decoders read hostile bytes. So the number of pixels, and the number of passes that a decoder makes
over them, are checked before decoding. All functions block, so call them in a thread or a process
of their own.
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
"""The version of the codecs. Another version may write other bytes, or decode more images."""

_TRANSPARENT_MODES = frozenset({"RGBA", "LA", "PA", "RGBa", "La"})
_SNIFFED_BYTES = 512
_EXIF_ORIENTATION = 0x0112
# The change that makes an image upright, by the value of its Exif orientation.
_TRANSPOSES = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# The longest side that the format or its encoder allows.
_MAX_SIDE_BY_TYPE = {"image/jpeg": 65_500, "image/webp": 16_383, "image/gif": 65_535}
_NO_MAX_SIDE = 1 << 30
# The types that can be written, the preferred type first.
_OPAQUE_TYPES = ("image/jpeg",)
_TRANSPARENT_TYPES = ("image/png", "image/webp", "image/gif")
_QUALITIES = (85, 70, 50)
# The number of colours of a PNG with a palette, for a fitted and for a reduced image.
_PALETTE_COLOURS = 256
_REDUCED_PALETTE_COLOURS = 64
# The factor by which the sides are multiplied in one step, until the file is small enough.
_SCALE_STEP = 0.7
# After 12 steps the sides have a 70th of their length, so the file is below any usual limit.
_MAX_SCALE_STEPS = 12
# Pillow can decode a JPEG at a half, a quarter or an eighth of its sides (`Image.draft`).
_DRAFT_DIVISORS = (1, 2, 4, 8)
_REDUCED_SIDE = 512
_REDUCED_QUALITIES = (85, 50)
# Twice the final size, because scaling from a larger draft gives a better image.
_MIN_REDUCED_DRAFT = (2 * _REDUCED_SIDE, 2 * _REDUCED_SIDE)


def make_image(data: bytes, task: ImageTask) -> FittedImage | None:
    """Fit an image to the recipe of a task, or reduce it if the task has no recipe.

    See `fit_image` and `reduce_image` for the result and the errors.
    """
    if task.recipe is None:
        return reduce_image(data, task)
    return fit_image(data, task, task.recipe)


def _load_pixels(
    image: ImageFile.ImageFile,
    data: bytes,
    task: ImageTask,
    min_size: tuple[int, int] | None = None,
) -> bool:
    """Decode the pixels of an opened image, unless it has too many.

    Args:
        image: The image. A JPEG may become 2, 4 or 8 times smaller, see `min_size`.
        data: The bytes of the image.
        task: The limits.
        min_size: The smallest width and height to which a JPEG may be reduced while it is decoded;
            `None` to decode it in its full size.

    Returns:
        False if the image has more pixels than the task allows, and was not decoded.

    Raises:
        TooCostlyError: The decoder would make too many passes over the pixels.
    """
    pixels = _count_pixels(image.size)
    if min_size is not None and is_decoded_in_rows(image, data):
        # A JPEG can be decoded at a fraction of its size, at a fraction of the cost.
        image.draft(None, min_size)
    if _count_pixels(image.size) > task.max_pixels:
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
    """Convert an image with a palette, or 1 or 16 bits per pixel, to a mode that can be scaled.

    Scaling interpolates colours; palette indexes cannot be interpolated.
    """
    if image.mode.startswith("I;16"):
        # `convert` alone would make all but the darkest values white.
        return image.point(lambda value: value * (1 / 256)).convert("L")
    if image.mode == "1":
        return image.convert("L")
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image


def _may_be_transparent(image: Image.Image) -> bool:
    return image.mode in _TRANSPARENT_MODES or "transparency" in image.info


def _encode(image: Image.Image, pillow_format: str, **options: int) -> bytes:
    file = BytesIO()
    image.save(file, pillow_format, **options)
    return file.getvalue()


def _is_lack_of_resources(exc: Exception) -> bool:
    """Return True if an error was caused by the state of this process, not by the image."""
    if isinstance(exc, OSError):
        # Pillow raises an OSError without an errno for a damaged image, and also if it lacks
        # memory.
        return exc.errno is not None or "out of memory" in str(exc)
    return isinstance(exc, MemoryError)


def fit_image(data: bytes, task: ImageTask, recipe: ImageRecipe) -> FittedImage | None:
    """Convert an image to fit a recipe, and make it upright.

    Damaged parts of a PNG are removed, if the picture does not need them. If the recipe allows
    these types, an opaque image becomes a JPEG and a transparent image a PNG; otherwise it gets
    the first type of the recipe that can be written. It has at most `MAX_OUTPUT_PIXELS` pixels. If
    the file is too large, first its quality is reduced, then its sides. The result is
    deterministic.

    Args:
        data: The whole image.
        task: The declared type of the image, and the limits.
        recipe: The allowed types, sides and file size.

    Returns:
        The new image, which shows the first picture of an animation; or the same image, still an
        animation, if it fits the recipe already. `None` if the image cannot be decoded, or cannot
        be made to fit.

    Raises:
        TooCostlyError: The decoder would make too many passes over the pixels.
        MemoryError: The process lacks memory now.
        OSError: The process lacks another resource now.
    """
    source_type = sniff(data[:_SNIFFED_BYTES]) or task.mime_type
    data = without_damaged_chunks(data)
    try:
        image = open_image(BytesIO(data), source_type)
        return _fit(image, data, source_type, task=task, recipe=recipe) if image else None
    except TooCostlyError:
        raise
    except Exception as exc:
        # Decoders raise errors of any kind for hostile bytes.
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
    """Fit an opened image to a recipe; see `fit_image`."""
    max_side, min_side = recipe.max_side or _NO_MAX_SIDE, recipe.min_side or 0
    if source_type != "image/jpeg" and _count_pixels(image.size) > task.max_pixels:
        # Checked before the orientation is read, because Pillow decodes a whole PNG to read it.
        return None
    orientation = _read_orientation(image)
    is_fitting = (
        source_type in recipe.types
        and max(image.size) <= max_side
        and not _needs_enlarging(image.size, min_side, max_side)
        and (recipe.max_bytes is None or len(data) <= recipe.max_bytes)
        and orientation not in _TRANSPOSES
    )
    is_animated = bool(getattr(image, "is_animated", False))
    min_size = None if is_fitting else _choose_draft_size(image.size, max_side, task.max_pixels)
    # An image that fits is decoded too, to find out whether it is damaged.
    if not _load_pixels(image, data, task, min_size):
        return None
    if is_fitting:
        return FittedImage(data, source_type, is_first_picture=False)
    longest_output_side = max(1, isqrt(MAX_OUTPUT_PIXELS * max(image.size) // min(image.size)))
    upright = _make_upright(image, min(max_side, longest_output_side), orientation)
    if _needs_enlarging(upright.size, min_side, max_side):
        shorter = min(upright.size)
        width, height = (round(length * min_side / shorter) for length in upright.size)
        upright = upright.resize((width, height), Image.Resampling.LANCZOS)
    mime_type = _choose_type(upright, recipe.types)
    if mime_type is None:
        return None
    encoded = _encode_within_limit(upright, mime_type, recipe.max_bytes)
    return FittedImage(encoded, mime_type, is_animated) if encoded else None


def _read_orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(_EXIF_ORIENTATION, 1))
    except Exception as exc:
        # The image is valid even if its Exif data are damaged.
        if _is_lack_of_resources(exc):
            raise
        return 1


def _choose_draft_size(size: tuple[int, int], max_side: int, max_pixels: int) -> tuple[int, int]:
    """Return the smallest size to decode a JPEG to.

    Its longer side has at least twice the final length, because scaling from a larger draft gives a
    better image, unless such a draft has more than `max_pixels`.
    """
    min_draft_side = 2 * min(max_side, max(size))
    chosen_divisor = 1
    for divisor in _DRAFT_DIVISORS:
        is_too_large = _count_pixels(size, chosen_divisor) > max_pixels
        if max(size) // divisor >= min_draft_side or is_too_large:
            chosen_divisor = divisor
    width, height = size
    return max(1, width // chosen_divisor), max(1, height // chosen_divisor)


def _count_pixels(size: tuple[int, int], divisor: int = 1) -> int:
    """Return the number of pixels of an image whose sides are divided by `divisor`."""
    return ceil(size[0] / divisor) * ceil(size[1] / divisor)


def _make_upright(image: Image.Image, max_side: int, orientation: int) -> Image.Image:
    """Scale an image down to `max_side`, turn it upright, and remove its metadata.

    Returns:
        An image in mode RGB, or RGBA if it has transparent pixels.
    """
    if image.mode.startswith("I;16"):
        # The transparent shade of grey is one of 65,536, and only 256 remain.
        image.info.pop("transparency", None)
    upright = _to_scalable_mode(image)
    if "transparency" in upright.info:
        # Converted before scaling, which cannot interpolate a transparent colour.
        upright = upright.convert("RGBA")
    upright = _scale_down(upright, max_side)
    if orientation in _TRANSPOSES:
        upright = upright.transpose(_TRANSPOSES[orientation])
    mode = "RGBA" if _may_be_transparent(upright) else "RGB"
    # `convert` would copy an image that has the mode already.
    upright = upright if upright.mode == mode else upright.convert(mode)
    if upright.mode == "RGBA" and upright.getchannel("A").getextrema() == (255, 255):
        upright = upright.convert("RGB")
    # Metadata take bytes, and may reveal where a picture was taken.
    upright.info = {}
    return upright


def _scale_down(image: Image.Image, max_side: int) -> Image.Image:
    longest = max(image.size)
    if longest <= max_side:
        return image
    width, height = (max(1, round(length * max_side / longest)) for length in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=2.0)


def _needs_enlarging(size: tuple[int, int], min_side: int, max_side: int) -> bool:
    """Return True if the shorter side is below `min_side` and the image can be enlarged.

    It cannot be enlarged if its longer side would then exceed `max_side`.
    """
    shorter, longer = sorted(size)
    return shorter < min_side and longer * min_side <= max_side * shorter


def _choose_type(image: Image.Image, types: tuple[str, ...]) -> str | None:
    """Return the best of the allowed types for an image; `None` if none can be written."""
    preferred = _TRANSPARENT_TYPES if image.mode == "RGBA" else _OPAQUE_TYPES
    writable = (*_OPAQUE_TYPES, *_TRANSPARENT_TYPES)
    return next(
        (
            mime_type
            for mime_type in (*preferred, *types)
            if mime_type in types and mime_type in writable
        ),
        None,
    )


def _encode_within_limit(image: Image.Image, mime_type: str, max_bytes: int | None) -> bytes | None:
    """Encode an image to a file of at most `max_bytes`, scaling it down as needed.

    Returns:
        The file; `None` if it is still too large after `_MAX_SCALE_STEPS` steps.
    """
    if image.mode == "RGBA" and mime_type == "image/jpeg":
        background = Image.new("RGB", image.size, "white")
        background.paste(image, mask=image.getchannel("A"))
        image = background
    image = _scale_down(image, _MAX_SIDE_BY_TYPE.get(mime_type, _NO_MAX_SIDE))
    remaining_steps = _MAX_SCALE_STEPS
    while True:
        smallest_bytes = 0
        for encoded in _encode_by_quality(image, mime_type):
            if max_bytes is None or len(encoded) <= max_bytes:
                return encoded
            smallest_bytes = min(smallest_bytes or len(encoded), len(encoded))
        if not remaining_steps or max_bytes is None:
            return None
        # The size of a file is about proportional to its pixels, so several steps are made at once.
        steps = int(log(smallest_bytes / max(1, max_bytes), 1 / _SCALE_STEP**2))
        steps = min(remaining_steps, max(1, steps))
        remaining_steps -= steps
        image = _scale_down(image, max(1, round(max(image.size) * _SCALE_STEP**steps)))


def _encode_by_quality(image: Image.Image, mime_type: str) -> Iterator[bytes]:
    """Yield the image as files of falling quality and size."""
    if mime_type == "image/gif":
        yield _encode(image, "GIF")
    elif mime_type == "image/png":
        yield _encode(image, "PNG")
        yield _encode(image.quantize(_PALETTE_COLOURS, Image.Quantize.FASTOCTREE), "PNG")
    else:
        for quality in _QUALITIES:
            yield _encode(image, "JPEG" if mime_type == "image/jpeg" else "WEBP", quality=quality)


def reduce_image(data: bytes, task: ImageTask) -> FittedImage | None:
    """Reduce an image to at most 512 pixels on its longer side, and make it upright.

    An animation is reduced to its first picture.

    Args:
        data: The whole image.
        task: The detected type of the image, and the limits.

    Returns:
        A JPEG or PNG; or the same image, if its sides are short enough already or if no reduced
        file is smaller. `None` if the image cannot be decoded.

    Raises:
        TooCostlyError: The decoder would make too many passes over the pixels.
    """
    data = without_damaged_chunks(data)
    unchanged = FittedImage(data, task.mime_type, is_first_picture=False)
    try:
        image = open_image(BytesIO(data), task.mime_type)
        if image is None:
            return None
        is_small = max(image.size) <= _REDUCED_SIDE
        if not _load_pixels(image, data, task, _MIN_REDUCED_DRAFT):
            return None
        if is_small:
            return unchanged
        reduced = _to_scalable_mode(image)
        reduced.thumbnail((_REDUCED_SIDE, _REDUCED_SIDE), reducing_gap=2.0)
        for encoded, mime_type in _encode_reduced(ImageOps.exif_transpose(reduced)):
            if len(encoded) < len(data):
                return FittedImage(encoded, mime_type, is_first_picture=False)
    except TooCostlyError:
        raise
    except Exception:  # noqa: BLE001 - decoders raise errors of any kind for hostile bytes
        return None
    return unchanged


def _encode_reduced(image: Image.Image) -> Iterator[tuple[bytes, str]]:
    """Yield the image as files of falling quality and size, each with its type."""
    if _may_be_transparent(image):
        transparent = image.convert("RGBA")
        yield _encode(transparent, "PNG", optimize=True), "image/png"
        palette_image = transparent.quantize(_REDUCED_PALETTE_COLOURS)
        yield _encode(palette_image, "PNG", optimize=True), "image/png"
        return
    opaque = image.convert("RGB")
    for quality in _REDUCED_QUALITIES:
        yield _encode(opaque, "JPEG", quality=quality, optimize=True), "image/jpeg"
    yield _encode(opaque.convert("1"), "PNG", optimize=True), "image/png"
