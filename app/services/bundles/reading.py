"""A bundle that came in, as a file: which members it has, and that it is whole.

Nothing in it is trusted before its directory has been judged, and nothing is parsed before the
whole archive has been written again, in thought, from the members it claims to have: if a single
byte of what came differs from that, it is refused. So there is no second way to say the same thing,
and no header, checksum, offset or gap that nobody looks at.
"""

import hashlib
import os
import re
import struct
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from app.models.media import CHUNK_BYTES
from app.services.bundles.archive import (
    BLOBS,
    LINE_FILES,
    MANIFEST,
    ArchiveWriter,
)
from app.services.bundles.faults import WrongError, require, wrong_at
from app.services.bundles.rows import (
    FORMAT,
    MANIFEST_HEADS,
    MANIFESTS,
    VERSION,
    FileLine,
    Manifest,
    read_line,
)

MOST_MEMBERS = 100_000
"""Members of one bundle: the files of lines, the manifest, and one for each distinct blob."""

_BLOB_NAME = re.compile(r"blobs/[0-9a-f]{64}\Z")
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64_BYTES = 20
# A directory entry of ours has 46 bytes, a name of at most 70, and at most 28 for a large file.
_MOST_ENTRY_BYTES = 46 + 70 + 28
# A file in the manifest is a name of 70 characters, a digest of 64, a size, and what is around.
_MOST_FILE_LINE_BYTES = 256
_MOST_SESSION_BYTES = 1_024
_DAMAGED = "is damaged: its bytes are not those of the archive this service writes"
_NOT_READABLE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    struct.error,
    NotImplementedError,
    ValueError,
    OverflowError,
    EOFError,
    OSError,
)


@dataclass(frozen=True, slots=True)
class Member:
    """A member, and where its bytes begin."""

    name: str
    start: int
    size_bytes: int


class BundleFile:
    """The members of a bundle that is whole, and what its manifest says."""

    def __init__(self, file: IO[bytes], members: Sequence[Member], manifest: Manifest) -> None:
        self._descriptor = file.fileno()
        self._members = {member.name: member for member in members}
        self.manifest = manifest

    @property
    def blobs(self) -> dict[str, int]:
        """The digests of its blobs, in order, with their sizes."""
        return {
            name.removeprefix(BLOBS): member.size_bytes
            for name, member in self._members.items()
            if name.startswith(BLOBS)
        }

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of a member in pieces of at most a megabyte."""
        member = self._members[name]
        return _pieces(self._descriptor, member.start, member.size_bytes)

    def lines(self, name: str, *, longest_bytes: int) -> Iterator[tuple[str, bytes]]:
        """The lines of a member, each with its place.

        Raises:
            InvalidBundleError: One is too long, or the last has no end.
        """
        begun: list[bytes] = []
        begun_bytes = 0
        number = 1
        for chunk in self.chunks(name):
            # Only what is new is searched: a line may have many chunks.
            first, *further = chunk.split(b"\n")
            begun.append(first)
            begun_bytes += len(first)
            with wrong_at(f"{name}/{number}"):
                require(begun_bytes <= longest_bytes, "is longer than a record may be")
            for line in further:
                yield f"{name}/{number}", b"".join(begun)
                number += 1
                begun, begun_bytes = [line], len(line)
        with wrong_at(f"{name}/{number}"):
            require(not begun_bytes, "has no end")


def read_bundle(file: IO[bytes]) -> BundleFile:
    """The bundle in a file, every byte of it judged; blocks.

    Raises:
        InvalidBundleError: It is none, or it is damaged.
    """
    with wrong_at(""):
        names = _names(file)
        _check_names([name for name, _ in names])
        members, digests = _written_again(file, names)
    *others, last = members
    with wrong_at(MANIFEST):
        most = _MOST_SESSION_BYTES + len(members) * _MOST_FILE_LINE_BYTES
        require(last.size_bytes <= most, "is longer than it may be")
        manifest = _manifest(b"".join(_pieces(file.fileno(), last.start, last.size_bytes)))
        described = tuple(
            FileLine(member.name, member.size_bytes, digest)
            for member, digest in zip(others, digests, strict=False)
        )
        require(manifest.files == described, "does not describe the files of the bundle")
    for member, digest in zip(others, digests, strict=False):
        if member.name.startswith(BLOBS):
            with wrong_at(member.name):
                require(member.name == BLOBS + digest, "does not have the digest it is named by")
    return BundleFile(file, members, manifest)


def _manifest(text: bytes) -> Manifest:
    head = MANIFEST_HEADS.decode(text)
    require(head.format == FORMAT, "is that of something else")
    require(1 <= head.version <= VERSION, "names a version of the format that is not known here")
    return read_line(MANIFESTS, text)


def _names(file: IO[bytes]) -> list[tuple[str, int]]:
    """The names and sizes in the directory of an archive, in order, none of it believed yet."""
    _check_directory_size(file)
    try:
        # The directory alone is read: about as many bytes as have been found acceptable.
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
    except _NOT_READABLE as exc:
        raise WrongError("is not a zip archive that can be read") from exc
    require(not any(info.flag_bits & 1 for info in infos), "has members that are encrypted")
    require(
        all(info.compress_type == zipfile.ZIP_STORED for info in infos),
        "has members that are compressed",
    )
    return [(info.filename, info.file_size) for info in infos]


def _check_directory_size(file: IO[bytes]) -> None:
    """Refuse a directory that is larger than that of a bundle, before it is read into memory."""
    descriptor = file.fileno()
    length = os.fstat(descriptor).st_size
    start = length - _END.size
    require(start >= 0, "is too short for a zip archive")
    end = _END.unpack(os.pread(descriptor, _END.size, start))
    require(end[0] == b"PK\x05\x06" and end[7] == 0, "does not end as a zip archive ends")
    count, size, offset = end[4:7]
    if 0xFFFF in end[3:5] or 0xFFFFFFFF in end[5:7]:
        start -= _LOCATOR_64_BYTES + _END_64.size
        require(start >= 0, "is too short for a zip archive")
        end = _END_64.unpack(os.pread(descriptor, _END_64.size, start))
        require(end[0] == b"PK\x06\x06", "does not end as a zip archive ends")
        count, size, offset = end[7:10]
    require(count <= MOST_MEMBERS, f"has more than the {MOST_MEMBERS} members a bundle may have")
    require(size <= count * _MOST_ENTRY_BYTES, "has a directory that is none of ours")
    require(offset + size == start, "does not end as a zip archive ends")


def _check_names(names: Sequence[str]) -> None:
    blobs = names[len(LINE_FILES) : -1]
    require(len(set(names)) == len(names), "has a member twice")
    require(
        all(name in LINE_FILES or name == MANIFEST or _BLOB_NAME.match(name) for name in names),
        "has members that no bundle has",
    )
    missing = [name for name in (*LINE_FILES, MANIFEST) if name not in names]
    require(not missing, f"has no {', '.join(missing)}")
    require(
        list(names) == [*LINE_FILES, *sorted(blobs), MANIFEST], "has its members in another order"
    )


class _Comparing:
    """A sink that holds what is written to it against a file, and says whether it is the same.

    It does not raise: the library writes more when it is told to let go.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.position = 0
        self.is_same = True

    def write(self, data: bytes, /) -> int:
        """See `Sink.write`."""
        if self.is_same:
            self.is_same = os.pread(self._descriptor, len(data), self.position) == data
        self.position += len(data)
        return len(data)

    def flush(self) -> None:
        """See `Sink.flush`."""


def _written_again(
    file: IO[bytes], names: Sequence[tuple[str, int]]
) -> tuple[list[Member], list[str]]:
    """The members with their digests, once the archive written from them is the one in the file."""
    descriptor = file.fileno()
    length = os.fstat(descriptor).st_size
    require(sum(size for _, size in names) <= length, "has members larger than itself")
    sink = _Comparing(descriptor)
    archive = ArchiveWriter(sink)
    members, digests = [], []
    try:
        for name, size_bytes in names:
            digest = hashlib.sha256()
            with archive.member(name, size_bytes) as member:
                members.append(Member(name, sink.position, size_bytes))
                for piece in _pieces(descriptor, sink.position, size_bytes):
                    digest.update(piece)
                    member.write(piece)
            digests.append(digest.hexdigest())
            require(sink.is_same, _DAMAGED)
        archive.close()
        require(sink.is_same and sink.position == length, _DAMAGED)
    finally:
        # What the library still writes when it is thrown away is compared with nothing.
        sink.is_same = False
    return members, digests


def _pieces(descriptor: int, start: int, size_bytes: int) -> Iterator[bytes]:
    end = start + size_bytes
    while start < end:
        piece = os.pread(descriptor, min(CHUNK_BYTES, end - start), start)
        require(bool(piece), "ends before its members do")
        yield piece
        start += len(piece)
