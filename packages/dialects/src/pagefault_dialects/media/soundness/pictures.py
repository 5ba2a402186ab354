"""Check that PNG, GIF and JPEG files have their whole picture.

PNG: all chunks up to IEND have to be there, and the chunks of the picture need the right checksum.
If an ancillary chunk has a wrong checksum, decoders skip it and show the picture. Providers refuse
the file, so it is sent without that chunk.

GIF: all blocks of at least one picture have to be there. Like decoders, the check accepts files
without a trailer, and ends at bytes that are not a block.

JPEG: all segments up to the first scan have to be there, and an end marker behind it. Thumbnails in
segments have end markers too, but before the first scan. Other bytes may follow: phones append
further pictures and videos.

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
# The bit of a chunk's type that says that decoders may skip the chunk.
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
_MARKERS_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
_FRAME_HEADERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MARKER_START = re.compile(b"\xff")
_END_MARKER = b"\xff\xd9"


def check_png(file: BoundedReader) -> Damage | None:
    """Return the damage of a PNG; `None` if it is sound.

    Raises:
        DamagedError: It was cut, or its picture is damaged.
        TooComplexError: It is too long to be checked.
    """
    position, size = len(_PNG_HEADER), (0, 0)
    damaged_types: list[str] = []
    has_pixels = False
    while True:
        file.count_step()
        length, chunk_type = _read_chunk(file, position)
        if not size[0] and (chunk_type, length) != (b"IHDR", 13):
            raise DamagedError("it does not begin with an IHDR chunk")
        end = position + 12 + length
        if end > file.size_bytes:
            raise DamagedError(f"it ends inside of its {chunk_type.decode()} chunk")
        if not size[0]:
            size = struct.unpack(">II", file.read(position + 8, 8))
        if not _is_chunk_intact(file, position, length):
            if not chunk_type[0] & _ANCILLARY:
                raise DamagedError(f"the checksum of a {chunk_type.decode()} chunk is wrong")
            damaged_types.append(chunk_type.decode())
        if chunk_type == b"IEND":
            break
        has_pixels = has_pixels or chunk_type == b"IDAT"
        position = end
    if not has_pixels:
        raise DamagedError("it has no IDAT chunk")
    if not damaged_types:
        return None
    detail = f"The checksum of its {damaged_types[0]} chunk is wrong; the picture itself is whole."
    return Damage("damaged-media", detail, is_repairable=True, hints=MediaHints(*size))


def without_damaged_chunks(data: bytes) -> bytes:
    """Return a PNG without its ancillary chunks that have wrong checksums.

    If one of them belongs to an animation, all chunks of the animation are removed. Other files are
    returned unchanged.
    """
    if not data.startswith(_PNG_HEADER):
        return data
    spans: list[tuple[int, int, bytes]] = []
    damaged: set[int] = set()
    position = len(_PNG_HEADER)
    while position + 12 <= len(data) and len(spans) < _MAX_CHUNKS:
        length, chunk_type = struct.unpack_from(">I4s", data, position)
        end = position + 12 + length
        if end > len(data):
            break
        checked = memoryview(data)[position + 4 : end]
        if chunk_type[0] & _ANCILLARY and not _has_valid_checksum(checked):
            damaged.add(len(spans))
        spans.append((position, end, chunk_type))
        position = end
        if chunk_type == b"IEND":
            break
    if not damaged:
        return data
    lost_types = {spans[index][2] for index in damaged}
    dropped_types = _ANIMATION if lost_types & _ANIMATION else frozenset()
    sound_chunks = [
        data[start:end]
        for index, (start, end, chunk_type) in enumerate(spans)
        if index not in damaged and chunk_type not in dropped_types
    ]
    return b"".join([_PNG_HEADER, *sound_chunks, data[position:]])


def _read_chunk(file: BoundedReader, position: int) -> tuple[int, bytes]:
    head = file.read(position, 8)
    if len(head) < 8:
        raise DamagedError("it ends before its IEND chunk")
    length, chunk_type = int.from_bytes(head[:4], "big"), head[4:]
    if length > _LARGEST_CHUNK or not (chunk_type.isalpha() and chunk_type.isascii()):
        raise DamagedError("there is something else in the place of a chunk")
    return length, chunk_type


def _is_chunk_intact(file: BoundedReader, position: int, length: int) -> bool:
    """Return whether the checksum of a chunk is right; long chunks are read in pieces."""
    if length < 4_096:
        return _has_valid_checksum(memoryview(file.read(position + 4, length + 8)))
    checksum, remaining, start = 0, length + 4, position + 4
    while remaining:
        window = file.read_buffered(start)[:remaining]
        checksum = zlib.crc32(window, checksum)
        remaining -= len(window)
        start += len(window)
    return checksum == int.from_bytes(file.read(start, 4), "big")


def _has_valid_checksum(checked: memoryview) -> bool:
    """Return whether the last four bytes are the checksum of the others: type and content."""
    return zlib.crc32(checked[:-4]) == int.from_bytes(checked[-4:], "big")


def check_gif(file: BoundedReader) -> None:
    """Check a GIF.

    Raises:
        DamagedError: It was cut, or has no picture.
        TooComplexError: It is too long to be checked.
    """
    position = _GIF_HEADER_BYTES + _read_colour_table_size(file.read(10, 1))
    pictures = 0
    while True:
        file.count_step()
        introducer = file.read(position, 1)
        if not introducer:
            break
        if introducer[0] == _EXTENSION:
            position = _skip_sub_blocks(file, position + 2)
        elif introducer[0] == _IMAGE:
            colours = _read_colour_table_size(file.read(position + 9, 1))
            # A byte with the code length precedes the sub-blocks.
            position = _skip_sub_blocks(file, position + 10 + colours + 1)
            pictures += 1
        elif introducer[0] == _PADDING:
            position += 1
        else:
            break
    if not pictures:
        raise DamagedError("it has no picture")


def _read_colour_table_size(packed: bytes) -> int:
    """Return the size in bytes of the colour table that a packed byte declares."""
    if not packed:
        raise DamagedError("it ends inside of a header")
    return 3 << ((packed[0] & 7) + 1) if packed[0] & _HAS_COLOURS else 0


def _skip_sub_blocks(file: BoundedReader, position: int) -> int:
    """Return the end of the sub-blocks that begin at `position`."""
    while True:
        window = file.read_buffered(position)
        if not window:
            raise DamagedError("it ends inside of a block")
        offset, blocks = 0, 0
        while offset < len(window):
            size = window[offset]
            offset += size + 1
            blocks += 1
            if not size:
                return position + offset
        file.count_step(1 + blocks // _BLOCKS_IN_A_STEP)
        position += offset


def check_jpeg(file: BoundedReader) -> None:
    """Check a JPEG.

    Raises:
        DamagedError: It was cut, or has no picture.
        TooComplexError: It is too long to be checked.
    """
    position, has_frame = 2, False
    while True:
        file.count_step()
        marker, position = _read_marker(file, position)
        if marker in _MARKERS_WITHOUT_LENGTH:
            continue
        if marker == _END_OF_IMAGE:
            raise DamagedError("it has no scan")
        length = int.from_bytes(file.read(position, 2), "big")
        if length < 2 and position + 2 <= file.size_bytes:
            raise DamagedError("one of its segments has no length")
        position += length
        if position >= file.size_bytes:
            raise DamagedError("it ends before its first scan")
        has_frame = has_frame or marker in _FRAME_HEADERS
        if marker == _START_OF_SCAN:
            break
    if not has_frame:
        raise DamagedError("it has no frame header")
    if not _has_end_marker(file, position):
        raise DamagedError("it ends before the end of its picture")


def _read_marker(file: BoundedReader, position: int) -> tuple[int, int]:
    """Return the next marker, and the position behind it. Bytes before it are skipped."""
    while True:
        pair = file.read(position, 2)
        if len(pair) < 2:
            raise DamagedError("it ends before its first scan")
        if pair[0] == 0xFF and pair[1] not in (0x00, 0xFF):
            return pair[1], position + 2
        file.count_step()
        if pair[0] == 0xFF:
            # 0xFF may be a fill byte before a marker. With 0x00 behind it, it is data.
            position += 1 if pair[1] == 0xFF else 2
            continue
        window = file.read_buffered(position)
        found = _MARKER_START.search(window)
        position += found.start() if found else len(window)


def _has_end_marker(file: BoundedReader, position: int) -> bool:
    """Return whether there is an end marker behind a position."""
    last = b""
    while window := bytes(file.read_buffered(position)):
        if _END_MARKER in window or (last == b"\xff" and window.startswith(b"\xd9")):
            return True
        last = window[-1:]
        position += len(window)
    return False
