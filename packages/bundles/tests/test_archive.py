"""The zip of a bundle has one form, which never changes."""

import hashlib
import io
import zipfile

from pagefault_bundles.archive import ArchiveWriter, ChunkBuffer

MEMBERS = {"history.jsonl": b"{}\n", "pages.jsonl": b"", "blobs/" + "0" * 64: bytes(100_000)}


def written(members: dict[str, bytes], piece_bytes: int) -> bytes:
    buffer = ChunkBuffer()
    archive = ArchiveWriter(buffer)
    for name, data in members.items():
        with archive.member(name, len(data)) as member:
            for start in range(0, len(data), piece_bytes):
                member.write(data[start : start + piece_bytes])
    archive.close()
    return buffer.take()


def test_archive_is_read_by_every_zip_program() -> None:
    with zipfile.ZipFile(io.BytesIO(written(MEMBERS, 1_000))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == MEMBERS
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_archive_is_the_same_however_it_is_written() -> None:
    assert written(MEMBERS, 7) == written(MEMBERS, 100_000)


def test_form_of_the_archive_has_not_changed() -> None:
    # Exports of the same session have the same bytes in all releases.
    digest = hashlib.sha256(written(MEMBERS, 1_000)).hexdigest()
    assert digest == "703c85523d3aa710389e3690ef39952e74791b405377a743e4f3c68c4738e20c"


def test_buffer_keeps_only_bytes_that_were_not_taken() -> None:
    buffer = ChunkBuffer()
    buffer.write(b"ab")
    buffer.write(b"c")
    assert (buffer.size_bytes, buffer.take()) == (3, b"abc")
    assert (buffer.size_bytes, buffer.take()) == (0, b"")
