"""JPEG: every segment up to the first scan, and the end of the image behind it.

A picture inside of a segment, the thumbnail of a camera, has an end of its own; it is no end of the
file, since it comes before the first scan. Behind the end there may be anything: phones put second
pictures and videos there.

Source: ITU-T T.81, annex B.
"""

import re

from app.media.soundness.looking import DamagedError, Looking

_START_OF_SCAN, _END_OF_IMAGE = 0xDA, 0xD9
# Without a length: TEM, the restart markers, and the start of an image.
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MARK = re.compile(b"\xff")
_END = b"\xff\xd9"


def judge_jpeg(file: Looking) -> None:
    """Judge a JPEG.

    Raises:
        DamagedError: It was cut, or has no picture.
        NotJudgedError: It is too long to be looked at.
    """
    at, has_frame = 2, False
    while True:
        file.step()
        marker, at = _marker(file, at)
        if marker in _ALONE:
            continue
        if marker == _END_OF_IMAGE:
            raise DamagedError("it has no scan")
        length = int.from_bytes(file.piece(at, 2), "big")
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


def _marker(file: Looking, at: int) -> tuple[int, int]:
    """The next marker and where it ends; what stands before it is passed over, as decoders do."""
    while True:
        two = file.piece(at, 2)
        if len(two) < 2:
            raise DamagedError("it ends before its first scan")
        if two[0] == 0xFF and two[1] not in (0x00, 0xFF):
            return two[1], at + 2
        file.step()
        if two[0] == 0xFF:
            # A fill byte, or a byte of data.
            at += 1 if two[1] == 0xFF else 2
            continue
        window = file.window(at)
        found = _MARK.search(window)
        at += found.start() if found else len(window)


def _has_end(file: Looking, at: int) -> bool:
    last = b""
    while window := bytes(file.window(at)):
        if _END in window or (last == b"\xff" and window.startswith(b"\xd9")):
            return True
        last = window[-1:]
        at += len(window)
    return False
