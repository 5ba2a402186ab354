"""The cost of decoding an image, estimated before it is decoded."""

import io
import struct

import pytest

from pagefault_dialects.media.decoding_cost import (
    DecodingCost,
    count_passes,
    count_scans,
    estimate_decoding_cost,
    is_decoded_in_rows,
)
from pagefault_dialects.media.headers import open_image
from tests.kit import media
from tests.kit.bombs import frames, jpeg_of_scans
from tests.kit.images import jpeg_in_three_scans, picture, saved, see_through

ROWS = saved(picture(), "JPEG")
PROGRESSIVE = saved(picture(), "JPEG", progressive=True)
PIXELS = 300 * 200
# The smaller image and its file.
OUTPUT = 9 * PIXELS


def passes_of(data: bytes, mime_type: str) -> int:
    image = open_image(io.BytesIO(data), mime_type)
    assert image is not None
    return count_passes(image, data)


def scan(marker: int = 0xDA, data: bytes = b"\x12\xff\x00\x34") -> bytes:
    return struct.pack(">BBH", 0xFF, marker, 8) + bytes([1, 1, 0, 0, 63, 0]) + data


def segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


@pytest.mark.parametrize(
    ("data", "mime_type", "passes"),
    [
        (ROWS, "image/jpeg", 1),
        (PROGRESSIVE, "image/jpeg", 10),
        (jpeg_of_scans(300, 2_000), "image/jpeg", 2_000),
        (jpeg_in_three_scans(64), "image/jpeg", 3),
        (saved(picture(), "PNG"), "image/png", 1),
        (frames(3), "image/gif", 1),
    ],
    ids=["rows", "progressive", "2000 scans", "a scan for each colour", "png", "gif of 3 frames"],
)
def test_passes_over_the_pixels_are_counted(data: bytes, mime_type: str, passes: int) -> None:
    assert passes_of(data, mime_type) == passes


@pytest.mark.parametrize(
    ("tail", "scans"),
    [
        (scan(), 1),
        (scan() * 3, 3),
        (scan(data=b"\xff\xff\xff\x00\xff\xd0\xff\xd7") * 2, 2),
        (b"\xff\xff" + scan(), 1),
        (segment(0xE1, scan() * 5) + scan(), 1),
        (scan() + b"\xff\xd9" + scan() * 5, 1),
        # A decoder that searches a restart marker skips other bytes one by one.
        (scan() + b"\xff\x02\x00\x20" + scan(), 2),
        (scan() + b"\xff\xfe\x00\x00" + scan(), 2),
        (scan()[:-3], 1),
        (b"", 0),
    ],
    ids=[
        *("one", "three", "stuffed bytes and restarts", "fill bytes", "a thumbnail"),
        *("behind the end", "no marker", "no length", "cut", "nothing"),
    ],
)
def test_scans_are_found_as_a_decoder_finds_them(tail: bytes, scans: int) -> None:
    assert count_scans(b"\xff\xd8" + tail) == scans


@pytest.mark.parametrize(
    ("data", "mime_type", "bytes_per_pixel"),
    [
        (ROWS, "image/jpeg", 5),
        (PROGRESSIVE, "image/jpeg", 10),
        (saved(picture().convert("CMYK"), "JPEG", progressive=True), "image/jpeg", 12),
        (saved(picture(), "PNG"), "image/png", 6),
        (saved(see_through(), "PNG"), "image/png", 11),
        (saved(picture().quantize(64), "GIF"), "image/gif", 11),
        (saved(picture(), "WEBP"), "image/webp", 20),
        (saved(picture(), "WEBP")[:1_000], "image/webp", 20),
        # The bytes decide the type.
        (saved(picture(), "WEBP"), "image/png", 20),
    ],
    ids=[
        "rows",
        "progressive",
        "cmyk",
        "png",
        "transparent",
        "gif",
        "webp",
        "beginning",
        "called a png",
    ],
)
def test_cost_is_in_the_header(data: bytes, mime_type: str, bytes_per_pixel: int) -> None:
    memory_bytes = bytes_per_pixel * PIXELS + OUTPUT
    cost = estimate_decoding_cost(data, mime_type, max_pixels=10**6)
    assert cost == DecodingCost(PIXELS, memory_bytes, is_bounded=True)


def test_header_of_an_avif_does_not_bound_its_cost() -> None:
    cost = estimate_decoding_cost(saved(picture(), "AVIF"), "image/avif", max_pixels=10**6)
    assert cost == DecodingCost(PIXELS, 20 * PIXELS + OUTPUT, is_bounded=False)


def test_image_of_too_many_pixels_is_not_decoded() -> None:
    cost = estimate_decoding_cost(media.png_claiming(50_000, 50_000), "image/png", max_pixels=10**6)
    assert cost == DecodingCost(50_000**2, 6 * 10**6 + 27 * 10**6, is_bounded=True)


@pytest.mark.parametrize("mime_type", ["image/png", "image/tiff", "application/pdf"])
def test_file_without_a_readable_header_has_no_cost(mime_type: str) -> None:
    assert estimate_decoding_cost(b"nothing", mime_type, max_pixels=10**6) is None


def test_jpeg_that_is_cut_in_its_first_scan_is_read_in_rows() -> None:
    image = open_image(io.BytesIO(ROWS[:2_000]), "image/jpeg")
    assert image is not None
    assert is_decoded_in_rows(image, ROWS[:2_000])
