"""Parts of the quota of bytes, on both engines: reservations, entries, claims."""

from collections.abc import AsyncIterator
from datetime import timedelta

import anyio
import anyio.to_thread
import pytest

from app.config.settings import Settings
from app.errors import BlobSweptError, StoredBytesQuotaError
from app.models.identity import utc_now
from app.services.maintenance.sweep import Sweep, SweepReport
from app.services.quotas.quota_blob_store import QuotaBlobStore
from app.services.quotas.storage_quota import BLOCK_BYTES, StorageQuota
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.store import StoredBlob
from app.stores.records.resources import ResourceRecords
from app.stores.records.stored_blobs import StoredBlobRecords, StoredTotal
from pagefault_dialects.model.media import InMemoryMedia, MediaSource
from tests.integration.sweep_stores import (
    PROJECT,
    BehindTheStore,
    ProjectFiles,
    Stores,
    digest_of,
    opened_stores,
    resource_of,
)
from tests.kit.units import writing

pytestmark = pytest.mark.anyio
MIB = 1024 * 1024
QUOTA = 20 * MIB
A, B = b"a blob", b"another blob"
NOTHING = StoredTotal(0, 0)


class Bench:
    """Stores with a quota."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.stored_bytes = StorageQuota(stores.records, stores.blobs, quota_bytes=QUOTA)
        self.blobs = QuotaBlobStore(stores.blobs, self.stored_bytes)
        self.files = ProjectFiles(BehindTheStore(stores.settings), PROJECT)

    async def total(self, project: str = PROJECT) -> StoredTotal:
        return await self.stores.records.write(
            project, lambda unit: unit[StoredBlobRecords].lock_total()
        )

    async def put(self, data: bytes) -> StoredBlob:
        return await self.blobs.put(PROJECT, InMemoryMedia(data), limit_bytes=2**30)

    async def write(self, *chunks: bytes) -> StoredBlob:
        async with self.blobs.writer(PROJECT, limit_bytes=2**30) as writer:
            for chunk in chunks:
                await writer.write(chunk)
            return await writer.commit()

    async def add_row(self, data: bytes) -> None:
        await self.stores.add_rows(data)

    async def sweep(self) -> SweepReport:
        sweep = Sweep(
            self.stores.records,
            self.stores.blobs,
            events_kept=timedelta(days=7),
            max_events=1_000_000,
            stored_bytes=self.stored_bytes,
        )
        return await sweep.run(0)


@pytest.fixture
async def bench(settings: Settings) -> AsyncIterator[Bench]:
    async with opened_stores(settings) as stores:
        yield Bench(stores)


async def test_blob_is_counted_once_and_in_its_project(bench: Bench) -> None:
    for _ in range(2):
        await bench.put(A)
        await bench.write(A[:2], A[2:])
    assert (await bench.total(), await bench.total("other")) == (StoredTotal(len(A), 0), NOTHING)


async def test_room_is_reserved_ahead_by_as_much_as_has_come_and_a_block_at_most(
    bench: Bench,
) -> None:
    reservation = bench.stored_bytes.make_reservation(PROJECT)
    reserved = []
    for mib in (1, 2, 3, 5, 9, 17):
        await reservation.cover(mib * MIB)
        reserved.append((await bench.total()).reserved_bytes // MIB)
    # Ahead of 16 MiB there is no room for a block of 8, and just what has come is reserved.
    assert (reserved, BLOCK_BYTES) == ([1, 2, 4, 8, 16, 17], 8 * MIB)
    with pytest.raises(StoredBytesQuotaError):
        await reservation.cover(QUOTA + 1)
    assert await bench.total() == StoredTotal(0, 17 * MIB)
    await reservation.release()
    await reservation.release()
    assert await bench.total() == NOTHING


async def test_several_are_counted_each_once(bench: Bench) -> None:
    draft = bench.blobs.draft(PROJECT, limit_bytes=2**30)
    await anyio.to_thread.run_sync(draft.append, b"a draft")
    sources: list[MediaSource] = [DraftMedia(draft), InMemoryMedia(A)] * 2
    for _ in range(2):
        blobs = await bench.blobs.put_all(PROJECT, sources, limit_bytes=2**30)
        assert [blob.digest for blob in blobs] == [digest_of(b"a draft"), digest_of(A)] * 2
    await draft.discard()
    assert await bench.total() == StoredTotal(len(b"a draft") + len(A), 0)


async def test_same_bytes_among_several_need_room_once(bench: Bench) -> None:
    data = bytes(QUOTA - 1)
    sources = [InMemoryMedia(data), InMemoryMedia(data)]
    await bench.blobs.put_all(PROJECT, sources, limit_bytes=2**30)
    assert await bench.total() == StoredTotal(len(data), 0)


async def test_nothing_is_kept_of_several_if_one_has_no_room(bench: Bench) -> None:
    sources = [InMemoryMedia(A), InMemoryMedia(bytes(QUOTA))]
    with pytest.raises(StoredBytesQuotaError):
        await bench.blobs.put_all(PROJECT, sources, limit_bytes=2**30)
    assert (await bench.total(), await bench.stores.blob_ids()) == (NOTHING, set())


async def test_writer_that_had_no_room_commits_nothing(bench: Bench) -> None:
    async with bench.blobs.writer(PROJECT, limit_bytes=2**30) as writer:
        with pytest.raises(StoredBytesQuotaError):
            await writer.write(bytes(QUOTA + 1))
        with pytest.raises(RuntimeError):
            await writer.commit()
    assert (await bench.total(), await bench.stores.blob_ids()) == (NOTHING, set())


async def test_what_is_read_from_a_handle_that_lies_is_not_kept_beyond_the_quota(
    bench: Bench,
) -> None:
    class Liar(InMemoryMedia):
        size_bytes = 1

    with pytest.raises(StoredBytesQuotaError):
        await bench.blobs.put(PROJECT, Liar(bytes(QUOTA + 1)), limit_bytes=2**30)
    assert await bench.total() == NOTHING


async def test_cancelled_write_gives_its_room_back(bench: Bench) -> None:
    with anyio.CancelScope() as scope:
        async with bench.blobs.writer(PROJECT, limit_bytes=2**30) as writer:
            await writer.write(bytes(3 * MIB))
            assert await bench.total() == StoredTotal(0, 3 * MIB)
            scope.cancel()
            await writer.write(b"more")
    assert (await bench.total(), await bench.stores.blob_ids()) == (NOTHING, set())


async def test_reservation_that_has_expired_is_given_back_once(bench: Bench) -> None:
    reservation = bench.stored_bytes.make_reservation(PROJECT)
    await reservation.cover(5)
    records = bench.stores.records
    expired = []
    for hours in (1, 5):
        async with writing(records, PROJECT) as unit:
            expired.append(await unit[StoredBlobRecords].expire(utc_now() + timedelta(hours=hours)))
    assert (expired, await bench.total()) == ([0, 5], NOTHING)
    # Its blob may come all the same, and is counted as it should be.
    await bench.stores.put(A)
    await reservation.count(StoredBlob(digest_of(A), len(A)))
    await reservation.release()
    assert await bench.total() == StoredTotal(len(A), 0)


async def test_sweep_gives_back_what_it_claims(bench: Bench) -> None:
    await bench.put(A)
    await bench.put(B)
    await bench.add_row(A)
    assert (await bench.sweep()).removed == 1
    assert await bench.total() == StoredTotal(len(A), 0)
    await bench.stores.remove_row(A)
    await bench.sweep()
    assert await bench.total() == NOTHING


async def test_sweep_of_a_service_without_a_quota_gives_back_too(bench: Bench) -> None:
    await bench.put(A)
    await bench.stores.sweep().run(0)
    assert await bench.total() == NOTHING


async def test_blob_that_is_being_removed_is_not_counted(bench: Bench) -> None:
    await bench.put(A)
    claim = await bench.stores.claim(A)
    await bench.put(A)
    assert await bench.total() == NOTHING
    with pytest.raises(BlobSweptError):
        await bench.add_row(A)
    await bench.stores.delete(claim)
    await bench.stores.end(claim)
    with pytest.raises(BlobSweptError):
        await bench.add_row(A)
    assert await bench.total() == NOTHING


@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "A blob that a sweep is removing is not counted; one that is stored again meanwhile is",
    kept_by="app/stores/records/stored_blobs.py",
    tried="0 bytes off",
)
async def test_blob_that_came_back_before_its_removal_was_over_is_counted_with_its_row(
    bench: Bench,
) -> None:
    await bench.put(A)
    claim = await bench.stores.claim(A)
    await bench.stores.delete(claim)
    await bench.put(A)
    await bench.stores.end(claim)
    assert await bench.total() == NOTHING
    await bench.add_row(A)
    assert await bench.total() == StoredTotal(len(A), 0)


async def test_sweep_counts_what_somebody_stored_who_knows_of_no_quota(bench: Bench) -> None:
    await bench.stores.store(A, B)
    await bench.stores.records.write(
        PROJECT, lambda unit: unit[ResourceRecords].ensure(resource_of(A, "a.txt"))
    )
    await bench.sweep()
    assert await bench.total() == StoredTotal(len(A) + len(B), 0)
    await bench.sweep()
    assert await bench.total() == StoredTotal(len(A) + len(B), 0)


async def test_sweep_counts_no_longer_what_is_lost_and_needed_by_nobody(bench: Bench) -> None:
    for data in (A, B):
        await bench.put(data)
        await bench.add_row(data)
        bench.files.remove(data)
    await bench.stores.remove_row(B)
    await bench.sweep()
    assert await bench.total() == StoredTotal(len(A), 0)


async def test_many_at_once_never_have_more_room_than_there_is(bench: Bench) -> None:
    refused = []

    async def reserve() -> None:
        reservation = bench.stored_bytes.make_reservation(PROJECT)
        try:
            await reservation.cover(QUOTA // 5)
        except StoredBytesQuotaError as exc:
            refused.append(exc.code)

    async with anyio.create_task_group() as tasks:
        for _ in range(12):
            tasks.start_soon(reserve)
    assert (await bench.total(), len(refused)) == (StoredTotal(0, QUOTA), 7)
