"""Bundles that other programs have packed are imported."""

import io
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from app.models.limits import Limits
from packages.bundles.tests.zip_entries import (
    DESCRIPTOR,
    UTF_8,
    ZipEntry,
    deflated,
    descriptor_of,
    packed_by_hand,
)
from tests.contract.bundled_sessions import (
    export,
    listed,
    make_small_session,
    members_of,
    take_in,
)
from tests.kit.servers import Backends, Engine, LiveService, serving

pytestmark = pytest.mark.engines("embedded")

Members = dict[str, bytes]
ORIGINAL = Path("packages/bundles/tests/data/session_of_version_1.zip")
# Its members, packed again by Info-ZIP 3.0, 7-Zip 26.02 and libarchive's bsdtar 3.6.2.
PACKED = sorted(Path("packages/bundles/tests/data/packed_bundles").glob("*.zip"))


class Pipe(io.RawIOBase):
    """A file without `seek`, so that sizes are written behind the bytes."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.data += data
        return len(data)


def by_zipfile(members: Members, compression: int, level: int | None = None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression, compresslevel=level) as archive:
        archive.mkdir("blobs")
        for name, data in sorted(members.items()):
            archive.writestr(name, data)
    return buffer.getvalue()


def into_a_pipe(members: Members, *, is_zip64: bool) -> bytes:
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in reversed(members.items()):
            with archive.open(name, "w", force_zip64=is_zip64) as member:
                member.write(data)
    return bytes(pipe.data)


def with_fields_and_comments(members: Members) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for number, (name, data) in enumerate(members.items()):
            info = zipfile.ZipInfo(name, (2026, 11, 23, 12, 0, number))
            info.extra = struct.pack("<2H4s", 0x5455, 4, b"time")
            info.comment = b"a comment"
            # A link, by its attributes: what counts is its bytes.
            info.external_attr = 0o120777 << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def entries_of(members: Members) -> list[ZipEntry]:
    return [ZipEntry(name, data) for name, data in members.items()]


def stored_behind(members: Members) -> list[ZipEntry]:
    """Return members with a data descriptor without a signature."""
    return [
        replace(entry, flags=DESCRIPTOR, behind=descriptor_of(entry.data)[4:])
        for entry in entries_of(members)
    ]


PACKERS: dict[str, Callable[[Members], bytes]] = {
    "compressed a little": lambda m: by_zipfile(m, zipfile.ZIP_DEFLATED, 1),
    "compressed well": lambda m: by_zipfile(m, zipfile.ZIP_DEFLATED, 9),
    "not compressed": lambda m: by_zipfile(m, zipfile.ZIP_STORED),
    "backwards into a pipe": lambda m: into_a_pipe(m, is_zip64=False),
    "zip64 into a pipe": lambda m: into_a_pipe(m, is_zip64=True),
    "fields, comments, dates, links": with_fields_and_comments,
    "descriptors without a signature": lambda m: packed_by_hand(stored_behind(m)),
    "names marked as UTF-8": lambda m: packed_by_hand(
        [replace(entry, flags=UTF_8) for entry in entries_of(m)]
    ),
    "an end in zip64 that need not be": lambda m: packed_by_hand(entries_of(m), zip64={}),
    "all of the end in zip64": lambda m: packed_by_hand(
        entries_of(m), zip64={}, end={"count": 0xFFFF, "size": 2**32 - 1, "start": 2**32 - 1}
    ),
    "one compressed, the others not": lambda m: packed_by_hand(
        [
            replace(entry, method=8, packed=deflated(entry.data))
            if "history" in entry.name
            else entry
            for entry in entries_of(m)
        ]
    ),
}


@pytest.fixture(scope="module")
def bundle(service: LiveService) -> bytes:
    with service.client() as client:
        make_small_session(client)
        return export(client)


@pytest.fixture(scope="module")
def of_version_1(service: LiveService) -> Iterator[httpx.Client]:
    """Yield a client in a project that has the session of the bundles in `tests/data`."""
    with service.client() as client:
        assert take_in(client, ORIGINAL.read_bytes()).status_code == 201
        yield client


@pytest.mark.parametrize("name", PACKERS)
def test_bundle_packed_in_another_way_is_the_same_bundle(
    service: LiveService, bundle: bytes, name: str
) -> None:
    packed = PACKERS[name](members_of(bundle))
    assert packed != bundle
    with service.client() as client:
        created = take_in(client, packed)
        assert created.status_code == 201, created.text
        assert export(client) == bundle


@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.stem)
def test_bundle_packed_by_another_program_is_the_same_bundle(
    service: LiveService, of_version_1: httpx.Client, path: Path
) -> None:
    with service.client() as client:
        created = take_in(client, path.read_bytes())
        assert created.status_code == 201, created.text
        assert export(client) == export(of_version_1)


@pytest.mark.promise(
    "security.md#the-database",
    "A bundle unpacks to no more than may be imported",
    kept_by="packages/bundles/src/pagefault_bundles/bundle_reader.py",
    tried="`PAGEFAULT_LIMITS__BUNDLE_BYTES`, 32 times the bytes sent",
)
def test_bundle_that_unpacks_to_more_than_is_imported_is_refused(
    backends: Backends, engine: Engine, tmp_path: Path
) -> None:
    members = members_of(ORIGINAL.read_bytes())
    packed = by_zipfile(members, zipfile.ZIP_DEFLATED)
    limit = sum(map(len, members.values())) - 1
    assert len(packed) < limit
    settings = backends.settings(engine, tmp_path, limits=Limits(bundle_bytes=limit))
    with serving(settings) as small, small.client() as client:
        answer = take_in(client, packed)
        sentence = f"unpacks to more than {limit} bytes, the most that is imported here"
        assert answer.json()["errors"] == [{"pointer": "", "detail": sentence}]
        assert listed(client, "/api/sessions") == []


def test_another_program_can_pack_an_empty_session(service: LiveService) -> None:
    with service.client() as one, service.client() as other:
        assert one.put("/api/sessions/s-1").status_code == 201
        packed = by_zipfile(members_of(export(one)), zipfile.ZIP_DEFLATED)
        assert take_in(other, packed).status_code == 201
        assert export(other) == export(one)
