"""MP3: the length in its first frame, and whether its last frame is whole.

An MP3 is a sequence of frames, each with a header that has its length. The first one may have the
number of bytes of all frames (`Xing` or `Info`). The last one is searched in the last kilobytes: if
consecutive frames end with one that exceeds the file, the file was cut. Data after the frames, such
as tags, is skipped, and so are files of other frames.

Source: ISO/IEC 11172-3, 2.4.1.3 and 2.4.2.3; ISO/IEC 13818-3; ID3v2; the `Xing` header as LAME
writes it.
"""

from pagefault_dialects.media.soundness.bounded_reader import BoundedReader, DamagedError

_TAIL_BYTES = 16 * 1024
_HEAD_BYTES = 256
# This many frames in a row are no coincidence.
_LEAST_FRAMES = 3
# Tags may be counted or not, and programs that remove them keep the number.
_TOLERANCE_BYTES = 4_096
_TOLD_BYTES = 0x2
_TAG = b"TAG"
_TAG_BYTES = 128

_NO_HEADERS = frozenset(bytes([byte]) for byte in range(0xE0))

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
    start = _first_frame(file)
    if start >= file.size_bytes:
        raise DamagedError("it ends before its first frame")
    total = _frame_bytes(file.read(start, _HEAD_BYTES))
    if total is not None and start + total > file.size_bytes + _TOLERANCE_BYTES:
        raise DamagedError("it is shorter than it says")
    at = max(start, file.size_bytes - _TAIL_BYTES)
    tail = file.read(at, _TAIL_BYTES)
    if tail[-_TAG_BYTES:].startswith(_TAG):
        return
    if _ends_inside(tail, least=1 if at == start else _LEAST_FRAMES):
        raise DamagedError("it ends inside of a frame")


def _first_frame(file: BoundedReader) -> int:
    head = file.read(0, 10)
    if not head.startswith(b"ID3"):
        return 0
    size = 0
    for byte in head[6:10]:
        size = size << 7 | byte & 0x7F
    return 10 + size


def _frame_bytes(head: bytes) -> int | None:
    """Return the number of bytes of all frames that the first frame has."""
    if frame_bytes(head) is None:
        return None
    for mark in (b"Xing", b"Info"):
        at = head.find(mark)
        if at >= 0:
            flags = int.from_bytes(head[at + 4 : at + 8], "big")
            # The number of frames precedes it, if present.
            place = at + 8 + 4 * (flags & 1)
            field = head[place : place + 4]
            return int.from_bytes(field, "big") if flags & _TOLD_BYTES and len(field) == 4 else None
    return None


def _ends_inside(tail: bytes, *, least: int) -> bool:
    """Return whether at least so many consecutive frames end with an incomplete one."""
    start = tail.find(0xFF)
    while start >= 0:
        at, frames = start, 0
        while (size := frame_bytes(tail[at : at + 4])) is not None:
            at += size
            frames += 1
        if frames >= least:
            # An incomplete header is the beginning of one more frame.
            begun = tail[at:]
            may_begin = len(begun) < 4 and begun[:1] == b"\xff" and begun[1:2] not in _NO_HEADERS
            return at > len(tail) or may_begin
        start = tail.find(0xFF, start + 1)
    return False


def frame_bytes(header: bytes) -> int | None:
    """Return the length of a frame, by its header; `None` for other bytes or a free bit rate."""
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
