"""ISO media files and QuickTime: the boxes of the outermost level, by their sizes alone.

A video is gone through in hops, from the header of one box to that of the next, however large they
are. What overruns the file behind the header and the media is passed over, as players do.

Source: ISO/IEC 14496-12, 4.2; QuickTime File Format, "Atoms".
"""

from app.media.soundness.looking import DamagedError, Looking

_HEADER, _FRAGMENT, _PICTURES = b"moov", b"moof", b"meta"
_MEDIA, _INSIDE = frozenset({b"mdat", b"imda"}), b"idat"
_LARGE, _TO_THE_END = 1, 0
_LEAST_BYTES = 8
_LONGEST_LOOK = 1024 * 1024


def judge_recording(file: Looking) -> None:
    """Judge an MP4, QuickTime or 3GPP file.

    Raises:
        DamagedError: It was cut, or cannot be played.
        NotJudgedError: It has too many boxes.
    """
    _judge(file, _HEADER, "moov")


def judge_picture(file: Looking) -> None:
    """Judge an AVIF or HEIF image.

    Raises:
        DamagedError: It was cut, or has no picture.
        NotJudgedError: It has too many boxes.
    """
    _judge(file, _PICTURES, "meta")


def _judge(file: Looking, header: bytes, name: str) -> None:
    at, has_header, has_media = 0, False, False
    while at < file.size_bytes:
        file.step()
        kind, size = _box(file, at)
        is_whole = has_header and has_media
        if size < _LEAST_BYTES:
            # Bytes that are no box; what comes behind a whole file does not matter.
            if is_whole:
                return
            raise DamagedError("there is something else in the place of a box")
        matters = kind in _MEDIA or kind in (header, _FRAGMENT)
        if at + size > file.size_bytes and (matters or not is_whole):
            raise DamagedError(f"it ends inside of its {_spelled(kind)} box")
        has_header = has_header or kind == header
        has_media = has_media or kind in _MEDIA
        if kind == _PICTURES == header:
            # Small pictures are kept in the box that says what they are.
            has_media = has_media or _INSIDE in file.piece(at, min(size, _LONGEST_LOOK))
        at += size
    if not has_header:
        raise DamagedError(f"it has no {name} box")
    if not has_media:
        raise DamagedError("there is nothing behind its header")


def _box(file: Looking, at: int) -> tuple[bytes, int]:
    """The type and the size of a box, with its header; a size below 8 for what is none."""
    head = file.piece(at, 16)
    if len(head) < 8:
        return b"", 0
    size, kind = int.from_bytes(head[:4], "big"), head[4:8]
    if size == _LARGE:
        size = int.from_bytes(head[8:16], "big")
        return kind, size if size >= 16 else 0
    if size == _TO_THE_END and kind != bytes(4):
        return kind, file.size_bytes - at
    return kind, size


def _spelled(kind: bytes) -> str:
    return kind.decode("ascii") if kind.isalnum() and kind.isascii() else "last"
