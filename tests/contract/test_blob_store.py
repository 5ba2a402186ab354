"""Contract of blob stores; the same tests for all of them."""

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from app.errors import DigestMismatchError, StoreUnavailableError
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.filesystem import FilesystemBlobStore
from app.stores.blobs.store import (
    BlobMissingError,
    BlobStore,
    ListedBlob,
    StoredBlob,
    blob_path,
    project_path,
    quarantine_path,
)
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.model.media import InMemoryMedia, MediaSource
from tests.contract.blob_stores import (
    FilesystemUnderTest,
    S3UnderTest,
    StoreUnderTest,
    s3_store,
)
from tests.kit.object_store import ObjectStoreServer

pytestmark = pytest.mark.anyio

PROJECT = "project-a"
MIB = 1024 * 1024
NO_LIMIT = 1024 * MIB
SMALL = b"a small blob"
# Below, at and above the buffers and windows of the stores.
SIZES = [0, 1, 64 * 1024, MIB, MIB + 1, 8 * MIB, 8 * MIB + 1, 20 * MIB]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def object_store_server() -> Iterator[ObjectStoreServer]:
    with ObjectStoreServer() as server:
        yield server


@pytest.fixture(params=["filesystem", "s3"])
def under_test(request: pytest.FixtureRequest, tmp_path: Path) -> StoreUnderTest:
    if request.param == "filesystem":
        return FilesystemUnderTest(tmp_path / "data" / "store")
    return S3UnderTest(request.getfixturevalue("object_store_server"), tmp_path / "spool")


@pytest.fixture
def blob_store(under_test: StoreUnderTest) -> BlobStore:
    return under_test.store


@cache
def random_bytes(size: int) -> bytes:
    return random.Random(size).randbytes(size)  # noqa: S311 - the same in every run


def stored(data: bytes) -> StoredBlob:
    return StoredBlob(hashlib.sha256(data).hexdigest(), len(data))


def place(data: bytes, project_id: str = PROJECT) -> str:
    return blob_path(project_id, stored(data).digest)


async def put(store: BlobStore, data: bytes, project_id: str = PROJECT) -> StoredBlob:
    return await store.put(project_id, InMemoryMedia(data), limit_bytes=NO_LIMIT)


async def write(
    store: BlobStore,
    chunks: Iterable[bytes],
    *,
    limit_bytes: int = NO_LIMIT,
    expected_digest: str | None = None,
) -> StoredBlob:
    async with store.writer(PROJECT, limit_bytes=limit_bytes) as writer:
        for chunk in chunks:
            await writer.write(chunk)
        return await writer.commit(expected_digest)


def broken_body(data: bytes) -> Iterator[bytes]:
    yield data
    raise ConnectionResetError


def visible(under_test: StoreUnderTest) -> list[str]:
    """The objects that anybody may see."""
    return [name for name in under_test.objects() if name.startswith("blobs/")]


async def write_draft(store: BlobStore, data: bytes) -> StoredBlob:
    draft = store.draft(PROJECT, limit_bytes=NO_LIMIT)
    draft.append(data)
    return await draft.commit()


async def read(
    store: BlobStore, digest: str, *, start: int = 0, end: int | None = None, project: str = PROJECT
) -> bytes:
    async with aclosing(await store.open(project, digest, start=start, end=end)) as reader:
        return b"".join([piece async for piece in reader])


async def listed(store: BlobStore, project: str = PROJECT) -> list[ListedBlob]:
    async with aclosing(store.list_blobs(project)) as found:
        return [blob async for blob in found]


@pytest.mark.parametrize("size", SIZES)
async def test_what_is_put_is_read_back_and_is_the_only_object(
    under_test: StoreUnderTest, size: int
) -> None:
    data = random_bytes(size)
    assert await put(under_test.store, data) == stored(data)
    assert await read(under_test.store, stored(data).digest) == data
    assert await under_test.store.size(PROJECT, stored(data).digest) == size
    assert under_test.objects() == [place(data)]


@pytest.mark.parametrize("size", SIZES)
async def test_what_is_written_is_read_back_and_is_the_only_object(
    under_test: StoreUnderTest, size: int
) -> None:
    data = random_bytes(size)
    async with under_test.store.writer(PROJECT, limit_bytes=size) as writer:
        for start in range(0, size, 300_000):
            await writer.write(data[start : start + 300_000])
        assert await writer.commit(stored(data).digest) == stored(data)
    assert await read(under_test.store, stored(data).digest) == data
    assert under_test.objects() == [place(data)]


async def test_chunks_of_any_size_are_gathered(blob_store: BlobStore) -> None:
    data = random_bytes(3 * MIB)
    sizes = random.Random(7)  # noqa: S311 - the same in every run
    async with blob_store.writer(PROJECT, limit_bytes=NO_LIMIT) as writer:
        start = 0
        while start < len(data):
            size = sizes.choice([0, 1, 2, 17, 1000])
            await writer.write(data[start : start + size])
            start += size
        assert await writer.commit() == stored(data)
    assert await read(blob_store, stored(data).digest) == data


async def test_one_huge_chunk_is_taken(blob_store: BlobStore) -> None:
    data = random_bytes(20 * MIB)
    async with blob_store.writer(PROJECT, limit_bytes=NO_LIMIT) as writer:
        await writer.write(b"head")
        await writer.write(data)
        assert await writer.commit() == stored(b"head" + data)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (0, None),
        (0, 1),
        (5, 5),
        (7, 3),
        (1, MIB + 1),
        (MIB - 1, MIB + 1),
        (4 * MIB, 4 * MIB + 1),
        (3 * MIB, None),
        (9 * MIB, None),
        (9 * MIB - 1, None),
        (9 * MIB - 1, 99 * MIB),
        (99 * MIB, None),
        (98 * MIB, 99 * MIB),
    ],
)
async def test_a_range_is_read_like_a_slice(
    blob_store: BlobStore, start: int, end: int | None
) -> None:
    data = random_bytes(9 * MIB)
    await put(blob_store, data)
    assert await read(blob_store, stored(data).digest, start=start, end=end) == data[start:end]


async def test_an_empty_blob_has_empty_ranges(blob_store: BlobStore) -> None:
    await put(blob_store, b"")
    assert await read(blob_store, stored(b"").digest, start=0, end=10) == b""
    assert await read(blob_store, stored(b"").digest, start=3) == b""


async def test_pieces_are_neither_empty_nor_above_a_megabyte(blob_store: BlobStore) -> None:
    await put(blob_store, random_bytes(9 * MIB))
    reader = await blob_store.open(PROJECT, stored(random_bytes(9 * MIB)).digest, start=5)
    sizes = [len(piece) async for piece in reader]
    assert sum(sizes) == 9 * MIB - 5
    assert min(sizes) > 0
    assert max(sizes) <= MIB


@pytest.mark.slow
async def test_many_readers_of_one_blob_get_their_own_ranges(blob_store: BlobStore) -> None:
    data = random_bytes(24 * MIB)
    await put(blob_store, data)
    answers: dict[int, bool] = {}

    async def compare(start: int) -> None:
        end = start + 2 * MIB + 11
        answers[start] = (
            await read(blob_store, stored(data).digest, start=start, end=end) == data[start:end]
        )

    starts = [number * 750_007 for number in range(32)]
    async with anyio.create_task_group() as tasks:
        for start in starts:
            tasks.start_soon(compare, start)
    assert answers == dict.fromkeys(starts, True)


async def test_a_reader_closed_early_yields_nothing_more(blob_store: BlobStore) -> None:
    await put(blob_store, random_bytes(9 * MIB))
    reader = await blob_store.open(PROJECT, stored(random_bytes(9 * MIB)).digest)
    assert await anext(reader) == random_bytes(9 * MIB)[: 1 * MIB]
    await reader.aclose()
    await reader.aclose()
    assert [piece async for piece in reader] == []


@pytest.mark.parametrize("size", [11, 9 * MIB])
async def test_bytes_beyond_the_limit_leave_nothing(under_test: StoreUnderTest, size: int) -> None:
    data = random_bytes(size)
    with pytest.raises(PayloadTooLargeError):
        await under_test.store.put(PROJECT, InMemoryMedia(data), limit_bytes=size - 1)
    with pytest.raises(PayloadTooLargeError):
        await write(under_test.store, [data[:-1], data[-1:]], limit_bytes=size - 1)
    assert under_test.objects() == []


class UnderstatedMedia(InMemoryMedia):
    """A handle that yields more than it says."""

    @property
    def size_bytes(self) -> int:
        return 1


@pytest.mark.parametrize("size", [11, 9 * MIB])
async def test_a_handle_that_understates_its_size_meets_the_limit_too(
    under_test: StoreUnderTest, size: int
) -> None:
    with pytest.raises(PayloadTooLargeError):
        await under_test.store.put(
            PROJECT, UnderstatedMedia(random_bytes(size)), limit_bytes=size - 1
        )
    assert under_test.objects() == []


@pytest.mark.parametrize("size", [11, 9 * MIB])
async def test_a_wrong_digest_leaves_nothing(under_test: StoreUnderTest, size: int) -> None:
    with pytest.raises(DigestMismatchError):
        await write(under_test.store, [random_bytes(size)], expected_digest="0" * 64)
    assert under_test.objects() == []


@pytest.mark.parametrize("size", [11, 3 * MIB, 20 * MIB])
async def test_an_abandoned_writer_leaves_nothing(under_test: StoreUnderTest, size: int) -> None:
    async with under_test.store.writer(PROJECT, limit_bytes=NO_LIMIT) as writer:
        await writer.write(random_bytes(size))
    assert under_test.objects() == []


@pytest.mark.parametrize("size", [11, 3 * MIB, 20 * MIB])
async def test_a_body_that_breaks_leaves_nothing(under_test: StoreUnderTest, size: int) -> None:
    with pytest.raises(ConnectionResetError):
        await write(under_test.store, broken_body(random_bytes(size)))
    assert under_test.objects() == []


@pytest.mark.parametrize("size", [11, 3 * MIB, 20 * MIB])
async def test_a_cancelled_writer_leaves_nothing(under_test: StoreUnderTest, size: int) -> None:
    with anyio.CancelScope() as scope:
        async with under_test.store.writer(PROJECT, limit_bytes=NO_LIMIT) as writer:
            await writer.write(random_bytes(size))
            scope.cancel()
            await writer.write(random_bytes(size))
            await anyio.sleep_forever()
    assert under_test.objects() == []


@pytest.mark.parametrize("writes", [1, 2, 3])
@pytest.mark.parametrize("turns", [0, 1, 10, 100])
async def test_a_task_cancelled_in_the_middle_of_a_write_leaves_nothing(
    under_test: StoreUnderTest, writes: int, turns: int
) -> None:
    begun = asyncio.Semaphore(0)

    async def upload() -> None:
        async with under_test.store.writer(PROJECT, limit_bytes=NO_LIMIT) as writer:
            while True:
                begun.release()
                await writer.write(random_bytes(9 * MIB))

    task = asyncio.create_task(upload())
    for _ in range(writes):
        await begun.acquire()
    for _ in range(turns):
        await anyio.to_thread.run_sync(int)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert under_test.objects() == []


async def test_a_writer_that_failed_commits_nothing(under_test: StoreUnderTest) -> None:
    async with under_test.store.writer(PROJECT, limit_bytes=3) as writer:
        await writer.write(b"abc")
        with pytest.raises(PayloadTooLargeError):
            await writer.write(b"d")
        with pytest.raises(RuntimeError):
            await writer.commit()
    assert under_test.objects() == []


@pytest.mark.parametrize("size", [11, 9 * MIB, 20 * MIB])
async def test_a_draft_is_seen_by_nobody_until_it_is_committed(
    under_test: StoreUnderTest, size: int
) -> None:
    data = random_bytes(size)
    draft = under_test.store.draft(PROJECT, limit_bytes=size)
    draft.append(data[:5])
    draft.release()
    draft.append(data[5:])
    assert (draft.size_bytes, draft.digest()) == (size, stored(data).digest)
    assert draft.read(0, size + 1) == data
    assert draft.read(4, 4) == data[4:8]
    assert draft.read(size, 1) == b""
    assert await listed(under_test.store) == []
    assert await draft.commit() == await draft.commit() == stored(data)
    assert draft.read(4, 4) == data[4:8]
    await draft.discard()
    assert under_test.objects() == [place(data)]
    assert await read(under_test.store, stored(data).digest) == data


async def test_discarded_drafts_leave_nothing(under_test: StoreUnderTest) -> None:
    untouched = under_test.store.draft(PROJECT, limit_bytes=NO_LIMIT)
    begun = under_test.store.draft(PROJECT, limit_bytes=10)
    begun.append(b"0123456789")
    with pytest.raises(PayloadTooLargeError):
        begun.append(b"0")
    for draft in (untouched, begun, begun):
        await draft.discard()
    assert under_test.objects() == []


async def test_a_draft_that_a_killed_process_leaves_is_swept(under_test: StoreUnderTest) -> None:
    under_test.store.draft(PROJECT, limit_bytes=NO_LIMIT).append(b"half a bl")
    assert len(under_test.objects()) == 1
    assert await under_test.store.sweep_temporary(3_600) == 0
    assert await under_test.store.sweep_temporary(0, dry_run=True) == 1
    assert await under_test.store.sweep_temporary(0) == 1
    assert under_test.objects() == []


async def test_several_are_kept_together_in_their_order(under_test: StoreUnderTest) -> None:
    store = under_test.store
    bodies = [random_bytes(size) for size in (0, 11, 300_000, 2 * MIB, 11)]
    draft, early = (store.draft(PROJECT, limit_bytes=NO_LIMIT) for _ in range(2))
    draft.append(b"a draft")
    early.append(b"a draft that is committed")
    await early.commit()
    seen: list[list[str]] = []
    sources: list[MediaSource] = [InMemoryMedia(body) for body in bodies]
    sources += [DraftMedia(draft), DraftMedia(early), DraftMedia(draft)]
    blobs = await store.put_all(
        PROJECT, sources, limit_bytes=NO_LIMIT, meanwhile=lambda: seen.append(visible(under_test))
    )
    kept = [*bodies, b"a draft", b"a draft that is committed", b"a draft"]
    assert blobs == [stored(body) for body in kept]
    assert seen == [[place(b"a draft that is committed")]]
    assert await draft.commit() == stored(b"a draft")
    for item in (draft, early):
        await item.discard()
    assert under_test.objects() == sorted({place(body) for body in kept})
    assert [await read(store, stored(body).digest) for body in kept] == kept


async def test_more_than_have_a_file_open_at_once_are_kept(under_test: StoreUnderTest) -> None:
    bodies = [b"%d" % number for number in range(70)]
    sources = [InMemoryMedia(body) for body in bodies]
    blobs = await under_test.store.put_all(PROJECT, sources, limit_bytes=NO_LIMIT)
    assert blobs == [stored(body) for body in bodies]
    assert under_test.objects() == sorted(place(body) for body in bodies)


async def test_nothing_is_kept_of_several_if_what_is_done_meanwhile_fails(
    under_test: StoreUnderTest,
) -> None:
    def fail() -> None:
        raise ConnectionResetError

    draft = under_test.store.draft(PROJECT, limit_bytes=NO_LIMIT)
    draft.append(SMALL)
    sources: list[MediaSource] = [InMemoryMedia(b"another"), DraftMedia(draft)]
    with pytest.raises(ConnectionResetError):
        await under_test.store.put_all(PROJECT, sources, limit_bytes=NO_LIMIT, meanwhile=fail)
    await draft.discard()
    assert under_test.objects() == []


async def test_none_of_nothing_is_kept(under_test: StoreUnderTest) -> None:
    assert await under_test.store.put_all(PROJECT, [], limit_bytes=NO_LIMIT) == []
    assert under_test.objects() == []


async def test_the_same_bytes_twice_are_one_object(under_test: StoreUnderTest) -> None:
    assert await put(under_test.store, SMALL) == await put(under_test.store, SMALL)
    assert under_test.objects() == [place(SMALL)]


@pytest.mark.promise(
    "durability.md#several-at-once",
    "The same bytes stored several times at once are one blob",
    kept_by="app/stores/blobs/store.py",
    tried="each store",
)
async def test_the_same_bytes_at_once_are_one_object(under_test: StoreUnderTest) -> None:
    data = random_bytes(9 * MIB)
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(put, under_test.store, data)
    assert under_test.objects() == [place(data)]
    assert await read(under_test.store, stored(data).digest) == data


async def test_projects_do_not_see_each_others_blobs(under_test: StoreUnderTest) -> None:
    store, digest = under_test.store, stored(SMALL).digest
    await put(store, SMALL)
    with pytest.raises(BlobMissingError):
        await read(store, digest, project="project-b")
    assert await store.size("project-b", digest) is None
    await store.delete("project-b", digest)
    await put(store, SMALL, "project-b")
    assert under_test.objects() == sorted([place(SMALL), place(SMALL, "project-b")])


@pytest.mark.promise(
    "security.md#headers-and-the-disk",
    "No text of a caller is part of a blob's path",
    kept_by="app/stores/blobs/store.py",
    tried="5 names",
)
@pytest.mark.parametrize("project_id", ["../../etc", "a/b", "\x00", "\ud800", "é" * 500])
async def test_no_text_of_the_caller_is_part_of_a_path(
    under_test: StoreUnderTest, project_id: str
) -> None:
    await put(under_test.store, SMALL, project_id)
    assert await read(under_test.store, stored(SMALL).digest, project=project_id) == SMALL
    assert under_test.objects() == [place(SMALL, project_id)]


@pytest.mark.parametrize("digest", ["", "..", "A" * 64, "0" * 63, "0" * 64 + "\n", "../" * 22])
async def test_what_is_no_digest_of_ours_reaches_no_store(
    blob_store: BlobStore, digest: str
) -> None:
    with pytest.raises(ValueError, match="64 lower-case hex digits"):
        await blob_store.open(PROJECT, digest)


@pytest.mark.parametrize(("start", "end"), [(0, None), (5, 9), (5, 5)])
async def test_a_missing_blob_is_known_before_it_is_read(
    blob_store: BlobStore, start: int, end: int | None
) -> None:
    with pytest.raises(BlobMissingError):
        await blob_store.open(PROJECT, "0" * 64, start=start, end=end)
    assert await blob_store.size(PROJECT, "0" * 64) is None


async def test_a_deleted_blob_is_gone_and_may_be_deleted_again(under_test: StoreUnderTest) -> None:
    await put(under_test.store, SMALL)
    await under_test.store.delete(PROJECT, stored(SMALL).digest)
    await under_test.store.delete(PROJECT, stored(SMALL).digest)
    assert under_test.objects() == []


async def test_the_sweep_takes_old_temporary_objects_only(under_test: StoreUnderTest) -> None:
    await put(under_test.store, SMALL)
    under_test.leave_temporary_object("one")
    under_test.leave_temporary_object("two")
    assert await under_test.store.sweep_temporary(3600) == 0
    assert await under_test.store.sweep_temporary(-5, dry_run=True) == 2
    assert under_test.objects() == sorted([place(SMALL), "tmp/one", "tmp/two"])
    # A negative age is one that every object has reached, whatever the clocks' resolution.
    assert await under_test.store.sweep_temporary(-5) == 2
    assert under_test.objects() == [place(SMALL)]


async def test_every_blob_of_a_project_is_listed_once_and_nothing_else(
    under_test: StoreUnderTest,
) -> None:
    blobs = [b"%d" % number * number for number in range(40)]
    for data in blobs:
        await put(under_test.store, data)
    await put(under_test.store, SMALL, "project-b")
    under_test.leave_temporary_object("one")
    digest = stored(SMALL).digest
    for path in (
        f"{project_path(PROJECT)}/readme.txt",
        f"{project_path(PROJECT)}/{digest}",
        f"{project_path(PROJECT)}/{digest[:2]}/{digest}.bak",
        f"{project_path(PROJECT)}/{digest[:2]}/{digest.upper()}",
        f"{project_path(PROJECT)}/00/{digest}",
        f"{project_path(PROJECT)}/{digest[:2]}/deeper/{digest}",
        f"{project_path(PROJECT)}0/{digest[:2]}/{digest}",
        quarantine_path(PROJECT, digest),
    ):
        under_test.leave_object(path, SMALL)
    found = await listed(under_test.store)
    assert sorted((blob.digest, blob.size_bytes) for blob in found) == sorted(
        (stored(data).digest, len(data)) for data in blobs
    )
    assert [await under_test.store.find(PROJECT, blob.digest) for blob in found] == found


async def test_a_blob_put_again_is_as_young_as_its_newest_put(blob_store: BlobStore) -> None:
    await put(blob_store, SMALL)
    (first,) = await listed(blob_store)
    assert first.modified_at.utcoffset() == timedelta(0)
    newest = first
    # Stores may tell times to the second only.
    while newest.modified_at == first.modified_at:
        await put(blob_store, SMALL)
        (newest,) = await listed(blob_store)
    assert newest.modified_at > first.modified_at
    assert newest == replace(first, modified_at=newest.modified_at)


async def test_blobs_may_be_deleted_while_they_are_listed(blob_store: BlobStore) -> None:
    blobs = [b"%d" % number for number in range(40)]
    for data in blobs:
        await put(blob_store, data)
    async with aclosing(blob_store.list_blobs(PROJECT)) as found:
        async for blob in found:
            await blob_store.delete(PROJECT, blob.digest)
    assert await listed(blob_store) == []


async def test_a_listing_may_be_left_early(blob_store: BlobStore) -> None:
    for number in range(5):
        await put(blob_store, b"%d" % number)
    async with aclosing(blob_store.list_blobs(PROJECT)) as found:
        assert await anext(found, None) is not None
    assert len(await listed(blob_store)) == 5


@pytest.mark.parametrize("size", [11, 9 * MIB])
async def test_a_quarantined_blob_is_out_of_sight_and_kept(
    under_test: StoreUnderTest, size: int
) -> None:
    store, digest = under_test.store, stored(random_bytes(size)).digest
    await put(store, random_bytes(size))
    await put(store, random_bytes(size), "project-b")
    await store.quarantine(PROJECT, digest)
    assert (await store.find(PROJECT, digest), await listed(store)) == (None, [])
    with pytest.raises(BlobMissingError):
        await read(store, digest)
    assert await read(store, digest, project="project-b") == random_bytes(size)
    assert under_test.objects() == sorted(
        [place(random_bytes(size), "project-b"), quarantine_path(PROJECT, digest)]
    )


async def test_a_blob_is_quarantined_in_place_of_the_one_before(
    under_test: StoreUnderTest,
) -> None:
    store, digest = under_test.store, stored(SMALL).digest
    await store.quarantine(PROJECT, digest)
    assert under_test.objects() == []
    for _ in range(2):
        await put(store, SMALL)
        await store.quarantine(PROJECT, digest)
        await store.quarantine(PROJECT, digest)
        assert under_test.objects() == [quarantine_path(PROJECT, digest)]


async def test_sizes_of_many_blobs_are_told_and_absent_ones_left_out(
    blob_store: BlobStore,
) -> None:
    blobs = [b"%d" % number * number for number in range(20)]
    for data in blobs:
        await put(blob_store, data)
    await put(blob_store, SMALL, "project-b")
    expected = {stored(data).digest: len(data) for data in blobs}
    absent = stored(SMALL).digest
    assert await blob_store.sizes(PROJECT, [*expected, absent, *expected]) == expected
    assert await blob_store.sizes(PROJECT, [absent]) == {}
    assert await blob_store.sizes(PROJECT, []) == {}


async def test_an_untouched_store_sweeps_lists_and_checks(blob_store: BlobStore) -> None:
    assert await blob_store.sweep_temporary(0) == 0
    assert await listed(blob_store) == []
    await blob_store.check()


@pytest.fixture(params=["filesystem", "s3"])
async def dead_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BlobStore]:
    if request.param == "filesystem":
        (tmp_path / "file").write_bytes(b"")
        yield FilesystemBlobStore(tmp_path / "file" / "store")
    else:
        # Nothing listens on port 1 of the loopback, so that connections are refused at once.
        yield s3_store("http://127.0.0.1:1", "bucket", tmp_path / "spool")


async def test_a_dead_store_is_unavailable(dead_store: BlobStore) -> None:
    with pytest.raises(StoreUnavailableError):
        await dead_store.check()
    with pytest.raises(StoreUnavailableError):
        await put(dead_store, SMALL)
    with pytest.raises(StoreUnavailableError):
        await put(dead_store, random_bytes(9 * MIB))
    with pytest.raises(StoreUnavailableError):
        await write_draft(dead_store, SMALL)
    with pytest.raises(StoreUnavailableError):
        await read(dead_store, stored(SMALL).digest)
    with pytest.raises(StoreUnavailableError):
        await dead_store.find(PROJECT, stored(SMALL).digest)
    with pytest.raises(StoreUnavailableError):
        await dead_store.sizes(PROJECT, [stored(b"%d" % number).digest for number in range(20)])
    with pytest.raises(StoreUnavailableError):
        await listed(dead_store)
    with pytest.raises(StoreUnavailableError):
        await dead_store.quarantine(PROJECT, stored(SMALL).digest)


@pytest.mark.slow
async def test_a_bucket_that_is_not_there_is_unavailable(
    object_store_server: ObjectStoreServer, tmp_path: Path
) -> None:
    store = s3_store(object_store_server.endpoint_url, "no-such-bucket", tmp_path / "spool")
    with pytest.raises(StoreUnavailableError):
        await store.check()
    with pytest.raises(StoreUnavailableError):
        await put(store, SMALL)
