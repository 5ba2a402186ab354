"""PNG, GIF and JPEG: whether every piece of the picture is there.

PNG: all chunks up to IEND, and the checksums of those with the picture. Decoders skip a chunk
beside the picture with a wrong checksum, and show the rest. Providers do not, so such a file is
sent without the chunk.

GIF: all blocks up to the trailer. Like decoders, this accepts a file without a trailer that ends
after a picture, and treats anything that is no block after a picture as the end.

JPEG: all segments up to the first scan, and the end of the image after it. A picture inside of a
segment, such as a thumbnail, has an end marker of its own, before the first scan. Anything may
follow the end: phones append further pictures and videos.

Source: PNG, third edition, 5.3 "Chunk layout" and 13.3 "Error checking"; GIF89a, sections 17 to 27;
ITU-T T.81, annex B.
"""

import re
import struct
import zlib

from pagefault_dialects.media.soundness.bounded_reader import BoundedReader, DamagedError
from pagefault_dialects.model.resource import Damage, MediaHints

_PNG_HEADER = b"\x89PNG\r\n\x1a\n"
_LARGEST_CHUNK = 2**31 - 1
_ANCILLARY = 0x20
_ANIMATION = frozenset({b"acTL", b"fcTL", b"fdAT"})
_MAX_CHUNKS = 100_000

_GIF_HEADER_BYTES = 13
_EXTENSION, _IMAGE, _PADDING = 0x21, 0x2C, 0x00
_HAS_COLOURS = 0x80
# Skipping a sub-block takes a fraction of the time of any other structure.
_BLOCKS_IN_A_STEP = 10

_START_OF_SCAN, _END_OF_IMAGE = 0xDA, 0xD9
# Markers without a length: TEM, the restart markers, and the start of an image.
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MARK = re.compile(b"\xff")
_END = b"\xff\xd9"


def check_png(file: BoundedReader) -> Damage | None:
    """Return the damage of a PNG.

    Raises:
        DamagedError: It was cut, or its picture is damaged.
        TooComplexError: It is too long to be checked.
    """
    at, size = len(_PNG_HEADER), (0, 0)
    wrong: list[str] = []
    has_pixels = False
    while True:
        file.step()
        length, kind = _chunk(file, at)
        if not size[0] and (kind, length) != (b"IHDR", 13):
            raise DamagedError("it does not begin with an IHDR chunk")
        end = at + 12 + length
        if end > file.size_bytes:
            raise DamagedError(f"it ends inside of its {kind.decode()} chunk")
        if not size[0]:
            size = struct.unpack(">II", file.read(at + 8, 8))
        if not _is_checked(file, at, length):
            if not kind[0] & _ANCILLARY:
                raise DamagedError(f"the checksum of a {kind.decode()} chunk is wrong")
            wrong.append(kind.decode())
        if kind == b"IEND":
            break
        has_pixels = has_pixels or kind == b"IDAT"
        at = end
    if not has_pixels:
        raise DamagedError("it has no IDAT chunk")
    if not wrong:
        return None
    detail = f"The checksum of its {wrong[0]} chunk is wrong; the picture itself is whole."
    return Damage("damaged-media", detail, is_repairable=True, hints=MediaHints(*size))


def without_damaged_chunks(data: bytes) -> bytes:
    """Return a PNG without the chunks beside its picture that have wrong checksums.

    If one of them belongs to an animation, all its chunks are removed. Other files are returned
    unchanged.
    """
    if not data.startswith(_PNG_HEADER):
        return data
    spans: list[tuple[int, int, bytes]] = []
    damaged: set[int] = set()
    at = len(_PNG_HEADER)
    while at + 12 <= len(data) and len(spans) < _MAX_CHUNKS:
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        if end > len(data):
            break
        if kind[0] & _ANCILLARY and not _has_checksum(memoryview(data)[at + 4 : end]):
            damaged.add(len(spans))
        spans.append((at, end, kind))
        at = end
        if kind == b"IEND":
            break
    if not damaged:
        return data
    lost = {spans[index][2] for index in damaged}
    left_out = _ANIMATION if lost & _ANIMATION else frozenset()
    kept = [
        data[start:end]
        for index, (start, end, kind) in enumerate(spans)
        if index not in damaged and kind not in left_out
    ]
    return b"".join([_PNG_HEADER, *kept, data[at:]])


def _chunk(file: BoundedReader, at: int) -> tuple[int, bytes]:
    head = file.read(at, 8)
    if len(head) < 8:
        raise DamagedError("it ends before its IEND chunk")
    length, kind = int.from_bytes(head[:4], "big"), head[4:]
    if length > _LARGEST_CHUNK or not (kind.isalpha() and kind.isascii()):
        raise DamagedError("there is something else in the place of a chunk")
    return length, kind


def _is_checked(file: BoundedReader, at: int, length: int) -> bool:
    """Return whether the checksum of a chunk is right, reading it in pieces."""
    if length < 4_096:
        return _has_checksum(memoryview(file.read(at + 4, length + 8)))
    checksum, remaining, start = 0, length + 4, at + 4
    while remaining:
        window = file.read_buffered(start)[:remaining]
        checksum = zlib.crc32(window, checksum)
        remaining -= len(window)
        start += len(window)
    return checksum == int.from_bytes(file.read(start, 4), "big")


def _has_checksum(typed: memoryview) -> bool:
    return zlib.crc32(typed[:-4]) == int.from_bytes(typed[-4:], "big")


def check_gif(file: BoundedReader) -> None:
    """Check a GIF.

    Raises:
        DamagedError: It was cut, or has no picture.
        TooComplexError: It is too long to be checked.
    """
    at = _GIF_HEADER_BYTES + _colours(file.read(10, 1))
    pictures = 0
    while True:
        file.step()
        introducer = file.read(at, 1)
        if not introducer:
            break
        if introducer[0] == _EXTENSION:
            at = _past_blocks(file, at + 2)
        elif introducer[0] == _IMAGE:
            colours = _colours(file.read(at + 9, 1))
            # One byte has the length of the codes.
            at = _past_blocks(file, at + 10 + colours + 1)
            pictures += 1
        elif introducer[0] == _PADDING:
            at += 1
        else:
            break
    if not pictures:
        raise DamagedError("it has no picture")


def _colours(packed: bytes) -> int:
    """Return the size in bytes of the colour table that a packed byte declares."""
    if not packed:
        raise DamagedError("it ends inside of a header")
    return 3 << ((packed[0] & 7) + 1) if packed[0] & _HAS_COLOURS else 0


def _past_blocks(file: BoundedReader, at: int) -> int:
    """Return the end of the sub-blocks that begin at `at`."""
    while True:
        window = file.read_buffered(at)
        if not window:
            raise DamagedError("it ends inside of a block")
        here, length, blocks = 0, len(window), 0
        while here < length:
            size = window[here]
            here += size + 1
            blocks += 1
            if not size:
                return at + here
        file.step(1 + blocks // _BLOCKS_IN_A_STEP)
        at += here


def check_jpeg(file: BoundedReader) -> None:
    """Check a JPEG.

    Raises:
        DamagedError: It was cut, or has no picture.
        TooComplexError: It is too long to be checked.
    """
    at, has_frame = 2, False
    while True:
        file.step()
        marker, at = _marker(file, at)
        if marker in _ALONE:
            continue
        if marker == _END_OF_IMAGE:
            raise DamagedError("it has no scan")
        length = int.from_bytes(file.read(at, 2), "big")
        if length < 2 and at + 2 <= file.size_bytes:
            raise DamagedError("one of its segments has no length")
        at += length
        if at >= file.size_bytes:
            raise DamagedError("it ends before its first scan")
        has_frame = has_frame or marker in _FRAMES
        if marker == _START_OF_SCAN:
            break
    if not has_frame:
        raise DamagedError("it has no frame header")
    if not _has_end(file, at):
        raise DamagedError("it ends before the end of its picture")


def _marker(file: BoundedReader, at: int) -> tuple[int, int]:
    """Return the next marker and its end, skipping bytes before it, as decoders do."""
    while True:
        two = file.read(at, 2)
        if len(two) < 2:
            raise DamagedError("it ends before its first scan")
        if two[0] == 0xFF and two[1] not in (0x00, 0xFF):
            return two[1], at + 2
        file.step()
        if two[0] == 0xFF:
            # A fill byte, or a byte of data.
            at += 1 if two[1] == 0xFF else 2
            continue
        window = file.read_buffered(at)
        found = _MARK.search(window)
        at += found.start() if found else len(window)


def _has_end(file: BoundedReader, at: int) -> bool:
    last = b""
    while window := bytes(file.read_buffered(at)):
        if _END in window or (last == b"\xff" and window.startswith(b"\xd9")):
            return True
        last = window[-1:]
        at += len(window)
    return False
