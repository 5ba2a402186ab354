"""REDUCED levels of images of every make, over HTTP: the same picture, or none."""

import io
import struct
from collections.abc import Callable
from functools import cache

import httpx
import pytest
from PIL import Image, ImageChops, ImageOps, ImageStat

from tests.contract.page_requests import ROUTE, data_uri, put, read, stored_bytes
from tests.kit.media import noise_bytes

pytestmark = pytest.mark.engines("embedded")

SIZE = (768, 576)
LONGEST_SIDE = 512
COMPARED_AT = (64, 64)
# Scaling and compression change a picture by far less, a wrong mode or a turn by far more.
MAX_DIFFERENT = 12.0


@cache
def picture() -> Image.Image:
    """A picture that is nowhere like itself turned or inverted, and too rough to compress well."""
    width, height = SIZE
    rough = Image.frombytes("L", SIZE, noise_bytes(width * height))
    ramp = Image.linear_gradient("L")
    channels = [
        ramp.resize(SIZE),
        ramp.rotate(90).resize(SIZE),
        Image.new("L", SIZE, 40),
    ]
    return Image.merge("RGB", [Image.blend(channel, rough, 0.25) for channel in channels])


@cache
def palette_picture() -> Image.Image:
    """A picture of 64 colours."""
    return picture().quantize(64, Image.Quantize.FASTOCTREE)


def saved(image: Image.Image, file_format: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, file_format, **options)
    return out.getvalue()


def sixteen_bit_grey() -> bytes:
    width, height = SIZE
    row = struct.pack(f"<{width}H", *(x * 65_535 // (width - 1) for x in range(width)))
    # Not compressed, so that there is something to be gained by making it smaller.
    return saved(Image.frombytes("I;16", SIZE, row * height), "PNG", compress_level=0)


def eight_bit_grey() -> Image.Image:
    """The picture in `sixteen_bit_grey`."""
    width, height = SIZE
    return Image.frombytes("L", SIZE, bytes(x * 255 // (width - 1) for x in range(width)) * height)


def rotated() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return saved(picture(), "JPEG", exif=exif, quality=95)


def animated() -> bytes:
    first = palette_picture()
    second = Image.new("RGB", SIZE, (0, 0, 255)).quantize(2)
    return saved(first, "GIF", save_all=True, append_images=[second], duration=100)


def see_through() -> bytes:
    """A palette image whose left half is transparent."""
    image = picture().convert("RGBA")
    image.paste((0, 0, 0, 0), (0, 0, SIZE[0] // 2, SIZE[1]))
    return saved(image.quantize(64, Image.Quantize.FASTOCTREE), "PNG")


def progressive_jpeg(side: int) -> bytes:
    """An even grey of any size in next to no bytes: a scan whose every block is one zero bit."""

    def segment(marker: int, body: bytes) -> bytes:
        return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body

    return b"".join(
        [
            b"\xff\xd8",
            segment(0xDB, bytes([0, *[1] * 64])),
            segment(0xC2, struct.pack(">BHHBBBB", 8, side, side, 1, 1, 0x11, 0)),
            segment(0xC4, bytes([0, 1, *[0] * 16])),
            segment(0xDA, bytes([1, 1, 0, 0, 0, 0])),
            bytes((side // 8) ** 2 // 8),
            b"\xff\xd9",
        ]
    )


def reduced_image(client: httpx.Client, data: bytes, mime_type: str) -> Image.Image | None:
    """The REDUCED level of an image page, `None` if it has none."""
    page = put(client, modality="image", content=data_uri(data, mime_type))
    assert (page["media"]["mime_type"], page["size_bytes"]) == (mime_type, len(data))
    if 1 not in page["levels"]:
        assert client.get(f"{ROUTE}/p/representations/1").status_code == 404
        return None
    record = read(client, "p/representations/1")
    small = stored_bytes(client, record["content"])
    assert len(small) == record["media"]["size_bytes"] <= len(data)
    image = Image.open(io.BytesIO(small))
    image.load()
    assert image.size == (record["media"]["width"], record["media"]["height"])
    assert max(image.size) <= LONGEST_SIDE or small == data
    return image


def difference(image: Image.Image, expected: Image.Image) -> float:
    """Return the average distance of a picture's values from the expected ones, of 255."""
    assert image.size[0] * expected.size[1] == image.size[1] * expected.size[0]
    shown, right = (
        item.convert("RGB").resize(COMPARED_AT, Image.Resampling.BOX) for item in (image, expected)
    )
    return max(ImageStat.Stat(ImageChops.difference(shown, right)).mean)


@pytest.mark.parametrize(
    ("make", "mime_type", "expected"),
    [
        (lambda: saved(picture(), "PNG"), "image/png", picture),
        (lambda: saved(picture(), "JPEG", progressive=True), "image/jpeg", picture),
        (sixteen_bit_grey, "image/png", eight_bit_grey),
        (lambda: saved(picture().convert("CMYK"), "JPEG"), "image/jpeg", picture),
        (animated, "image/gif", palette_picture),
        (rotated, "image/jpeg", lambda: picture().transpose(Image.Transpose.ROTATE_270)),
        (lambda: saved(picture().convert("1"), "PNG"), "image/png", lambda: picture().convert("L")),
        (lambda: saved(picture().convert("L"), "PNG"), "image/png", lambda: picture().convert("L")),
        (lambda: saved(palette_picture(), "PNG"), "image/png", palette_picture),
        (lambda: saved(picture(), "WEBP"), "image/webp", picture),
    ],
    ids=[
        *("rgb", "progressive", "16-bit grey", "cmyk", "animated", "rotated"),
        *("1-bit", "grey", "palette", "webp"),
    ],
)
def test_reduced_image_shows_the_same_picture(
    client: httpx.Client,
    make: Callable[[], bytes],
    mime_type: str,
    expected: Callable[[], Image.Image],
) -> None:
    image = reduced_image(client, make(), mime_type)
    assert image is not None
    upright = ImageOps.exif_transpose(image)
    assert upright.size == image.size
    assert difference(image, expected()) < MAX_DIFFERENT


def test_reduced_image_keeps_what_is_transparent(client: httpx.Client) -> None:
    image = reduced_image(client, see_through(), "image/png")
    assert image is not None
    alpha = image.convert("RGBA").getchannel("A")
    width, height = alpha.size
    quarter, rest = width // 4, width - width // 4
    assert alpha.crop((0, 0, quarter, height)).getextrema() == (0, 0)
    # A palette may round what is opaque by a shade.
    assert alpha.crop((rest, 0, width, height)).getextrema() in ((255, 255), (254, 255), (254, 254))


@pytest.mark.parametrize(
    ("make", "mime_type"),
    [
        (lambda: saved(picture(), "PNG")[:200_000], "image/png"),
        (lambda: saved(picture(), "JPEG")[:50_000], "image/jpeg"),
        (lambda: progressive_jpeg(16_000), "image/jpeg"),
    ],
    ids=["truncated png", "truncated jpeg", "16,000 progressive"],
)
def test_image_that_cannot_be_decoded_in_bounds_has_no_reduced_level(
    client: httpx.Client, make: Callable[[], bytes], mime_type: str
) -> None:
    assert reduced_image(client, make(), mime_type) is None


def test_image_that_is_too_large_to_be_made_smaller_is_shown_in_full(client: httpx.Client) -> None:
    data = progressive_jpeg(16_000)
    assert reduced_image(client, data, "image/jpeg") is None
    assert read(client, "p/blocks", level=1)["content"].startswith("Page p (image, REDUCED")
    _, image = read(client, "p/blocks")["content"]
    assert image["image_url"]["url"] == data_uri(data, "image/jpeg")


def test_progressive_image_of_a_usual_size_is_reduced(client: httpx.Client) -> None:
    image = reduced_image(client, progressive_jpeg(2_048), "image/jpeg")
    assert image is not None
    assert image.convert("L").getextrema() == (128, 128)
