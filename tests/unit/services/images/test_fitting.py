"""Images that are made to fit: the same picture, in a type, a size and a length that is taken."""

import io
import struct
from collections.abc import Callable

import pytest
from PIL import Image, ImageFile

from app.models.resource_descriptor import FittedImage
from app.services.images.image_tasks import ImageTask
from app.services.images.pixels import fit_image, reduce_image
from pagefault_dialects.media.types import sniff
from pagefault_dialects.model.resource import ImageRecipe
from tests.kit import media
from tests.kit.images import difference, jpeg_in_three_scans, opened, picture, saved, see_through

MAX_PIXELS = 1_000_000
# Scaling and compression change a picture by far less, a wrong mode or a turn by far more.
MAX_DIFFERENT = 12.0
ANY = ImageRecipe(("image/jpeg", "image/png", "image/webp", "image/gif"))
SMALLER = ImageRecipe(("image/jpeg", "image/png"), max_side=150)


def task_of(mime_type: str, max_pixels: int = MAX_PIXELS) -> ImageTask:
    return ImageTask(mime_type, SMALLER, max_pixels, max_work=16 * max_pixels)


def fitted(
    data: bytes, mime_type: str, recipe: ImageRecipe = SMALLER, max_pixels: int = MAX_PIXELS
) -> FittedImage:
    made = fit_image(data, task_of(mime_type, max_pixels), recipe)
    assert made is not None
    assert sniff(made.data) == made.mime_type
    return made


def sixteen_bit_grey(transparency: int | None = None) -> bytes:
    row = struct.pack("<300H", *(x * 65_535 // 299 for x in range(300)))
    options = {} if transparency is None else {"transparency": transparency}
    return saved(Image.frombytes("I;16", (300, 200), row * 200), "PNG", **options)


def eight_bit_grey() -> Image.Image:
    """The picture in `sixteen_bit_grey`."""
    return Image.frombytes("L", (300, 200), bytes(x * 255 // 299 for x in range(300)) * 200)


def animated(file_format: str) -> bytes:
    second = Image.new("RGB", (300, 200), (0, 0, 255))
    return saved(picture(), file_format, save_all=True, append_images=[second], duration=100)


@pytest.mark.parametrize(
    ("make", "mime_type", "expected"),
    [
        (lambda: saved(picture(), "PNG"), "image/png", picture),
        (lambda: saved(picture(), "JPEG"), "image/jpeg", picture),
        (lambda: saved(picture(), "JPEG", progressive=True), "image/jpeg", picture),
        (lambda: saved(picture().convert("CMYK"), "JPEG"), "image/jpeg", picture),
        (lambda: saved(picture(), "WEBP"), "image/webp", picture),
        (lambda: saved(picture(), "AVIF"), "image/avif", picture),
        (lambda: saved(picture(), "BMP"), "image/bmp", picture),
        (lambda: saved(picture().quantize(64), "GIF"), "image/gif", picture),
        (lambda: saved(picture().quantize(64), "PNG"), "image/png", picture),
        (lambda: saved(picture().convert("1"), "PNG"), "image/png", lambda: picture().convert("L")),
        (lambda: saved(picture().convert("L"), "PNG"), "image/png", lambda: picture().convert("L")),
        (sixteen_bit_grey, "image/png", eight_bit_grey),
        (lambda: sixteen_bit_grey(65_535), "image/png", eight_bit_grey),
    ],
    ids=[
        *("png", "jpeg", "progressive", "cmyk", "webp", "avif", "bmp", "gif"),
        *("palette", "1-bit", "grey", "16-bit grey", "16-bit grey with a transparent shade"),
    ],
)
def test_opaque_image_becomes_a_jpeg_of_the_same_picture(
    make: Callable[[], bytes], mime_type: str, expected: Callable[[], Image.Image]
) -> None:
    made = fitted(make(), mime_type)
    image = opened(made.data)
    assert (made.mime_type, made.is_first_picture, image.size, image.mode) == (
        *("image/jpeg", False),
        *((150, 100), "RGB"),
    )
    assert difference(image, expected()) < MAX_DIFFERENT


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("image/jpeg", "image/png"), "image/png"),
        (("image/webp", "image/png"), "image/png"),
        (("image/jpeg", "image/webp"), "image/webp"),
        (("image/jpeg", "image/gif"), "image/gif"),
    ],
)
@pytest.mark.parametrize(
    ("make", "mime_type"),
    [
        (lambda: saved(see_through(), "PNG"), "image/png"),
        (lambda: saved(see_through().convert("LA"), "PNG"), "image/png"),
        (lambda: saved(see_through(), "WEBP"), "image/webp"),
        (lambda: saved(see_through().quantize(64, Image.Quantize.FASTOCTREE), "PNG"), "image/png"),
        (lambda: saved(see_through(), "GIF"), "image/gif"),
    ],
    ids=["rgba", "grey", "webp", "palette", "gif"],
)
def test_what_is_transparent_stays_so_where_a_type_can(
    make: Callable[[], bytes], mime_type: str, types: tuple[str, ...], expected: str
) -> None:
    made = fitted(make(), mime_type, ImageRecipe(types, max_side=150))
    alpha = opened(made.data).convert("RGBA").getchannel("A")
    assert (made.mime_type, alpha.size) == (expected, (150, 100))
    assert alpha.crop((0, 0, 70, 100)).getextrema() == (0, 0)
    # A palette may round what is opaque by a shade.
    assert min(alpha.crop((80, 0, 150, 100)).tobytes()) >= 254


def test_colour_that_stands_for_transparent_is_not_blended_into_others() -> None:
    image = Image.new("RGB", (300, 200), "white")
    image.paste("black", (0, 0, 151, 200))
    made = fitted(saved(image, "PNG", transparency=(0, 0, 0)), "image/png")
    shown = opened(made.data).convert("RGBA")
    black = Image.new("RGBA", shown.size, "black")
    blended = Image.alpha_composite(black, shown).getchannel("R").tobytes()
    assert (made.mime_type, blended) == ("image/png", shown.getchannel("A").tobytes())


def test_what_is_transparent_is_white_where_no_type_can() -> None:
    made = fitted(saved(see_through(), "PNG"), "image/png", ImageRecipe(("image/jpeg",), 150))
    paper = opened(made.data).crop((0, 0, 60, 100))
    assert paper.getextrema() == ((255, 255),) * 3


def test_image_with_room_for_transparency_it_does_not_use_is_opaque() -> None:
    assert fitted(saved(picture().convert("RGBA"), "PNG"), "image/png").mime_type == "image/jpeg"


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("image/png", "image/jpeg"), "image/jpeg"),
        (("image/webp", "image/png"), "image/webp"),
        (("image/gif", "image/png"), "image/gif"),
        (("image/heic", "image/png"), "image/png"),
    ],
)
def test_opaque_image_without_jpeg_becomes_the_first_type(
    types: tuple[str, ...], expected: str
) -> None:
    made = fitted(saved(picture(), "BMP"), "image/bmp", ImageRecipe(types))
    assert made.mime_type == expected
    assert difference(opened(made.data), picture()) < MAX_DIFFERENT


@pytest.mark.parametrize("types", [(), ("image/heic",)])
def test_of_types_that_cannot_be_made_nothing_is(types: tuple[str, ...]) -> None:
    data = saved(picture(), "PNG")
    assert fit_image(data, task_of("image/png"), ImageRecipe(types)) is None


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize(
    ("file_format", "mime_type"),
    [
        ("JPEG", "image/jpeg"),
        ("PNG", "image/png"),
        ("WEBP", "image/webp"),
    ],
)
def test_image_is_the_right_way_up(file_format: str, mime_type: str, orientation: int) -> None:
    undone = {6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}
    undone |= {2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180}
    undone |= {4: Image.Transpose.FLIP_TOP_BOTTOM, 5: Image.Transpose.TRANSPOSE}
    undone |= {7: Image.Transpose.TRANSVERSE}
    lying = picture() if orientation == 1 else picture().transpose(undone[orientation])
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = opened(fitted(saved(lying, file_format, exif=exif), mime_type).data)
    assert (image.size, dict(image.getexif())) == ((150, 100), {})
    assert difference(image, picture()) < MAX_DIFFERENT


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data:UserWarning")
def test_damaged_exif_data_cost_nothing_but_the_turn() -> None:
    data = saved(picture(), "JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff")
    assert opened(fitted(data, "image/jpeg").data).size == (150, 100)


@pytest.mark.parametrize("file_format", ["GIF", "WEBP", "PNG"])
def test_animation_loses_its_movement_and_says_so(file_format: str) -> None:
    made = fitted(animated(file_format), f"image/{file_format.lower()}")
    assert (made.mime_type, made.is_first_picture) == ("image/jpeg", True)
    assert difference(opened(made.data), picture()) < MAX_DIFFERENT


@pytest.mark.parametrize("file_format", ["GIF", "WEBP", "PNG", "JPEG"])
def test_image_that_fits_is_itself(file_format: str) -> None:
    mime_type = f"image/{file_format.lower()}"
    data = saved(picture(), "JPEG") if file_format == "JPEG" else animated(file_format)
    recipe = ImageRecipe((mime_type,), 300, len(data))
    assert fitted(data, mime_type, recipe) == FittedImage(data, mime_type, False)


def test_bytes_decide_what_an_image_is() -> None:
    data = saved(picture(), "PNG")
    assert fitted(data, "image/tiff") == fitted(data, "image/png")


@pytest.mark.slow
@pytest.mark.parametrize("mime_type", ["image/jpeg", "image/png", "image/webp", "image/gif"])
@pytest.mark.parametrize("max_bytes", [40_000, 9_000, 1_500])
def test_image_of_too_many_bytes_gets_smaller_until_it_fits(mime_type: str, max_bytes: int) -> None:
    data = saved(picture(600, 400), "PNG")
    made = fitted(data, "image/png", ImageRecipe((mime_type,), max_bytes=max_bytes))
    assert (made.mime_type, len(made.data) <= max_bytes) == (mime_type, True)
    width, height = opened(made.data).size
    assert abs(width / height - 1.5) < 0.1
    assert difference(opened(made.data), picture(600, 400)) < 2 * MAX_DIFFERENT


def test_quality_is_lowered_before_the_sides() -> None:
    data = saved(picture(), "PNG")
    best = fitted(data, "image/png", ImageRecipe(("image/jpeg",)))
    next_best = fitted(data, "image/png", ImageRecipe(("image/jpeg",), None, len(best.data) - 1))
    assert len(next_best.data) < len(best.data)
    assert opened(next_best.data).size == opened(best.data).size == (300, 200)


@pytest.mark.parametrize("max_bytes", [0, 1, 100])
def test_nothing_is_made_where_nothing_can_be_so_small(max_bytes: int) -> None:
    recipe = ImageRecipe(("image/jpeg",), max_bytes=max_bytes)
    data = saved(picture(), "PNG")
    assert fit_image(data, task_of("image/png"), recipe) is None


@pytest.mark.parametrize(
    ("size", "made_size"),
    [((4_100, 1_200), (3_201, 937)), ((1_700, 1_700), (1_700, 1_700))],
    ids=["more", "not more"],
)
def test_smaller_image_has_at_most_three_megapixels(
    size: tuple[int, int], made_size: tuple[int, int]
) -> None:
    data = saved(Image.new("RGB", size), "BMP")
    made = fitted(data, "image/bmp", ImageRecipe(("image/png",), 4_000), max_pixels=10**7)
    assert opened(made.data).size == made_size


@pytest.mark.parametrize("mime_type", ["image/jpeg", "image/png", "image/webp", "image/gif"])
@pytest.mark.parametrize("size", [(1, 50_000), (50_000, 1), (2, 70_000)])
@pytest.mark.parametrize("max_side", [None, 2_000])
def test_image_that_is_all_side_keeps_a_pixel_of_the_other(
    size: tuple[int, int], max_side: int | None, mime_type: str
) -> None:
    data = saved(Image.new("RGB", size, "red"), "PNG")
    made = fitted(data, "image/png", ImageRecipe((mime_type,), max_side))
    image = opened(made.data)
    assert min(image.size) >= 1
    assert max(image.size) <= (max_side or 70_000)
    assert difference(image, Image.new("RGB", size, "red")) < MAX_DIFFERENT


@pytest.mark.parametrize("max_side", [150, None])
def test_large_jpeg_is_decoded_to_a_part_of_itself(max_side: int | None) -> None:
    data = saved(picture(2_000, 1_200), "JPEG")
    made = fitted(data, "image/jpeg", ImageRecipe(("image/png",), max_side))
    image = opened(made.data)
    assert image.size == ((150, 90) if max_side else (1_000, 600))
    assert difference(image, picture(2_000, 1_200)) < MAX_DIFFERENT


def test_wide_jpeg_is_decoded_to_a_part_of_itself() -> None:
    made = fitted(saved(picture(8_000, 200), "JPEG"), "image/jpeg")
    assert opened(made.data).size == (150, 4)


@pytest.mark.promise(
    "security.md#decoders",
    "An image that cannot be decoded within bounds is not decoded",
    kept_by="app/services/images/pixels.py",
    tried="12 images",
)
@pytest.mark.parametrize(
    "make",
    [
        lambda: media.png_claiming(50_000, 50_000),
        lambda: media.png_claiming(2**31 - 1, 2**31 - 1),
        lambda: saved(picture(1_001, 1_000), "PNG"),
        lambda: saved(picture(1_001, 1_000), "JPEG", progressive=True),
        lambda: jpeg_in_three_scans(1_600),
        lambda: saved(picture(), "PNG")[:60_000],
        lambda: saved(picture(), "JPEG")[:9_000],
        lambda: saved(picture(), "WEBP")[:5_000],
        lambda: saved(picture().quantize(64), "GIF")[:9_000],
        lambda: saved(picture(), "TIFF"),
        lambda: b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        lambda: b"",
    ],
    ids=[
        *("50,000 x 50,000", "2,147,483,647 x 2,147,483,647", "1,001 x 1,000", "progressive"),
        *("three scans", "truncated png", "truncated jpeg", "truncated webp", "truncated gif"),
        *("tiff", "svg", "nothing"),
    ],
)
def test_what_cannot_be_decoded_in_bounds_is_not(make: Callable[[], bytes]) -> None:
    assert fit_image(make(), task_of("image/png"), SMALLER) is None


def test_image_beyond_the_bounds_is_not_decoded_to_know_how_it_is_turned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[object] = []
    monkeypatch.setattr(ImageFile.ImageFile, "load", loaded.append)
    data = saved(picture(1_001, 1_000), "PNG")
    assert fit_image(data, task_of("image/png"), SMALLER) is None
    assert loaded == []


def test_jpeg_that_is_kept_in_memory_whole_is_judged_by_all_of_it() -> None:
    data = jpeg_in_three_scans(1_600)
    assert reduce_image(data, task_of("image/jpeg")) is None
    assert reduce_image(data, task_of("image/jpeg", 1_600**2)) is not None
    assert opened(fitted(data, "image/jpeg", max_pixels=1_600**2).data).size == (150, 150)


def test_nothing_that_was_said_about_an_image_is_in_what_is_made() -> None:
    secret = b"secret" * 1_000
    exif = Image.Exif()
    exif[0x010E] = secret.decode()
    data = saved(picture(), "WEBP", exif=exif, icc_profile=secret, xmp=secret)
    for mime_type in ("image/jpeg", "image/png", "image/gif"):
        made = fitted(data, "image/webp", ImageRecipe((mime_type,), 150))
        assert b"secret" not in made.data
        assert set(Image.open(io.BytesIO(made.data)).info) <= {
            *("jfif", "jfif_version", "jfif_unit", "jfif_density"),
            *("version", "background", "extension"),
        }


@pytest.mark.parametrize("max_bytes", [None, 5_000])
def test_same_bytes_are_made_of_the_same(max_bytes: int | None) -> None:
    for image in (picture(), see_through()):
        recipe = ImageRecipe(ANY.types, 150, max_bytes)
        data = saved(image, "PNG")
        assert fitted(data, "image/png", recipe) == fitted(data, "image/png", recipe)
