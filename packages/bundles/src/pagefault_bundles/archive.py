"""Writing of the zip of a bundle in a single form, and reading of zips of any program.

    local header, bytes, data descriptor or none    for each member
    entry                                           for each member, in any order: the directory
    zip64 end and its locator                       if a number exceeds its field of 16 or 32 bits
    end                                             22 bytes, without a comment after it

The writer stores members without compression, in a fixed order, with the same date and attributes,
so the same session makes the same bytes. The writer does not seek: the checksum and size of a
member follow its bytes.

The reader accepts stored and deflated members. The zip must be unambiguous: members are contiguous
from the first byte to the directory, and the entry, the local header and the data descriptor of
each member agree. No two members share bytes, and other zip programs read the same members.

Source: APPNOTE.TXT 6.3.10, sections 4.3 to 4.5.
"""

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

from pagefault_bundles.format_errors import REPACK, BundleFormatError, require
from pagefault_dialects.model.media import CHUNK_BYTES

HISTORY = "history.jsonl"
INTERACTIONS = "interactions.jsonl"
PAGES = "pages.jsonl"
RESOURCES = "resources.jsonl"
MANIFEST = "manifest.json"
LINE_FILES = (HISTORY, INTERACTIONS, PAGES, RESOURCES)
"""The members with a JSON value on each line."""
BLOBS = "blobs/"

_ATTRIBUTES = 0o100644 << 16
_UNIX = 3
_VERSION = 20
_DATE = (1980, 1, 1, 0, 0, 0)

_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_FIELD = struct.Struct("<2H")
_FIELD_64 = 1
_MAX_16, _MAX_32 = 0xFFFF, 0xFFFFFFFF
_MAX_END_FIELDS = (_MAX_16,) * 4 + (_MAX_32,) * 2
# Names in bundles have up to 70 bytes. Zip programs add fields and comments of some dozen bytes.
_MAX_ENTRY_BYTES = 256
_MAX_DESCRIPTOR_BYTES = 24

_STORED, _DEFLATED = 0, 8
_ENCRYPTED_FLAGS = 0x2041
_DESCRIPTOR_FLAG = 0x0008
# The level of the compression, a data descriptor, and a name in UTF-8.
_KNOWN_FLAGS = 0x0006 | _DESCRIPTOR_FLAG | 0x0800

_BUNDLE_NAME = re.compile("|".join([*LINE_FILES, MANIFEST, f"{BLOBS}(?:[0-9a-f]{{64}})?"]))
_NO_END = "is no zip archive, or has a comment at its end"
_CUT_OFF = "is damaged: a header is cut off or missing"


class ChunkBuffer:
    """A file-like object that buffers what is written to it until `take` removes it.

    `size_bytes` is the size of the buffered bytes.
    """

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self.size_bytes = 0

    def write(self, data: bytes, /) -> int:
        """Buffer the next bytes of the archive; return their number."""
        self._chunks.append(bytes(data))
        self.size_bytes += len(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing, since the bytes are taken with `take`; the zip library calls it."""

    def take(self) -> bytes:
        """Return the bytes written since the last call."""
        data = b"".join(self._chunks)
        self._chunks.clear()
        self.size_bytes = 0
        return data


class ArchiveWriter:
    """Writes the members of a bundle, in order; `close` completes the archive."""

    def __init__(self, sink: ChunkBuffer) -> None:
        # Without `tell` and `seek`, the library does not go back to update headers.
        self._zip = zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED)  # type: ignore[call-overload]

    @contextmanager
    def member(self, name: str, size_bytes: int) -> Iterator[IO[bytes]]:
        """Open a member of a size. It is complete when the block ends."""
        info = zipfile.ZipInfo(name, _DATE)
        info.create_system = _UNIX
        info.create_version = info.extract_version = _VERSION
        info.external_attr = _ATTRIBUTES
        info.file_size = size_bytes
        with self._zip.open(info, "w") as member:
            yield member

    def close(self) -> None:
        """Write the directory of the members."""
        self._zip.close()


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A member as its entry in the directory describes it.

    `number` counts the entries from 1; `start` is the offset of the packed bytes in the file.
    """

    number: int
    name: str
    flags: int
    method: int
    crc32: int
    packed_bytes: int
    size_bytes: int
    start: int

    @property
    def checksum_and_sizes(self) -> tuple[int, int, int]:
        """The checksum and sizes, which the entry, the header and the data descriptor repeat."""
        return self.crc32, self.packed_bytes, self.size_bytes

    @property
    def label(self) -> str:
        """The member for errors: its name, if bundles have such a name; otherwise its number.

        Errors do not quote input.
        """
        if _BUNDLE_NAME.fullmatch(self.name):
            return f"`{self.name}`"
        return f"(number {self.number} in the directory)"


def read_members(descriptor: int, *, max_entries: int) -> list[ArchiveMember]:
    """Return the members of the zip in a file, in the order of their bytes.

    Raises:
        BundleFormatError: The file is no zip, is ambiguous, or has more entries.
    """
    try:
        count, start, end = _find_directory(descriptor, max_entries)
        directory = os.pread(descriptor, end - start, start)
        entries = sorted(_parse_directory(directory, count), key=attrgetter("start"))
        ends = (*(entry.start for entry in entries[1:]), start)
        require(not entries or entries[0].start == 0, "has bytes in front of its members", REPACK)
        return [_locate_bytes(descriptor, *pair) for pair in zip(entries, ends, strict=False)]
    except struct.error as exc:
        raise BundleFormatError(_CUT_OFF) from exc


def read_member(descriptor: int, member: ArchiveMember) -> Iterator[bytes]:
    """Yield the unpacked bytes of a member in chunks of at most a megabyte.

    Raises:
        BundleFormatError: The number of bytes differs from the entry, or they cannot be inflated.
    """
    packed = _read_pieces(descriptor, member.start, member.packed_bytes)
    return packed if member.method == _STORED else _inflate(packed, member.size_bytes)


def _find_directory(descriptor: int, max_entries: int) -> tuple[int, int, int]:
    """Return the number of entries in the directory, and its start and end.

    The size of the directory is checked before it is read into memory.
    """
    offset = os.fstat(descriptor).st_size - _END.size
    require(offset >= 0, "is too short for a zip archive")
    signature, *fields_32, comment_bytes = _END.unpack(os.pread(descriptor, _END.size, offset))
    require((signature, comment_bytes) == (b"PK\x05\x06", 0), _NO_END, REPACK)
    locator_offset = offset - _LOCATOR_64.size
    fields, end = fields_32, offset
    if locator_offset >= _END_64.size and os.pread(descriptor, 4, locator_offset) == b"PK\x06\x07":
        end = locator_offset - _END_64.size
        signature, record_bytes, _, _, *fields = _read_struct(descriptor, _END_64, end)
        require((signature, record_bytes) == (b"PK\x06\x06", _END_64.size - 12), _NO_END)
        locator = _read_struct(descriptor, _LOCATOR_64, locator_offset)
        require(locator == (b"PK\x06\x07", 0, end, 1), _NO_END)
        # A 32-bit field repeats the value, or has all bits set.
        pairs = zip(fields_32, fields, _MAX_END_FIELDS, strict=True)
        require(all(narrow in (wide, max_value) for narrow, wide, max_value in pairs), _NO_END)
    disk, directory_disk, count_here, count, size, start = fields
    is_whole = (disk, directory_disk, count_here) == (0, 0, count)
    require(is_whole, "is a part of an archive in several parts", REPACK)
    require(count <= max_entries, f"has more than the {max_entries} entries a bundle may have")
    require(size <= count * _MAX_ENTRY_BYTES, "has a directory larger than a bundle may have")
    require(start + size == end, "has bytes in front of it, or behind its directory", REPACK)
    return count, start, end


def _parse_directory(directory: bytes, count: int) -> Iterator[ArchiveMember]:
    """Yield the entries of a directory. Their `start` is the offset of the local header."""
    offset = 0
    for number in range(1, count + 1):
        entry = _ENTRY.unpack_from(directory, offset)
        signature, flags, method, crc32 = entry[0], entry[3], entry[4], entry[7]
        name_bytes, extra_bytes, comment_bytes, disk = entry[10:14]
        require(signature == b"PK\x01\x02" and disk == 0, _CUT_OFF)
        name_offset = offset + _ENTRY.size
        extra_offset = name_offset + name_bytes
        # Latin-1 decodes every byte, so foreign names stay distinct from ours.
        name = directory[name_offset:extra_offset].decode("latin-1")
        extra = directory[extra_offset : extra_offset + extra_bytes]
        size, packed, start = _read_zip64_fields(extra, entry[9], entry[8], entry[16])
        yield _check_readable(
            ArchiveMember(number, name, flags, method, crc32, packed, size, start)
        )
        offset = extra_offset + extra_bytes + comment_bytes
    require(offset == len(directory), _CUT_OFF)


def _check_readable(entry: ArchiveMember) -> ArchiveMember:
    subject = f"has a member {entry.label} that"
    require(not entry.flags & _ENCRYPTED_FLAGS, f"{subject} is encrypted", REPACK)
    is_readable = not entry.flags & ~_KNOWN_FLAGS and entry.method in (_STORED, _DEFLATED)
    require(is_readable, f"{subject} is neither stored nor deflated, or has unknown flags", REPACK)
    is_sized = entry.method == _DEFLATED or entry.packed_bytes == entry.size_bytes
    require(is_sized, f"{subject} is stored in more or fewer bytes than it has", REPACK)
    return entry


def _locate_bytes(descriptor: int, entry: ArchiveMember, end: int) -> ArchiveMember:
    """Return a member with the offset of its bytes.

    Checks that the local header agrees with the entry, and that the member ends at `end`.
    """
    subject = f"has a member {entry.label}"
    header = os.pread(descriptor, _LOCAL_HEADER.size + len(entry.name), entry.start)
    signature, _, flags, method, _, _, crc32, packed, size, name_bytes, extra_bytes = (
        _LOCAL_HEADER.unpack_from(header)
    )
    name = header[_LOCAL_HEADER.size :].decode("latin-1")
    header_fields = (signature, flags, method, name_bytes, name)
    entry_fields = (b"PK\x03\x04", entry.flags, entry.method, len(entry.name), entry.name)
    require(
        header_fields == entry_fields,
        f"{subject} whose header is not the one in the directory",
        REPACK,
    )
    extra_offset = entry.start + len(header)
    extra = os.pread(descriptor, extra_bytes, extra_offset) if _MAX_32 in (packed, size) else b""
    size, packed = _read_zip64_fields(extra, size, packed)
    descriptors = _make_data_descriptors(entry) if flags & _DESCRIPTOR_FLAG else [b""]
    # Fields of a data descriptor may be zero in the header.
    allowed = [
        {item, 0} if flags & _DESCRIPTOR_FLAG else {item} for item in entry.checksum_and_sizes
    ]
    in_header = (crc32, packed, size)
    are_same = all(value in values for value, values in zip(in_header, allowed, strict=True))
    require(are_same, f"{subject} of another size or checksum in its header", REPACK)
    start = extra_offset + extra_bytes
    remaining = end - start - entry.packed_bytes
    require(remaining >= 0, f"{subject} that shares bytes with another", REPACK)
    trailing = os.pread(descriptor, min(remaining, _MAX_DESCRIPTOR_BYTES + 1), end - remaining)
    require(trailing in descriptors, f"{subject} with extra bytes behind it", REPACK)
    return replace(entry, start=start)


def _make_data_descriptors(entry: ArchiveMember) -> list[bytes]:
    """Return the valid data descriptors of a member: of 32 or 64 bits, with a signature or not."""
    forms = [struct.pack("<L2Q", *entry.checksum_and_sizes)]
    if max(entry.checksum_and_sizes) <= _MAX_32:
        forms.append(struct.pack("<3L", *entry.checksum_and_sizes))
    return forms + [b"PK\x07\x08" + form for form in forms]


def _read_zip64_fields(extra: bytes, *fields: int) -> list[int]:
    """Return 32-bit fields; those with all bits set are replaced by values of the zip64 field."""
    offset, zip64_field = 0, b""
    while offset + _FIELD.size <= len(extra) and not zip64_field:
        tag, length = _FIELD.unpack_from(extra, offset)
        offset += _FIELD.size
        if tag == _FIELD_64:
            zip64_field = extra[offset : offset + length // 8 * 8]
        offset += length
    numbers = struct.iter_unpack("<Q", zip64_field)
    return [next(numbers, (field,))[0] if field == _MAX_32 else field for field in fields]


def _read_struct(descriptor: int, layout: struct.Struct, offset: int) -> tuple[Any, ...]:
    return layout.unpack(os.pread(descriptor, layout.size, offset))


def _inflate(pieces: Iterator[bytes], size_bytes: int) -> Iterator[bytes]:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    remaining = size_bytes
    try:
        # The empty piece flushes the output that remains after the last input.
        for piece in chain(pieces, [b""]):
            data, unconsumed = inflater.decompress(piece, CHUNK_BYTES), inflater.unconsumed_tail
            while data:
                remaining -= len(data)
                require(remaining >= 0, "unpacks to more bytes than its entry declares", REPACK)
                yield data
                data = inflater.decompress(unconsumed, CHUNK_BYTES)
                unconsumed = inflater.unconsumed_tail
    except zlib.error as exc:
        raise BundleFormatError("is damaged: its bytes cannot be inflated") from exc
    is_whole = inflater.eof and not inflater.unused_data and remaining == 0
    require(is_whole, "unpacks to fewer bytes than its entry declares, or has extra ones", REPACK)


def _read_pieces(descriptor: int, start: int, size_bytes: int) -> Iterator[bytes]:
    end = start + size_bytes
    while start < end:
        piece = os.pread(descriptor, min(CHUNK_BYTES, end - start), start)
        require(bool(piece), "is damaged: it ends inside a member")
        yield piece
        start += len(piece)
