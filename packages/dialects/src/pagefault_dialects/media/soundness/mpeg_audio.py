"""Check that an MP3 file is not cut.

An MP3 is a sequence of frames, each with a header that determines the frame's length. The first
frame may have the number of bytes of all frames (`Xing` or `Info`), which is compared with the size
of the file. The end of the file is searched for consecutive frames: if the last one is longer than
the rest of the file, the file was cut. Other bytes after the frames, such as tags, are ignored.

Source: ISO/IEC 11172-3, 2.4.1.3 and 2.4.2.3; ISO/IEC 13818-3; ID3v2; the `Xing` header as LAME
writes it.
"""

from pagefault_dialects.media.soundness.bounded_reader import BoundedReader, DamagedError

_TAIL_BYTES = 16 * 1024
_HEAD_BYTES = 256
# This many frames in a row are no coincidence.
_MIN_FRAMES = 3
# The number of bytes may or may not include tags, and is not updated when tags are removed.
_TOLERANCE_BYTES = 4_096
_HAS_TOTAL_BYTES = 0x2
_TAG = b"TAG"
_TAG_BYTES = 128

_NOT_SECOND_BYTES = frozenset(bytes([byte]) for byte in range(0xE0))

_KBITS = {
    (1, 1): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (1, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (1, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (2, 1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (2, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (2, 3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_RATES = (44_100, 48_000, 32_000)


def check_mp3(file: BoundedReader) -> None:
    """Check an MP3 file.

    Raises:
        DamagedError: It was cut.
    """
    start = _find_first_frame(file)
    if start >= file.size_bytes:
        raise DamagedError("it ends before its first frame")
    total = _read_total_bytes(file.read(start, _HEAD_BYTES))
    if total is not None and start + total > file.size_bytes + _TOLERANCE_BYTES:
        raise DamagedError("it is shorter than it says")
    position = max(start, file.size_bytes - _TAIL_BYTES)
    tail = file.read(position, _TAIL_BYTES)
    if tail[-_TAG_BYTES:].startswith(_TAG):
        return
    if _ends_inside_frame(tail, min_frames=1 if position == start else _MIN_FRAMES):
        raise DamagedError("it ends inside of a frame")


def _find_first_frame(file: BoundedReader) -> int:
    """Return the position of the first frame, behind an ID3 tag."""
    head = file.read(0, 10)
    if not head.startswith(b"ID3"):
        return 0
    size = 0
    for byte in head[6:10]:
        size = size << 7 | byte & 0x7F
    return 10 + size


def _read_total_bytes(head: bytes) -> int | None:
    """Return the number of bytes of all frames, as the first frame declares it, if it does."""
    if find_frame_length(head) is None:
        return None
    for mark in (b"Xing", b"Info"):
        position = head.find(mark)
        if position >= 0:
            flags = int.from_bytes(head[position + 4 : position + 8], "big")
            # The number of frames comes first, if the first flag is set.
            start = position + 8 + 4 * (flags & 1)
            field = head[start : start + 4]
            is_present = flags & _HAS_TOTAL_BYTES and len(field) == 4
            return int.from_bytes(field, "big") if is_present else None
    return None


def _ends_inside_frame(tail: bytes, *, min_frames: int) -> bool:
    """Return whether the end of a file is cut inside of a frame.

    Args:
        tail: The last bytes of the file.
        min_frames: The number of consecutive frames from which bytes are taken for frames.
    """
    start = tail.find(0xFF)
    while start >= 0:
        position, frames = start, 0
        while (size := find_frame_length(tail[position : position + 4])) is not None:
            position += size
            frames += 1
        if frames >= min_frames:
            # The last bytes may be an incomplete header of one more frame.
            rest = tail[position:]
            is_header = rest[:1] == b"\xff" and rest[1:2] not in _NOT_SECOND_BYTES
            return position > len(tail) or (len(rest) < 4 and is_header)
        start = tail.find(0xFF, start + 1)
    return False


def find_frame_length(header: bytes) -> int | None:
    """Return the length of the frame with a header.

    Return `None` for bytes that are not a header, and for a free bit rate, which has no length.
    """
    if len(header) < 4 or header[0] != 0xFF or header[1] < 0xE0:
        return None
    version_bits, layer_bits = header[1] >> 3 & 3, header[1] >> 1 & 3
    rate_index, kbits_index = header[2] >> 2 & 3, header[2] >> 4
    if version_bits == 1 or layer_bits == 0 or rate_index == 3 or not 0 < kbits_index < 15:
        return None
    version, layer, padding = 1 if version_bits == 3 else 2, 4 - layer_bits, header[2] >> 1 & 1
    rate = _RATES[rate_index] // {3: 1, 2: 2, 0: 4}[version_bits]
    bits = _KBITS[version, layer][kbits_index - 1] * 1_000
    if layer == 1:
        return (12 * bits // rate + padding) * 4
    slots = 72 if layer == 3 and version == 2 else 144
    return slots * bits // rate + padding
