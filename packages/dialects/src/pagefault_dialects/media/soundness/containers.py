"""Files made of boxes, chunks, pages and objects: recordings, images built like them, and PDFs.

ISO media files and QuickTime (MP4, AVIF, HEIF) are checked by the sizes of their outermost boxes.
The reader hops from the header of one box to the next, whatever their size. Boxes after the header
and the media may exceed the file, as in players.

WebP, WAV and AIFF consist of chunks with a type and a size. Sizes that a recorder writing to a pipe
could not know are ignored: zero, or close to the largest possible one.

Ogg and FLAC have little more than their length. Players accept cut files, so only obvious damage
counts: an incomplete page or header.

A reader of PDFs begins at the end: `startxref`, the place of the last table of objects, and
`%%EOF`. It searches the last kilobyte and further back, since anything may follow; if the place has
no table, an update was cut.

Source: ISO/IEC 14496-12, 4.2; QuickTime File Format, "Atoms"; RIFF as WAVE and WebP (RFC 9649) use
it; EBU Tech 3306 for RF64; AIFF-C; RFC 3533, RFC 9639;
ISO 32000-1, 7.5.5 "File trailer", 7.5.8 "Cross-reference streams", 7.6 "Encryption".
"""

import re
from collections.abc import Iterator
from typing import Literal

from pagefault_dialects.media.soundness.bounded_reader import BoundedReader, DamagedError
from pagefault_dialects.model.resource import Damage

RECORDING, PICTURE, _FRAGMENT = b"moov", b"meta", b"moof"
_MEDIA, _INSIDE = frozenset({b"mdat", b"imda"}), b"idat"
_LARGE, _TO_THE_END = 1, 0
_LEAST_BYTES = 8
_LONGEST_LOOK = 1024 * 1024

_WEBP_PICTURES = frozenset({b"VP8 ", b"VP8L", b"ANMF"})
_OPEN_SIZES = (range(0x7FFF0000, 0x80000001), range(0xFFFF0000, 0x100000000))
_RF64 = b"RF64"
# A chunk of odd size should be padded, and some files count the padding.
_PADDING = 1

_LARGEST_PAGE = 27 + 255 + 255 * 255
_LAST_BLOCK = 0x80

_TAIL_BYTES = 256 * 1024
_TRAILER_BYTES = 16 * 1024
_ENTRY_BYTES = 20
_BLANKS = rb"[\x00\t\n\x0c\r ]"
_END = re.compile(rb"startxref%b{1,32}(\d{1,20})%b{0,32}%%%%EOF" % (_BLANKS, _BLANKS))
_OBJECT = re.compile(rb"\d%b\d{1,5}%bobj\b" % (_BLANKS, _BLANKS))
_TABLE = re.compile(rb"%b{0,16}xref%b{1,16}" % (_BLANKS, _BLANKS))
_SECTION = re.compile(rb"%b{0,16}\d{1,10} {1,4}(\d{1,10})%b{1,4}" % (_BLANKS, _BLANKS))
_ENCRYPTED = re.compile(rb"/Encrypt%b{0,8}(?:\d{1,10}%b{1,4}\d{1,5}%b{1,4}R|<<)" % ((_BLANKS,) * 3))
_STREAM = re.compile(rb"\bstream\b")


def check_boxes(file: BoundedReader, *, header: bytes) -> None:
    """Check an ISO media file.

    Args:
        file: The file.
        header: The required box: `RECORDING` for MP4, QuickTime and 3GPP, `PICTURE` for AVIF and
            HEIF.

    Raises:
        DamagedError: It was cut, cannot be played, or has no picture.
        TooComplexError: It has too many boxes.
    """
    at, has_header, has_media = 0, False, False
    while at < file.size_bytes:
        file.step()
        kind, size = _box(file, at)
        is_whole = has_header and has_media
        if size < _LEAST_BYTES:
            # Bytes that are not a box; anything may follow a whole file.
            if is_whole:
                return
            raise DamagedError("there is something else in the place of a box")
        matters = kind in _MEDIA or kind in (header, _FRAGMENT)
        if at + size > file.size_bytes and (matters or not is_whole):
            spelled = kind.decode() if kind.isalnum() and kind.isascii() else "last"
            raise DamagedError(f"it ends inside of its {spelled} box")
        has_header = has_header or kind == header
        has_media = has_media or kind in _MEDIA
        if kind == PICTURE == header:
            # Small pictures are stored in the box that describes them.
            has_media = has_media or _INSIDE in file.read(at, min(size, _LONGEST_LOOK))
        at += size
    if not has_header:
        raise DamagedError(f"it has no {header.decode()} box")
    if not has_media:
        raise DamagedError("there is nothing behind its header")


def _box(file: BoundedReader, at: int) -> tuple[bytes, int]:
    """Return the type and the size of a box, with its header; a size below 8 if there is no box."""
    head = file.read(at, 16)
    if len(head) < 8:
        return b"", 0
    size, kind = int.from_bytes(head[:4], "big"), head[4:8]
    if size == _LARGE:
        size = int.from_bytes(head[8:16], "big")
        return kind, size if size >= 16 else 0
    if size == _TO_THE_END and kind != bytes(4):
        return kind, file.size_bytes - at
    return kind, size


def check_webp(file: BoundedReader) -> None:
    """Check a WebP image.

    Raises:
        DamagedError: It was cut, or has no picture.
        TooComplexError: It is too long to be looked at.
    """
    if 8 + int.from_bytes(file.read(4, 4), "little") > file.size_bytes:
        raise DamagedError("it is shorter than it says")
    for kind, start, size in _chunks(file, "little"):
        if start + size > file.size_bytes:
            raise DamagedError("it ends inside of a chunk")
        if kind in _WEBP_PICTURES:
            return
    raise DamagedError("it has no picture")


def check_wav(file: BoundedReader) -> None:
    """Check that a WAV recording has its samples.

    Raises:
        DamagedError: It was cut, or has no samples.
        TooComplexError: It is too long to be looked at.
    """
    is_large, large_size = file.read(0, 4) == _RF64, None
    has_format = False
    for kind, start, size in _chunks(file, "little"):
        if kind == b"ds64" and is_large:
            large_size = int.from_bytes(file.read(start + 8, 8), "little")
        has_format = has_format or kind == b"fmt "
        if kind == b"data":
            if not has_format:
                break
            return _check_samples(file, start, size if large_size is None else large_size)
    raise DamagedError("it has no samples")


def check_aiff(file: BoundedReader) -> None:
    """Check an AIFF recording.

    Raises:
        DamagedError: It was cut, or has no samples.
        TooComplexError: It is too long to be looked at.
    """
    for kind, start, size in _chunks(file, "big"):
        if kind == b"SSND":
            return _check_samples(file, start, size)
    raise DamagedError("it has no samples")


def _check_samples(file: BoundedReader, start: int, size: int) -> None:
    is_open = size == 0 or any(size in sizes for sizes in _OPEN_SIZES)
    if not is_open and start + size > file.size_bytes + _PADDING:
        raise DamagedError("it ends before the end of its samples")


def _chunks(
    file: BoundedReader, order: Literal["little", "big"]
) -> Iterator[tuple[bytes, int, int]]:
    """Yield the type of each chunk, where its content begins, and the size of that."""
    at = 12
    while len(head := file.read(at, 8)) == 8:
        file.step()
        size = int.from_bytes(head[4:], order)
        yield head[:4], at + 8, size
        at += 8 + size + size % 2


def check_ogg(file: BoundedReader) -> None:
    """Check that the last page of an Ogg file is whole.

    Raises:
        DamagedError: It was cut.
    """
    start = max(0, file.size_bytes - _LARGEST_PAGE)
    tail = file.read(start, _LARGEST_PAGE)
    page = tail.rfind(b"OggS")
    if page < 0:
        return
    lengths = tail[page + 27 : page + 27 + tail[page + 26]] if page + 26 < len(tail) else b""
    is_cut = page + 27 > len(tail) or len(lengths) < tail[page + 26]
    if is_cut or page + 27 + len(lengths) + sum(lengths) > len(tail):
        raise DamagedError("it ends inside of a page")


def check_flac(file: BoundedReader) -> None:
    """Check that a FLAC file has its whole header, and data behind it.

    Raises:
        DamagedError: It was cut.
        TooComplexError: It has too many metadata blocks.
    """
    at, is_last = 4, False
    while not is_last:
        file.step()
        head = file.read(at, 4)
        at += 4 + int.from_bytes(head[1:], "big")
        if len(head) < 4 or at >= file.size_bytes:
            raise DamagedError("it ends before its first frame")
        is_last = bool(head[0] & _LAST_BLOCK)


def check_pdf(file: BoundedReader) -> Damage | None:
    """Return the damage of a PDF.

    Raises:
        DamagedError: It was cut.
        TooComplexError: It has too many tables of objects.
    """
    start = max(0, file.size_bytes - _TAIL_BYTES)
    tail = file.read(start, _TAIL_BYTES)
    ends = [*_END.finditer(tail)]
    if not ends:
        raise DamagedError("it has no end: no `startxref` with `%%EOF` behind it")
    found = ends[-1]
    if _OBJECT.search(tail, found.end()):
        raise DamagedError("it ends inside of an update")
    table = int(found.group(1))
    if not 0 < table < start + found.start():
        # The first part of a linearized file has no table; the last part has it.
        raise DamagedError("its table of objects is not there")
    trailers = (tail[max(0, found.start() - _TRAILER_BYTES) : found.start()], _trailer(file, table))
    if any(_ENCRYPTED.search(trailer) for trailer in trailers):
        return Damage("encrypted-media", "It is encrypted, and models take no encrypted documents.")
    return None


def _trailer(file: BoundedReader, table: int) -> bytes:
    """Return the trailer after a table of objects, or the dictionary of a stream that is one."""
    head = file.read(table, _TRAILER_BYTES)
    opening = _TABLE.match(head)
    if opening is None:
        stream = _STREAM.search(head)
        return head[: stream.start()] if stream else head
    at = table + opening.end()
    while section := _SECTION.match(file.read(at, 64)):
        file.step()
        at += section.end() + int(section.group(1)) * _ENTRY_BYTES
        if at >= file.size_bytes:
            return b""
    head = file.read(at, _TRAILER_BYTES)
    end = head.find(b"startxref")
    return head if end < 0 else head[:end]
