"""Images that are small as files and large as pixels."""

import io
import struct
import zlib
from collections.abc import Callable
from functools import partial

from PIL import Image

from tests.kit import media
from tests.kit.images import jpeg_in_three_scans, saved

MIB = 1024 * 1024


def png_of(side: int) -> bytes:
    """A black and white PNG, whole and valid, of any size in next to no bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    packed = zlib.compressobj(9)
    row = bytes(1 + side // 8)
    pixels = b"".join([*(packed.compress(row) for _ in range(side)), packed.flush()])
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def text_in_png(size_bytes: int) -> bytes:
    """A small PNG with a compressed text of so many bytes."""
    note = b"a\0\0" + zlib.compress(bytes(size_bytes), 9)
    chunk = (
        struct.pack(">I", len(note))
        + b"zTXt"
        + note
        + struct.pack(">I", zlib.crc32(b"zTXt" + note))
    )
    whole = media.png()
    return whole[:33] + chunk + whole[33:]


def frames(count: int) -> bytes:
    """An animation of many frames."""
    out = io.BytesIO()
    first, *others = [Image.new("L", (256, 256), number % 255) for number in range(count)]
    first.save(out, "GIF", save_all=True, append_images=others)
    return out.getvalue()


def tiff_of(side: int) -> bytes:
    """A black and white TIFF of any size, packed as fax machines do."""
    return saved(Image.new("1", (side, side)), "TIFF", compression="group4")


def jpeg_of_scans(side: int, scans: int) -> bytes:
    """A progressive JPEG whose last scan is repeated until it has so many."""
    whole = saved(
        Image.linear_gradient("L").resize((side, side)).convert("RGB"),
        "JPEG",
        progressive=True,
        quality=30,
    )
    last, end = whole.rindex(b"\xff\xda"), len(whole) - 2
    return whole[:end] + whole[last:end] * (scans - whole.count(b"\xff\xda")) + whole[end:]


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "png of 400 megapixels": (partial(png_of, 20_000), "image/png"),
    "png that claims 10 gigapixels": (partial(media.png_claiming, 100_000, 100_000), "image/png"),
    "png with 128 MiB of text": (partial(text_in_png, 128 * MIB), "image/png"),
    "jpeg of three scans": (partial(jpeg_in_three_scans, 8_192), "image/jpeg"),
    "jpeg of 2000 scans": (partial(jpeg_of_scans, 2_500, 2_000), "image/jpeg"),
    "tiff of 100 megapixels": (partial(tiff_of, 10_000), "image/tiff"),
    "gif of 300 frames": (partial(frames, 300), "image/gif"),
}
