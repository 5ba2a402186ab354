"""PNG: every chunk up to IEND, and the checksums of those that hold the picture.

Decoders leave out a chunk beside the picture whose checksum is wrong, and show the rest. Providers
do not, so such a file is shown without it.

Source: PNG, third edition, 5.3 "Chunk layout" and 13.3 "Error checking".
"""

import struct
import zlib

from app.media.soundness.looking import DamagedError, Looking
from app.models.damage import Damage
from app.models.resource import MediaHints

_SIGNATURE_BYTES = 8
_LARGEST_CHUNK = 2**31 - 1
_ANCILLARY = 0x20
_ANIMATION = frozenset({b"acTL", b"fcTL", b"fdAT"})
_MOST_CHUNKS = 100_000


def judge_png(file: Looking) -> Damage | None:
    """Return what is wrong with a PNG.

    Raises:
        DamagedError: It was cut, or its picture is damaged.
        NotJudgedError: It is too long to be looked at.
    """
    at, size = _SIGNATURE_BYTES, (0, 0)
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
            size = struct.unpack(">II", file.piece(at + 8, 8))
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
    return _repairable(wrong[0], size) if wrong else None


def without_damaged_chunks(data: bytes) -> bytes:
    """Return a PNG without the chunks beside its picture that have wrong checksums.

    Where one of an animation is among them, all of them go. What is no PNG comes back as it is.
    """
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        return data
    spans: list[tuple[int, int, bytes]] = []
    damaged: set[int] = set()
    at = _SIGNATURE_BYTES
    while at + 12 <= len(data) and len(spans) < _MOST_CHUNKS:
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
    return b"".join([data[:_SIGNATURE_BYTES], *kept, data[at:]])


def _chunk(file: Looking, at: int) -> tuple[int, bytes]:
    head = file.piece(at, 8)
    if len(head) < 8:
        raise DamagedError("it ends before its IEND chunk")
    length, kind = int.from_bytes(head[:4], "big"), head[4:]
    if length > _LARGEST_CHUNK or not (kind.isalpha() and kind.isascii()):
        raise DamagedError("there is something else in the place of a chunk")
    return length, kind


def _is_checked(file: Looking, at: int, length: int) -> bool:
    """Whether the checksum of a chunk is right, read piece by piece."""
    if length < 4_096:
        return _has_checksum(memoryview(file.piece(at + 4, length + 8)))
    checksum, left, start = 0, length + 4, at + 4
    while left:
        window = file.window(start)[:left]
        checksum = zlib.crc32(window, checksum)
        left -= len(window)
        start += len(window)
    return checksum == int.from_bytes(file.piece(start, 4), "big")


def _has_checksum(typed: memoryview) -> bool:
    return zlib.crc32(typed[:-4]) == int.from_bytes(typed[-4:], "big")


def _repairable(kind: str, size: tuple[int, int]) -> Damage:
    return Damage(
        "damaged-media",
        f"The checksum of its {kind} chunk is wrong; the picture itself is whole.",
        is_repairable=True,
        hints=MediaHints(*size),
    )
