"""A bundle that came in, as a file: which members it has, and that they are what its manifest says.

The zip may be packed by any program. What makes the bundle is its manifest: every file it names has
to be there with the size and the SHA-256 it gives, and no other. The manifest itself has no digest
but is written in one form only. Nothing is parsed before the members of the zip are found to be
sound (see `archive`), and no line before its file has the digest it should have.
"""

import hashlib
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO

import msgspec

from app.services.bundles.archive import (
    BLOBS,
    LINE_FILES,
    MANIFEST,
    Member,
    member_chunks,
    read_members,
)
from app.services.bundles.format_errors import REPACK, errors_at, require
from app.services.bundles.rows import FORMAT, VERSION, Manifest, ManifestHead, read_line

MOST_MEMBERS = 100_000
"""Members of one bundle: the files of lines, the manifest, and one for each distinct blob."""

# A file in the manifest is a name of 70 characters, a digest of 64, a size, and what is around.
_MOST_FILE_LINE_BYTES = 256
_MOST_SESSION_BYTES = 1_024
# Above every record that is made here: a message has 16 MiB, a page somewhat more with its levels.
_LONGEST_LINE_BYTES = 256 * 1024 * 1024
# What costs a sender few bytes may not cost us many: text is deflated to a fifth, not to a
# thousandth. Small bundles may be of zeros.
_MOST_RATIO = 32
_SMALL_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class BundleFile:
    """The members of a bundle that is whole, and what its manifest says."""

    descriptor: int
    members: Mapping[str, Member]
    manifest: Manifest

    @property
    def blobs(self) -> dict[str, int]:
        """The digests of its blobs, in order, with their sizes."""
        return {each.sha256: each.size for each in self.manifest.files[len(LINE_FILES) :]}

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a member in chunks of at most a megabyte."""
        return member_chunks(self.descriptor, self.members[name])

    def lines(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Yield the lines of a member, each with its location.

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
            with errors_at(f"{name}/{number}"):
                require(begun_bytes <= _LONGEST_LINE_BYTES, "is longer than a record may be")
            for line in further:
                yield f"{name}/{number}", b"".join(begun)
                number += 1
                begun, begun_bytes = [line], len(line)
        with errors_at(f"{name}/{number}"):
            require(not begun_bytes, "has no end")


def read_bundle(file: IO[bytes], most_bytes: int) -> BundleFile:
    """Return the bundle in a file, every byte of it checked; blocks.

    Args:
        file: The zip, which is read by position.
        most_bytes: The most that its members may have unpacked.

    Raises:
        InvalidBundleError: It is none, or it is damaged.
    """
    descriptor = file.fileno()
    with errors_at(""):
        members = _members_by_name(descriptor)
        require(MANIFEST in members, f"has no `{MANIFEST}`", REPACK)
        _check_unpacked_size(descriptor, members, most_bytes)
    with errors_at(MANIFEST):
        manifest = _read_manifest(descriptor, members)
    files = {each.name: each for each in manifest.files}
    with errors_at(""):
        for name, member in members.items():
            is_named = name in files or name == MANIFEST
            require(
                is_named, f"has a member {member.label} that its manifest does not name", REPACK
            )
    for name, described in files.items():
        with errors_at(name):
            require(name in members, "is missing: the manifest names it", REPACK)
            require(members[name].size_bytes == described.size, "has not the size in the manifest")
            digest = hashlib.sha256()
            _read_through(descriptor, members[name], digest.update)
            is_same = digest.hexdigest() == described.sha256
            require(is_same, "does not have the SHA-256 that the manifest gives for it")
    return BundleFile(descriptor, members, manifest)


def _members_by_name(descriptor: int) -> dict[str, Member]:
    """Return the members of the zip by name, without the folder of the blobs."""
    members: dict[str, Member] = {}
    for member in read_members(descriptor, most_entries=MOST_MEMBERS + 1):
        require(member.name not in members, f"has a member {member.label} twice", REPACK)
        members[member.name] = member
    if folder := members.pop(BLOBS, None):
        require(not folder.size_bytes, f"has bytes in the folder `{BLOBS}`", REPACK)
        _read_through(descriptor, folder, len)
    return members


def _check_unpacked_size(descriptor: int, members: Mapping[str, Member], most_bytes: int) -> None:
    size_bytes = sum(member.size_bytes for member in members.values())
    require(
        size_bytes <= most_bytes,
        f"unpacks to more than {most_bytes} bytes, the most that is imported here",
        "Who runs the service can raise `PAGEFAULT_LIMITS__BUNDLE_BYTES`.",
    )
    packed_bytes = os.fstat(descriptor).st_size
    require(
        size_bytes <= max(_SMALL_BYTES, packed_bytes * _MOST_RATIO),
        f"unpacks to more than {_MOST_RATIO} times its size",
        "Send the file as it was exported, or pack its files again without compression.",
    )


def _read_manifest(descriptor: int, members: Mapping[str, Member]) -> Manifest:
    member = members[MANIFEST]
    most = _MOST_SESSION_BYTES + len(members) * _MOST_FILE_LINE_BYTES
    require(member.size_bytes <= most, "is longer than it may be")
    text = bytearray()
    _read_through(descriptor, member, text.extend)
    head = msgspec.json.decode(text, type=ManifestHead)
    require(head.format == FORMAT, "is that of something else")
    require(1 <= head.version <= VERSION, "names a version of the format that is not known here")
    manifest = read_line(msgspec.json.Decoder(Manifest), bytes(text))
    names = [each.name for each in manifest.files]
    blobs = sorted({BLOBS + each.sha256 for each in manifest.files[len(LINE_FILES) :]})
    is_in_order = names == [*LINE_FILES, *blobs]
    require(is_in_order, "does not name the four files of lines, then each blob by its SHA-256")
    return manifest


def _read_through(descriptor: int, member: Member, take: Callable[[bytes], object]) -> None:
    """Hand all bytes of a member on, and raise unless they have the checksum of the archive."""
    crc32 = 0
    for chunk in member_chunks(descriptor, member):
        crc32 = zlib.crc32(chunk, crc32)
        take(chunk)
    require(crc32 == member.crc32, "does not have the checksum that the archive gives for it")
