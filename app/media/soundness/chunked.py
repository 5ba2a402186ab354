"""Files made of chunks with a type and a size: WebP, WAV and AIFF.

Sizes that a recorder could not know, since it wrote to a pipe, say nothing: zero, or next to the
largest there are.

Source: RIFF as WAVE and WebP (RFC 9649) use it; EBU Tech 3306 for RF64; AIFF-C.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.media.soundness.looking import DamagedError, Looking

_PICTURES = frozenset({b"VP8 ", b"VP8L", b"ANMF"})
_OPEN_SIZES = (range(0x7FFF0000, 0x80000001), range(0xFFFF0000, 0x100000000))
_RF64 = b"RF64"
# A chunk of odd size should be padded, and the padding counts in some files.
_PADDING = 1


@dataclass(frozen=True, slots=True)
class _Chunk:
    kind: bytes
    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


def judge_webp(file: Looking) -> None:
    """Judge a WebP image.

    Raises:
        DamagedError: It was cut, or has no picture.
        NotJudgedError: It is too long to be looked at.
    """
    if _whole_size(file, "little") > file.size_bytes:
        raise DamagedError("it is shorter than it says")
    for chunk in _chunks(file, "little"):
        if chunk.end > file.size_bytes:
            raise DamagedError("it ends inside of a chunk")
        if chunk.kind in _PICTURES:
            return
    raise DamagedError("it has no picture")


def judge_wav(file: Looking) -> None:
    """Judge a WAV recording: its samples have to be there.

    Raises:
        DamagedError: It was cut, or has no samples.
        NotJudgedError: It is too long to be looked at.
    """
    is_large, large_size = file.piece(0, 4) == _RF64, None
    has_format = False
    for chunk in _chunks(file, "little"):
        if chunk.kind == b"ds64" and is_large:
            large_size = int.from_bytes(file.piece(chunk.start + 8, 8), "little")
        has_format = has_format or chunk.kind == b"fmt "
        if chunk.kind == b"data":
            if not has_format:
                break
            size = chunk.size if large_size is None else large_size
            return _check_samples(file, chunk.start, size)
    raise DamagedError("it has no samples")


def judge_aiff(file: Looking) -> None:
    """Judge an AIFF recording.

    Raises:
        DamagedError: It was cut, or has no samples.
        NotJudgedError: It is too long to be looked at.
    """
    for chunk in _chunks(file, "big"):
        if chunk.kind == b"SSND":
            return _check_samples(file, chunk.start, chunk.size)
    raise DamagedError("it has no samples")


def _check_samples(file: Looking, start: int, size: int) -> None:
    is_open = size == 0 or any(size in sizes for sizes in _OPEN_SIZES)
    if not is_open and start + size > file.size_bytes + _PADDING:
        raise DamagedError("it ends before the end of its samples")


def _whole_size(file: Looking, order: Literal["little", "big"]) -> int:
    return 8 + int.from_bytes(file.piece(4, 4), order)


def _chunks(file: Looking, order: Literal["little", "big"]) -> Iterator[_Chunk]:
    at = 12
    while len(head := file.piece(at, 8)) == 8:
        file.step()
        size = int.from_bytes(head[4:], order)
        yield _Chunk(head[:4], at + 8, size)
        at += 8 + size + size % 2
