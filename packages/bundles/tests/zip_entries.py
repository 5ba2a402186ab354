"""Zips written field by field, so that a test can falsify any of them."""

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ENCRYPTED, DESCRIPTOR, UTF_8 = 0x0001, 0x0008, 0x0800
NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True)
class ZipEntry:
    """A member with its bytes; `header` and `entry` have false values for its fields."""

    name: str
    data: bytes
    flags: int = 0
    method: int = 0
    behind: bytes = b""
    """Bytes behind the member: a data descriptor, or foreign ones."""
    packed: bytes | None = None
    header: Mapping[str, int | str] = field(default_factory=dict)
    entry: Mapping[str, int | str] = field(default_factory=dict)

    def fields(self, changes: Mapping[str, int | str]) -> dict[str, int | str]:
        packed = self.data if self.packed is None else self.packed
        return {
            "name": self.name,
            "flags": self.flags,
            "method": self.method,
            "crc32": zlib.crc32(self.data),
            "packed": len(packed),
            "size": len(self.data),
            **changes,
        }


def deflated(data: bytes) -> bytes:
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(data) + deflater.flush()


def descriptor_of(data: bytes) -> bytes:
    """Return the data descriptor of a stored member."""
    return struct.pack("<4s3L", b"PK\x07\x08", zlib.crc32(data), len(data), len(data))


def packed_by_hand(
    entries: Sequence[ZipEntry],
    *,
    front: bytes = b"",
    end: Mapping[str, int] = NOTHING,
    zip64: Mapping[str, int] | None = None,
) -> bytes:
    """Return a zip of members; `end` and `zip64` have false values for its ends."""
    archive, directory = bytearray(front), bytearray()
    for entry in entries:
        says = entry.fields(entry.header)
        name = str(says["name"]).encode("latin-1")
        numbers = [says[key] for key in ("flags", "method")]
        sums = [says[key] for key in ("crc32", "packed", "size")]
        start = len(archive)
        archive += struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, *numbers, 0, 33, *sums, len(name), 0)
        archive += name + (entry.data if entry.packed is None else entry.packed) + entry.behind
        says = {"start": start, **entry.fields(entry.entry)}
        name = str(says["name"]).encode("latin-1")
        numbers = [says[key] for key in ("flags", "method")]
        sums = [says[key] for key in ("crc32", "packed", "size")]
        directory += struct.pack("<4s6H3L", b"PK\x01\x02", 20, 20, *numbers, 0, 33, *sums)
        directory += struct.pack("<5H2L", len(name), 0, 0, 0, 0, 0, says["start"]) + name
    count, start = len(entries), len(archive)
    sizes = {"disk": 0, "count": count, "size": len(directory), "start": start}
    archive += directory
    if zip64 is not None:
        at, wide = len(archive), {**sizes, **zip64}
        numbers_64 = (
            wide["disk"],
            wide["disk"],
            wide["count"],
            wide["count"],
            wide["size"],
            wide["start"],
        )
        archive += struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, *numbers_64)
        archive += struct.pack("<4sLQL", b"PK\x06\x07", 0, wide.get("at", at), 1)
    end_fields = {**sizes, **end}
    ends = (
        end_fields["disk"],
        end_fields["disk"],
        end_fields["count"],
        end_fields["count"],
        end_fields["size"],
        end_fields["start"],
    )
    return bytes(archive + struct.pack("<4s4H2LH", b"PK\x05\x06", *ends, 0))
