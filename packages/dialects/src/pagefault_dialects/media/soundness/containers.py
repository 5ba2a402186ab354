"""Check MP4, AVIF, HEIF, WebP, WAV, AIFF, Ogg, FLAC and PDF files.

ISO media files and QuickTime (MP4, AVIF, HEIF) are checked by the sizes of their outermost boxes.
Only the headers of boxes are read. Boxes after the header and the media may exceed the file, since
players ignore that.

WebP, WAV and AIFF consist of chunks with a type and a size. A recorder that writes to a pipe does
not know the size of the samples, and writes zero or a number close to the largest possible one.
Such sizes are ignored.

For Ogg and FLAC, only an incomplete page or header counts as damage, since players accept files
that are cut elsewhere.

A PDF ends with `startxref`, the position of the last table of objects, and `%%EOF`. The end is
searched backwards, since other bytes may follow. An object after the last `%%EOF` belongs to an
update that was cut. A position that is zero or after the end means that the table is missing.

Source: ISO/IEC 14496-12, 4.2; QuickTime File Format, "Atoms"; RIFF for WAVE; RFC 9649 for WebP; EBU
Tech 3306 for RF64; AIFF-C; RFC 3533, RFC 9639;
ISO 32000-1, 7.5.5 "File trailer", 7.5.8 "Cross-reference streams", 7.6 "Encryption".
"""

import re
from collections.abc import Iterator
from typing import Literal

from pagefault_dialects.media.soundness.bounded_reader import BoundedReader, DamagedError
from pagefault_dialects.model.resource import Damage

RECORDING_HEADER, PICTURE_HEADER, _FRAGMENT_HEADER = b"moov", b"meta", b"moof"
_MEDIA_BOXES, _MEDIA_IN_META = frozenset({b"mdat", b"imda"}), b"idat"
_SIZE_FOLLOWS, _SIZE_TO_END = 1, 0
_MIN_BOX_BYTES = 8
_MAX_META_BYTES = 1024 * 1024

_WEBP_PICTURES = frozenset({b"VP8 ", b"VP8L", b"ANMF"})
_UNKNOWN_SIZES = (range(0x7FFF0000, 0x80000001), range(0xFFFF0000, 0x100000000))
_RF64 = b"RF64"
# A chunk of odd size is padded by one byte, which some files count as a part of the chunk.
_PADDING_BYTES = 1

_LARGEST_PAGE = 27 + 255 + 255 * 255
_LAST_BLOCK = 0x80

_TAIL_BYTES = 256 * 1024
_TRAILER_BYTES = 16 * 1024
_ENTRY_BYTES = 20
_BLANK = rb"[\x00\t\n\x0c\r ]"
_END = re.compile(rb"startxref%b{1,32}(\d{1,20})%b{0,32}%%%%EOF" % (_BLANK, _BLANK))
_OBJECT = re.compile(rb"\d%b\d{1,5}%bobj\b" % (_BLANK, _BLANK))
_TABLE = re.compile(rb"%b{0,16}xref%b{1,16}" % (_BLANK, _BLANK))
_SECTION = re.compile(rb"%b{0,16}\d{1,10} {1,4}(\d{1,10})%b{1,4}" % (_BLANK, _BLANK))
_ENCRYPTED = re.compile(rb"/Encrypt%b{0,8}(?:\d{1,10}%b{1,4}\d{1,5}%b{1,4}R|<<)" % ((_BLANK,) * 3))
_STREAM = re.compile(rb"\bstream\b")


def check_boxes(file: BoundedReader, *, header: bytes) -> None:
    """Check an ISO media file.

    Args:
        file: The file.
        header: The type of the required box: `RECORDING_HEADER` for MP4, QuickTime and 3GPP,
            `PICTURE_HEADER` for AVIF and HEIF.

    Raises:
        DamagedError: It was cut, cannot be played, or has no picture.
        TooComplexError: It has too many boxes.
    """
    position, has_header, has_media = 0, False, False
    while position < file.size_bytes:
        file.count_step()
        box_type, size = _read_box(file, position)
        is_whole = has_header and has_media
        if size < _MIN_BOX_BYTES:
            # These bytes are not a box. Players ignore them behind a whole file.
            if is_whole:
                return
            raise DamagedError("there is something else in the place of a box")
        is_required = box_type in _MEDIA_BOXES or box_type in (header, _FRAGMENT_HEADER)
        if position + size > file.size_bytes and (is_required or not is_whole):
            name = box_type.decode() if box_type.isalnum() and box_type.isascii() else "last"
            raise DamagedError(f"it ends inside of its {name} box")
        has_header = has_header or box_type == header
        has_media = has_media or box_type in _MEDIA_BOXES
        if box_type == PICTURE_HEADER == header:
            # The data of small pictures is in the box that describes them.
            meta = file.read(position, min(size, _MAX_META_BYTES))
            has_media = has_media or _MEDIA_IN_META in meta
        position += size
    if not has_header:
        raise DamagedError(f"it has no {header.decode()} box")
    if not has_media:
        raise DamagedError("there is nothing behind its header")


def _read_box(file: BoundedReader, position: int) -> tuple[bytes, int]:
    """Return the type of a box, and its size, which includes its header.

    If there is no box, the size is less than 8.
    """
    head = file.read(position, 16)
    if len(head) < 8:
        return b"", 0
    size, box_type = int.from_bytes(head[:4], "big"), head[4:8]
    if size == _SIZE_FOLLOWS:
        size = int.from_bytes(head[8:16], "big")
        return box_type, size if size >= 16 else 0
    if size == _SIZE_TO_END and box_type != bytes(4):
        return box_type, file.size_bytes - position
    return box_type, size


def check_webp(file: BoundedReader) -> None:
    """Check a WebP image.

    Raises:
        DamagedError: It was cut, or has no picture.
        TooComplexError: It has too many chunks.
    """
    if 8 + int.from_bytes(file.read(4, 4), "little") > file.size_bytes:
        raise DamagedError("it is shorter than it says")
    for chunk_type, start, size in _read_chunks(file, "little"):
        if start + size > file.size_bytes:
            raise DamagedError("it ends inside of a chunk")
        if chunk_type in _WEBP_PICTURES:
            return
    raise DamagedError("it has no picture")


def check_wav(file: BoundedReader) -> None:
    """Check that a WAV recording has its samples.

    Raises:
        DamagedError: It was cut, or has no samples.
        TooComplexError: It has too many chunks.
    """
    is_large = file.read(0, 4) == _RF64
    large_size: int | None = None
    has_format = False
    for chunk_type, start, size in _read_chunks(file, "little"):
        if chunk_type == b"ds64" and is_large:
            large_size = int.from_bytes(file.read(start + 8, 8), "little")
        has_format = has_format or chunk_type == b"fmt "
        if chunk_type == b"data":
            if not has_format:
                break
            return _check_samples(file, start, size if large_size is None else large_size)
    raise DamagedError("it has no samples")


def check_aiff(file: BoundedReader) -> None:
    """Check an AIFF recording.

    Raises:
        DamagedError: It was cut, or has no samples.
        TooComplexError: It has too many chunks.
    """
    for chunk_type, start, size in _read_chunks(file, "big"):
        if chunk_type == b"SSND":
            return _check_samples(file, start, size)
    raise DamagedError("it has no samples")


def _check_samples(file: BoundedReader, start: int, size: int) -> None:
    is_unknown = size == 0 or any(size in sizes for sizes in _UNKNOWN_SIZES)
    if not is_unknown and start + size > file.size_bytes + _PADDING_BYTES:
        raise DamagedError("it ends before the end of its samples")


def _read_chunks(
    file: BoundedReader, order: Literal["little", "big"]
) -> Iterator[tuple[bytes, int, int]]:
    """Yield the type of each chunk, the position of its content, and the size of its content."""
    position = 12
    while len(head := file.read(position, 8)) == 8:
        file.count_step()
        size = int.from_bytes(head[4:], order)
        yield head[:4], position + 8, size
        position += 8 + size + size % 2


def check_ogg(file: BoundedReader) -> None:
    """Check that the last page of an Ogg file is whole.

    If no page begins in as many bytes as the largest page has, the last page ends before them.

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
    """Check that a FLAC file has its whole header, and bytes behind the header.

    Raises:
        DamagedError: It was cut.
        TooComplexError: It has too many metadata blocks.
    """
    position, is_last = 4, False
    while not is_last:
        file.count_step()
        head = file.read(position, 4)
        position += 4 + int.from_bytes(head[1:], "big")
        if len(head) < 4 or position >= file.size_bytes:
            raise DamagedError("it ends before its first frame")
        is_last = bool(head[0] & _LAST_BLOCK)


def check_pdf(file: BoundedReader) -> Damage | None:
    """Return a `Damage` if a PDF is encrypted, otherwise `None`.

    Raises:
        DamagedError: It was cut.
        TooComplexError: It has too many tables of objects.
    """
    start = max(0, file.size_bytes - _TAIL_BYTES)
    tail = file.read(start, _TAIL_BYTES)
    ends = [*_END.finditer(tail)]
    if not ends:
        raise DamagedError("it has no end: no `startxref` with `%%EOF` behind it")
    last_end = ends[-1]
    if _OBJECT.search(tail, last_end.end()):
        raise DamagedError("it ends inside of an update")
    table_position = int(last_end.group(1))
    if not 0 < table_position < start + last_end.start():
        # The first part of a linearized file ends with the position 0: the rest may be cut off.
        raise DamagedError("its table of objects is not there")
    before_end = tail[max(0, last_end.start() - _TRAILER_BYTES) : last_end.start()]
    trailers = (before_end, _read_trailer(file, table_position))
    if any(_ENCRYPTED.search(trailer) for trailer in trailers):
        return Damage("encrypted-media", "It is encrypted, and models take no encrypted documents.")
    return None


def _read_trailer(file: BoundedReader, table_position: int) -> bytes:
    """Return the trailer of the table of objects at a position.

    If the table is a stream, its dictionary is the trailer.
    """
    head = file.read(table_position, _TRAILER_BYTES)
    opening = _TABLE.match(head)
    if opening is None:
        stream = _STREAM.search(head)
        return head[: stream.start()] if stream else head
    position = table_position + opening.end()
    while section := _SECTION.match(file.read(position, 64)):
        file.count_step()
        position += section.end() + int(section.group(1)) * _ENTRY_BYTES
        if position >= file.size_bytes:
            return b""
    head = file.read(position, _TRAILER_BYTES)
    end = head.find(b"startxref")
    return head if end < 0 else head[:end]
