"""The zip of a bundle: written in one form, and read whichever program has packed it.

    local header, bytes, data descriptor or none    for each member
    entry                                           for each member, in any order: the directory
    zip64 end and its locator                       if a number needs more than 16 or 32 bits
    end                                             22 bytes, and no comment behind them

What is written has its members stored, in one order, with nothing in it that varies. Nothing is
compressed, so that there is nothing to inflate and the bytes depend on no compressor; every member
has the same date and the same attributes. It is written without seeking, each member's checksum and
size behind its bytes. Bundles are spooled in temporary files on their way in and out, whose disk
may be full.

In what is read, members may be stored or deflated. The zip has to have one meaning for every
reader, though: its members lie one behind the other from the first byte to the directory, and the
entry, the local header and the data descriptor of each say the same. So no two members share bytes,
and nothing is in front, between or behind that only some programs look at.

Source: APPNOTE.TXT 6.3.10, sections 4.3 to 4.5.
"""

import errno
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import IO, Any

from app.errors import StoreFullError
from pagefault_bundles.format_errors import REPACK, BundleFormatError, require
from pagefault_dialects.model.media import CHUNK_BYTES

HISTORY = "history.jsonl"
INTERACTIONS = "interactions.jsonl"
PAGES = "pages.jsonl"
RESOURCES = "resources.jsonl"
MANIFEST = "manifest.json"
LINE_FILES = (HISTORY, INTERACTIONS, PAGES, RESOURCES)
"""The members that hold a JSON value on each line."""
BLOBS = "blobs/"

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_ATTRIBUTES = 0o100644 << 16
_UNIX = 3
_VERSION = 20
_WHEN = (1980, 1, 1, 0, 0, 0)

_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_FIELD = struct.Struct("<2H")
_FIELD_64 = 1
_MOST_16, _MOST_32 = 0xFFFF, 0xFFFFFFFF
_END_FIELDS_MOST = (_MOST_16,) * 4 + (_MOST_32,) * 2
# A name of ours has up to 70 bytes; other programs add fields and comments of some dozens.
_MOST_ENTRY_BYTES = 256
_MOST_DESCRIPTOR_BYTES = 24

_STORED, _DEFLATED = 0, 8
_ENCRYPTED_FLAGS = 0x2041
_DESCRIPTOR_FLAG = 0x0008
# The level of the compression, a data descriptor, and a name in UTF-8.
_KNOWN_FLAGS = 0x0006 | _DESCRIPTOR_FLAG | 0x0800

_OUR_NAME = re.compile("|".join([*LINE_FILES, MANIFEST, f"{BLOBS}(?:[0-9a-f]{{64}})?"]))
_NO_END = "does not end as a zip archive without a comment ends"
_CUT_OFF = "is damaged: a header of the archive is cut off, or none is where one should be"


class ChunkBuffer:
    """A file-like object that is emptied while an archive of any length is written to it.

    `size_bytes` is the size of what is in it.
    """

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self.size_bytes = 0

    def write(self, data: bytes, /) -> int:
        """Take the next bytes of the archive; return how many they were."""
        self._held.append(bytes(data))
        self.size_bytes += len(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: every write goes through at once."""

    def take(self) -> bytes:
        """Return what was written since the last call."""
        taken = b"".join(self._held)
        self._held.clear()
        self.size_bytes = 0
        return taken


class ArchiveWriter:
    """Writes the members of a bundle, one behind the other, then `close`."""

    def __init__(self, sink: ChunkBuffer) -> None:
        # Neither `tell` nor `seek` is offered, so the library does not go back to what it wrote.
        self._zip = zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED)  # type: ignore[call-overload]

    @contextmanager
    def member(self, name: str, size_bytes: int) -> Iterator[IO[bytes]]:
        """Open a member of this size, which is complete when the block ends."""
        info = zipfile.ZipInfo(name, _WHEN)
        info.create_system = _UNIX
        info.create_version = info.extract_version = _VERSION
        info.external_attr = _ATTRIBUTES
        info.file_size = size_bytes
        with self._zip.open(info, "w") as opened:
            yield opened

    def close(self) -> None:
        """Write the directory of the members; the archive is whole."""
        self._zip.close()


@contextmanager
def disk_full_as_store_full() -> Iterator[None]:
    """Raise a full disk as StoreFullError."""
    try:
        yield
    except OSError as exc:
        if exc.errno in _NO_ROOM:
            raise StoreFullError from exc
        raise


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A member as its entry describes it; `start` is where its packed bytes begin."""

    number: int
    name: str
    flags: int
    method: int
    crc32: int
    packed_bytes: int
    size_bytes: int
    start: int

    @property
    def sums(self) -> tuple[int, int, int]:
        """What its entry, its header and its data descriptor repeat."""
        return self.crc32, self.packed_bytes, self.size_bytes

    @property
    def label(self) -> str:
        """Its name if it is one of ours, else its number: no problem repeats what it is about."""
        if _OUR_NAME.fullmatch(self.name):
            return f"`{self.name}`"
        return f"(number {self.number} in the directory)"


def read_members(descriptor: int, *, most_entries: int) -> list[ArchiveMember]:
    """Return the members of the zip in a file, in the order in which they lie there.

    Raises:
        BundleFormatError: It is no zip, has more entries, or does not have one meaning.
    """
    try:
        count, start, end = _find_directory(descriptor, most_entries)
        directory = os.pread(descriptor, end - start, start)
        entries = sorted(_entries(directory, count), key=attrgetter("start"))
        ends = (*(entry.start for entry in entries[1:]), start)
        require(not entries or entries[0].start == 0, "has bytes in front of its members", REPACK)
        return [_locate(descriptor, *pair) for pair in zip(entries, ends, strict=False)]
    except struct.error as exc:
        raise BundleFormatError(_CUT_OFF) from exc


def member_chunks(descriptor: int, member: ArchiveMember) -> Iterator[bytes]:
    """Yield the unpacked bytes of a member in chunks of at most a megabyte.

    Raises:
        BundleFormatError: They are not as many as its entry says, or cannot be inflated.
    """
    packed = _pieces(descriptor, member.start, member.packed_bytes)
    return packed if member.method == _STORED else _inflate(packed, member.size_bytes)


def _find_directory(descriptor: int, most_entries: int) -> tuple[int, int, int]:
    """Return how many entries the directory has, where it begins and where it ends.

    It is bounded before it is read into memory.
    """
    at = os.fstat(descriptor).st_size - _END.size
    require(at >= 0, "is too short for a zip archive")
    signature, *narrow, comment_bytes = _END.unpack(os.pread(descriptor, _END.size, at))
    require((signature, comment_bytes) == (b"PK\x05\x06", 0), _NO_END, REPACK)
    locator_at = at - _LOCATOR_64.size
    fields, end = narrow, at
    if locator_at >= _END_64.size and os.pread(descriptor, 4, locator_at) == b"PK\x06\x07":
        end = locator_at - _END_64.size
        signature, record_bytes, _, _, *fields = _read(descriptor, _END_64, end)
        require((signature, record_bytes) == (b"PK\x06\x06", _END_64.size - 12), _NO_END)
        locator = _read(descriptor, _LOCATOR_64, locator_at)
        require(locator == (b"PK\x06\x07", 0, end, 1), _NO_END)
        # What fits may be repeated in the narrow record; what does not fit is all ones there.
        both = zip(narrow, fields, _END_FIELDS_MOST, strict=True)
        require(all(short in (long, most) for short, long, most in both), _NO_END)
    disk, directory_disk, count_here, count, size, start = fields
    is_whole = (disk, directory_disk, count_here) == (0, 0, count)
    require(is_whole, "is a part of an archive in several parts", REPACK)
    require(count <= most_entries, f"has more than the {most_entries} entries a bundle may have")
    require(size <= count * _MOST_ENTRY_BYTES, "has a directory larger than a bundle may have")
    require(start + size == end, "has bytes in front of it, or behind its directory", REPACK)
    return count, start, end


def _entries(directory: bytes, count: int) -> Iterator[ArchiveMember]:
    """Yield the entries of a directory; `start` is where the local header of each begins."""
    at = 0
    for number in range(1, count + 1):
        entry = _ENTRY.unpack_from(directory, at)
        signature, flags, method, crc32 = entry[0], entry[3], entry[4], entry[7]
        name_bytes, extra_bytes, comment_bytes, disk = entry[10:14]
        require(signature == b"PK\x01\x02" and disk == 0, _CUT_OFF)
        name_at = at + _ENTRY.size
        extra_at = name_at + name_bytes
        # Every byte is a character of Latin-1, so names that are not ours stay apart from ours.
        name = directory[name_at:extra_at].decode("latin-1")
        extra = directory[extra_at : extra_at + extra_bytes]
        size, packed, start = _widen(extra, entry[9], entry[8], entry[16])
        yield _check_readable(
            ArchiveMember(number, name, flags, method, crc32, packed, size, start)
        )
        at = extra_at + extra_bytes + comment_bytes
    require(at == len(directory), _CUT_OFF)


def _check_readable(entry: ArchiveMember) -> ArchiveMember:
    shown = f"has a member {entry.label} that"
    require(not entry.flags & _ENCRYPTED_FLAGS, f"{shown} is encrypted", REPACK)
    is_read = not entry.flags & ~_KNOWN_FLAGS and entry.method in (_STORED, _DEFLATED)
    require(is_read, f"{shown} is packed in a way that is not read here", REPACK)
    is_sized = entry.method == _DEFLATED or entry.packed_bytes == entry.size_bytes
    require(is_sized, f"{shown} is stored in more or fewer bytes than it has", REPACK)
    return entry


def _locate(descriptor: int, entry: ArchiveMember, end: int) -> ArchiveMember:
    """Return the member of an entry, if its header says the same and it reaches to `end`."""
    shown = f"has a member {entry.label}"
    header = os.pread(descriptor, _LOCAL_HEADER.size + len(entry.name), entry.start)
    signature, _, flags, method, _, _, crc32, packed, size, name_bytes, extra_bytes = (
        _LOCAL_HEADER.unpack_from(header)
    )
    name = header[_LOCAL_HEADER.size :].decode("latin-1")
    said = (signature, flags, method, name_bytes, name)
    noted = (b"PK\x03\x04", entry.flags, entry.method, len(entry.name), entry.name)
    require(said == noted, f"{shown} whose header is not the one in the directory", REPACK)
    extra_at = entry.start + len(header)
    extra = os.pread(descriptor, extra_bytes, extra_at) if _MOST_32 in (packed, size) else b""
    size, packed = _widen(extra, size, packed)
    descriptors = _data_descriptors(entry) if flags & _DESCRIPTOR_FLAG else [b""]
    # What the data descriptor says may be left out of the header.
    may_be = [{each, 0} if flags & _DESCRIPTOR_FLAG else {each} for each in entry.sums]
    are_same = all(map(set.__contains__, may_be, (crc32, packed, size)))
    require(are_same, f"{shown} of another size or checksum in its header", REPACK)
    start = extra_at + extra_bytes
    left = end - start - entry.packed_bytes
    require(left >= 0, f"{shown} that shares bytes with another", REPACK)
    behind = os.pread(descriptor, min(left, _MOST_DESCRIPTOR_BYTES + 1), end - left)
    require(behind in descriptors, f"{shown} with bytes behind it that belong to nothing", REPACK)
    return replace(entry, start=start)


def _data_descriptors(entry: ArchiveMember) -> list[bytes]:
    """Return the data descriptors a member may have: narrow or wide, signed or not."""
    forms = [struct.pack("<L2Q", *entry.sums)]
    if max(entry.sums) <= _MOST_32:
        forms.append(struct.pack("<3L", *entry.sums))
    return forms + [b"PK\x07\x08" + form for form in forms]


def _widen(extra: bytes, *fields: int) -> list[int]:
    """Return fields of 32 bits, those that are all ones from the zip64 field of a header."""
    at, wide = 0, b""
    while at + _FIELD.size <= len(extra) and not wide:
        tag, length = _FIELD.unpack_from(extra, at)
        at += _FIELD.size
        if tag == _FIELD_64:
            wide = extra[at : at + length // 8 * 8]
        at += length
    numbers = struct.iter_unpack("<Q", wide)
    return [next(numbers, (field,))[0] if field == _MOST_32 else field for field in fields]


def _read(descriptor: int, form: struct.Struct, at: int) -> tuple[Any, ...]:
    return form.unpack(os.pread(descriptor, form.size, at))


def _inflate(pieces: Iterator[bytes], size_bytes: int) -> Iterator[bytes]:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    left = size_bytes
    try:
        # The empty piece gets out what is left inside when there is nothing more to put in.
        for piece in chain(pieces, [b""]):
            data, waiting = inflater.decompress(piece, CHUNK_BYTES), inflater.unconsumed_tail
            while data:
                left -= len(data)
                require(left >= 0, "unpacks to more bytes than the archive says", REPACK)
                yield data
                data = inflater.decompress(waiting, CHUNK_BYTES)
                waiting = inflater.unconsumed_tail
    except zlib.error as exc:
        raise BundleFormatError("is damaged: its bytes cannot be inflated") from exc
    is_whole = inflater.eof and not inflater.unused_data and left == 0
    require(is_whole, "unpacks to other bytes than the archive says", REPACK)


def _pieces(descriptor: int, start: int, size_bytes: int) -> Iterator[bytes]:
    end = start + size_bytes
    while start < end:
        piece = os.pread(descriptor, min(CHUNK_BYTES, end - start), start)
        require(bool(piece), "ends before its bytes do")
        yield piece
        start += len(piece)
