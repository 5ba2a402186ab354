"""Width, height and playing time are read from headers, whatever is missing of the file."""

import io
import math
import struct

import pytest

from pagefault_dialects.media import headers
from pagefault_dialects.media.headers import (
    WholeFile,
    WindowedFile,
    has_duration,
    has_known_header,
    open_image,
    read_duration_hints,
    read_hints,
    read_image_hints,
    read_size_from_head,
)
from pagefault_dialects.model.resource import MediaHints
from tests.kit import media

NONE = MediaHints()


def size_of(width: int, height: int) -> MediaHints:
    return MediaHints(width=width, height=height)


def seconds(number: float) -> MediaHints:
    return MediaHints(duration_seconds=number)


def webp(kind: bytes, header: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + header


def ispe(*sizes: tuple[int, int]) -> bytes:
    return b"".join(b"ispe\0\0\0\0" + struct.pack(">II", *size) + b"\n" for size in sizes)


VP8X = webp(b"VP8X", b"\0\0\0\0" + b"\x02\x01\x03" + b"\x05\x04\x06")
VP8L = webp(b"VP8L", b"\x2f" + struct.pack("<I", 0b1111 << 28 | 700 << 14 | 500))
VP8 = webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 1 << 14 | 500, 3 << 14 | 700))
SIZES = [
    (VP8X, "image/webp", (0x30103, 0x60406)),
    (VP8L, "image/webp", (501, 701)),
    (VP8, "image/webp", (500, 700)),
    (ispe((3, 3), (4, 5), (10, 1)), "image/avif", (4, 5)),
    (ispe((0x10A0A, 2)), "image/avif", (0x10A0A, 2)),
    (b"", "image/avif", None),
    (media.png(), "image/png", None),
    (VP8, "image/png", None),
]


def test_size_is_in_the_first_bytes() -> None:
    found = [(head, kind, read_size_from_head(head, kind)) for head, kind, _ in SIZES]
    assert found == SIZES
    for head in (VP8X, VP8L, VP8):
        with pytest.raises(struct.error):
            read_size_from_head(head[:-1], "image/webp")


IMAGES = [
    *((media.image(name, 20, 10), f"image/{name.lower()}", size_of(20, 10))
      for name in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "AVIF")),
    (media.jpeg_on_its_side(20, 10), "image/jpeg", size_of(10, 20)),
    (VP8, "image/webp", size_of(500, 700)),
    (media.png_claiming(1 << 15, 1 << 15), "image/png", size_of(1 << 15, 1 << 15)),
    (media.png_claiming((1 << 15) + 1, 1 << 15), "image/png", NONE),
    (ispe((0, 9)), "image/avif", NONE),
    (ispe((9, 0)), "image/avif", NONE),
    (ispe((1, 1)), "image/avif", size_of(1, 1)),
    (media.png()[:20], "image/png", NONE),
    (b"", "image/webp", NONE),
    (media.png(), "image/jpeg", NONE),
    (media.png(), "image/heic", NONE),
]  # fmt: skip


def test_size_of_an_image_is_that_of_its_display() -> None:
    assert [(data, kind, read_image_hints(data, kind)) for data, kind, _ in IMAGES] == IMAGES


def test_damaged_chunk_beside_the_picture_does_not_matter() -> None:
    png = media.png(20, 10)
    damaged = png[:33] + b"\0\0\0\1tEXta\0\0\0\0" + png[33:]
    assert read_image_hints(damaged, "image/png") == size_of(20, 10)


def test_only_decoded_types_are_opened() -> None:
    image = open_image(io.BytesIO(media.png(20, 10)), "image/png")
    assert image is not None
    assert image.size == (20, 10)
    assert open_image(io.BytesIO(media.image("TIFF")), "image/tiff") is None
    kinds = ["image/png", "image/tiff", "image/avif", "image/svg+xml", "audio/wav"]
    assert [has_known_header(kind) for kind in kinds] == [True, True, True, False, False]
    timed = ["audio/wav", "video/x", "application/ogg", "application/pdf", "image/gif"]
    assert [has_duration(kind) for kind in timed] == [True, True, True, False, False]


def element(number: int, content: bytes) -> bytes:
    """Return an EBML element with a size of two bytes."""
    size = struct.pack(">H", 0x4000 | len(content))
    return number.to_bytes((number.bit_length() + 7) // 8) + size + content


def matroska(info: bytes, *, before: bytes = b"") -> bytes:
    inside = before + element(0x1549A966, info)
    return element(0x1A45DFA3, b"webm") + element(0x18538067, inside)


FLOAT, DOUBLE = (element(0x4489, struct.pack(layout, 2_500.0)) for layout in (">f", ">d"))
SCALE = element(0x2AD7B1, (2_000_000).to_bytes(3))
OPEN = b"\x18\x53\x80\x67\xff"
DURATIONS = [
    (matroska(DOUBLE), "video/webm", seconds(2.5)),
    (matroska(FLOAT), "audio/webm", seconds(2.5)),
    (matroska(SCALE + DOUBLE), "video/x-matroska", seconds(5)),
    (matroska(DOUBLE + SCALE), "audio/x-matroska", seconds(5)),
    (matroska(DOUBLE, before=element(0xEC, b"abc")), "video/matroska", seconds(2.5)),
    (OPEN + element(0x1549A966, DOUBLE), "video/webm", seconds(2.5)),
    (matroska(b"", before=element(0xEC, element(0x1549A966, DOUBLE))), "video/webm", NONE),
    (matroska(DOUBLE, before=element(0x1F43B675, b"abc")), "video/webm", NONE),
    (matroska(element(0x4489, b"abc")), "video/webm", NONE),
    (matroska(b""), "video/webm", NONE),
    (matroska(DOUBLE)[:-1], "video/webm", NONE),
    (b"\0", "video/webm", NONE),
    (matroska(element(0x4489, struct.pack(">d", math.nan))), "video/webm", NONE),
    (matroska(element(0x4489, struct.pack(">d", -1.0))), "video/webm", NONE),
    (matroska(element(0x4489, struct.pack(">d", 316_224e6))), "video/webm", seconds(316_224_000)),
    (matroska(element(0x4489, struct.pack(">d", 316_225e6))), "video/webm", NONE),
    (matroska(element(0x4489, struct.pack(">d", 1_234.5678))), "video/webm", seconds(1.235)),
    (bytes(48_000), "audio/pcm;rate=24000", seconds(1)),
    (bytes(32), "audio/pcm;rate=24000", seconds(0.001)),
    (b"", "audio/pcm;rate=24000", NONE),
    (media.wav(0.5), "audio/wav", seconds(0.5)),
    (media.flac(0.5), "audio/flac", seconds(0.5)),
    (media.ogg(0.5), "audio/ogg", seconds(0.5)),
    (media.mp4(0.5), "video/mp4", seconds(0.5)),
    (b"no sound", "audio/wav", NONE),
    (media.png(20, 10), "image/png", size_of(20, 10)),
    (media.wav(0.5), "image/png", NONE),
    (media.wav(0.5), "application/pdf", NONE),
]


def test_hints_of_media_are_read_from_their_bytes() -> None:
    assert [(data, kind, read_hints(data, kind)) for data, kind, _ in DURATIONS] == DURATIONS


def test_playing_time_of_ogg_needs_its_last_page() -> None:
    ogg, wav = media.ogg(0.5), media.wav(0.5)
    files = [
        (WindowedFile(ogg[:200], ogg[-1_000:], len(ogg)), "audio/ogg", seconds(0.5)),
        (WindowedFile(ogg[:200], b"", len(ogg)), "audio/ogg", NONE),
        (WindowedFile(wav[:200], b"", len(wav)), "audio/wav", seconds(0.5)),
        (WindowedFile(b"", b"", 48_000), "audio/pcm;rate=24000", seconds(1)),
    ]
    assert [(file, kind, read_duration_hints(file, kind)) for file, kind, _ in files] == files


def test_windowed_file_has_its_beginning_and_its_end() -> None:
    file = WindowedFile(b"01234", b"89", 10)
    reads = [(0, 3), (3, 3), (5, 2), (8, 1), (9, 5), (8, -1), (10, 1), (12, 1), (9, None), (0, 0)]
    found = []
    for start, size in reads:
        assert file.seek(start) == file.tell() == start
        found.append((start, size, file.read(size), file.tell(), file.has_missed_bytes))
        file.has_missed_bytes = False
    assert found == [
        *((0, 3, b"012", 3, False), (3, 3, b"34", 5, True), (5, 2, b"", 5, True)),
        *((8, 1, b"8", 9, False), (9, 5, b"9", 10, False), (8, -1, b"89", 10, False)),
        *((10, 1, b"", 10, False), (12, 1, b"", 12, False), (9, None, b"9", 10, False)),
        (0, 0, b"", 0, False),
    ]
    assert file.read() == b"01234"
    assert file.has_missed_bytes
    file.read(1)
    assert file.has_missed_bytes


def test_windowed_file_is_searched_from_either_end_and_from_the_middle() -> None:
    file = WindowedFile(b"01234", b"89", 10)
    moves = [file.seek(3), file.seek(-2, io.SEEK_CUR), file.seek(-1, io.SEEK_END), file.seek(20)]
    assert (moves, file.tell()) == ([3, 1, 9, 20], 20)
    assert file.seek(-20, io.SEEK_CUR) == 0
    with pytest.raises(OSError, match="before the beginning"):
        file.seek(-1)
    assert file.tell() == 0


def test_reads_of_a_file_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headers, "_MAX_READS", 3)
    file = WindowedFile(b"", b"", 0)
    for _ in range(3):
        file.read(1)
    with pytest.raises(EOFError, match="budget of reads"):
        file.read(1)


def test_whole_file_is_read_in_pieces_of_eight_mebibytes_at_most() -> None:
    calls: list[tuple[int, int]] = []

    def read_at(start: int, size_bytes: int) -> bytes:
        calls.append((start, size_bytes))
        return bytes(size_bytes)

    file = WholeFile(read_at, 20 << 20)
    file.seek(5)
    pieces = [len(file.read(3)), len(file.read()), file.tell()]
    assert (pieces, calls) == ([3, 8 << 20, 8 + (8 << 20)], [(5, 3), (8, 8 << 20)])
