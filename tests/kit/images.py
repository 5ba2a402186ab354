"""Images of every make, made on the spot; see `tests.kit.media`."""

import io
import struct
from functools import cache

from PIL import Image, ImageChops, ImageStat

from tests.kit.media import noise_bytes

_COMPARED_AT = (64, 64)


@cache
def picture(width: int = 300, height: int = 200) -> Image.Image:
    """A picture that is nowhere like itself turned or inverted, and too rough to compress well."""
    rough = Image.frombytes("L", (width, height), noise_bytes(width * height))
    ramp = Image.linear_gradient("L")
    channels = [
        ramp.resize((width, height)),
        ramp.rotate(90).resize((width, height)),
        Image.new("L", (width, height), 40),
    ]
    return Image.merge("RGB", [Image.blend(channel, rough, 0.25) for channel in channels])


def see_through(width: int = 300, height: int = 200) -> Image.Image:
    """Return the image with a transparent left half."""
    image = picture(width, height).convert("RGBA")
    image.paste((0, 0, 0, 0), (0, 0, width // 2, height))
    return image


def saved(image: Image.Image, file_format: str, **options: object) -> bytes:
    """An image as a file."""
    out = io.BytesIO()
    image.save(out, file_format, **options)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    """A file as an image, with its pixels."""
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def difference(image: Image.Image, expected: Image.Image) -> float:
    """Return the average distance of a picture's values from the expected ones, of 255."""
    shown, right = (
        item.convert("RGB").resize(_COMPARED_AT, Image.Resampling.BOX) for item in (image, expected)
    )
    return max(ImageStat.Stat(ImageChops.difference(shown, right)).mean)


def jpeg_in_three_scans(side: int) -> bytes:
    """A grey JPEG that is not progressive and has a scan for each colour, in next to no bytes."""

    def segment(marker: int, body: bytes) -> bytes:
        return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body

    # One code, of one bit, for each table: every block is two zero bits.
    tables = [segment(0xC4, bytes([number, 1, *[0] * 16])) for number in (0x00, 0x10)]
    layers = bytes([1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0])
    blocks = bytes((side // 8) ** 2 * 2 // 8)
    scans = [segment(0xDA, bytes([1, layer, 0, 0, 63, 0])) + blocks for layer in (1, 2, 3)]
    return b"".join(
        [
            b"\xff\xd8",
            segment(0xDB, bytes([0, *[1] * 64])),
            segment(0xC0, struct.pack(">BHHB", 8, side, side, 3) + layers),
            *tables,
            *scans,
            b"\xff\xd9",
        ]
    )
