"""Reading what the kernel has in memory, on real files."""

import os
import sys
from pathlib import Path

import pytest

from app.stores.blobs.file_reader import MAX_CACHED_BYTES, CachedFiles, FileReader
from app.stores.blobs.filesystem import FilesystemBlobStore
from app.stores.blobs.store import read_whole

pytestmark = pytest.mark.anyio

DATA = os.urandom(1_000)


def written(folder: Path, data: bytes = DATA) -> str:
    path = folder / "file"
    path.write_bytes(data)
    return str(path)


async def stored(store: FilesystemBlobStore) -> str:
    """The digest of a blob."""
    async with store.writer("p", limit_bytes=len(DATA)) as writer:
        await writer.write(DATA)
        return (await writer.commit()).digest


def forget(path: Path) -> None:
    """Have the kernel drop what it holds of a file, where it can."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.fixture
def can_tell(tmp_path: Path) -> bool:
    """Return whether the file system of the test can say what is in memory; some cannot."""
    with Path(written(tmp_path)).open("rb") as file:
        try:
            return os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT) == 1
        except OSError:
            return False


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, None), (0, 1_000), (0, 5_000), (10, 20), (999, None), (1_000, None), (2_000, 3_000)],
)
async def test_what_is_in_memory_is_read_like_a_slice(
    tmp_path: Path, can_tell: bool, start: int, end: int | None
) -> None:
    wanted = DATA[start:end]
    expected = wanted if can_tell or not wanted else None
    assert CachedFiles().read(written(tmp_path), start, end) == expected


async def test_an_empty_file_is_no_bytes(tmp_path: Path) -> None:
    assert CachedFiles().read(written(tmp_path, b""), 0, None) == b""


@pytest.mark.parametrize(
    ("start", "end", "is_small"),
    [
        (0, MAX_CACHED_BYTES, True),
        (0, MAX_CACHED_BYTES + 1, False),
        (0, None, False),
        (1, None, True),
    ],
)
async def test_more_than_is_quickly_copied_is_left_to_a_thread(
    tmp_path: Path, can_tell: bool, start: int, end: int | None, is_small: bool
) -> None:
    place = written(tmp_path, bytes(MAX_CACHED_BYTES + 1))
    assert (CachedFiles().read(place, start, end) is not None) is (can_tell and is_small)


async def test_a_small_blob_in_memory_takes_no_thread(tmp_path: Path, can_tell: bool) -> None:
    store = FilesystemBlobStore(tmp_path)
    reader = await store.open("p", await stored(store))
    assert isinstance(reader, FileReader) is not can_tell
    assert b"".join([piece async for piece in reader]) == DATA


async def test_what_is_not_there_is_not_looked_for(tmp_path: Path) -> None:
    files = CachedFiles()
    for place in (tmp_path / "absent", tmp_path / "no" / "folder", tmp_path):
        assert files.read(str(place), 0, 10) is None
    assert (files.has(str(tmp_path / "absent")), files.has(written(tmp_path))) == (False, True)


async def test_files_are_let_go_of(tmp_path: Path) -> None:
    files, place = CachedFiles(), written(tmp_path)
    before = os.listdir("/proc/self/fd")
    for _ in range(50):
        files.read(place, 0, None)
        files.read(place, 0, MAX_CACHED_BYTES + 1)
        files.read(str(tmp_path), 0, 1)
        files.has(place)
    assert len(os.listdir("/proc/self/fd")) == len(before)


async def test_what_has_to_be_fetched_from_the_disk_is_read_all_the_same(tmp_path: Path) -> None:
    store = FilesystemBlobStore(tmp_path)
    digest = await stored(store)
    forget(await store.path("p", digest))
    assert await read_whole(store, "p", digest) == DATA


async def test_a_system_that_cannot_say_what_is_in_memory_reads_in_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    store = FilesystemBlobStore(tmp_path)
    digest = await stored(store)
    reader = await store.open("p", digest)
    assert isinstance(reader, FileReader)
    assert b"".join([piece async for piece in reader]) == DATA
