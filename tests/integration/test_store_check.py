"""The check of both stores: what it finds, what it leaves alone, and what it repairs."""

import os
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from app.config.settings import Settings
from app.errors import BlobSweptError, StoreUnavailableError
from app.models.resource_descriptor import FaultKind
from app.models.upload import ResumableUpload, Segment
from app.services.maintenance import blob_removal
from app.services.maintenance import fsck as store_check
from app.services.maintenance.fsck import StoreCheck, StoreCheckReport, StoreFault
from app.stores.blobs.store import BlobMissingError, BlobReader, blob_path, quarantine_path
from app.stores.records.resources import ResourceRecords
from app.stores.records.uploads import UploadRecords
from tests.integration.sweep_stores import (
    NOW,
    PROJECT,
    BehindTheStore,
    Stores,
    digest_of,
    opened_stores,
    resource_of,
)
from tests.kit.servers import Backends
from tests.kit.units import writing

pytestmark = pytest.mark.anyio
A, B, C = b"the bytes of a file", b"the bytes of another file", b""
LARGE = bytes(range(256)) * 40_000


@pytest.fixture
async def stores(settings: Settings) -> AsyncIterator[Stores]:
    async with opened_stores(settings) as opened:
        yield opened


@pytest.fixture
def behind(stores: Stores) -> BehindTheStore:
    return BehindTheStore(stores.settings)


def place(data: bytes) -> str:
    return blob_path(PROJECT, digest_of(data))


def fault(data: bytes, kind: FaultKind, *owners: str) -> StoreFault:
    return StoreFault(PROJECT, digest_of(data), kind, owners or (resource_of(data).uri,))


async def check(
    stores: Stores, *, repair: bool = False
) -> tuple[StoreCheckReport, list[StoreFault]]:
    found: list[StoreFault] = []
    report = await StoreCheck(stores.records, stores.blobs).run(found.append, repair=repair)
    assert report.faults == len(found)
    return report, found


async def faults(stores: Stores, *, repair: bool = False) -> list[StoreFault]:
    return (await check(stores, repair=repair))[1]


async def test_sound_stores_have_no_faults(stores: Stores) -> None:
    await stores.store(A, B, C, LARGE)
    await stores.store(A, project="other")
    await stores.put(b"without a row")
    size = 2 * len(A) + len(B) + len(C) + len(LARGE)
    assert await check(stores) == (StoreCheckReport(5, size, unneeded=1, faults=0), [])


async def test_empty_stores_are_sound(stores: Stores) -> None:
    assert await check(stores) == (StoreCheckReport(0, 0, 0, 0), [])


async def test_every_kind_of_damage_is_found(stores: Stores, behind: BehindTheStore) -> None:
    await stores.store(A, B, LARGE)
    behind.write(place(A), b"X" + A[1:])
    behind.write(place(LARGE), LARGE[:-1])
    behind.remove(place(B))
    expected = [fault(A, "damaged"), fault(LARGE, "damaged"), fault(B, "missing")]
    assert await faults(stores) == sorted(expected, key=lambda item: item.digest)


async def test_all_rows_of_a_blob_are_named(stores: Stores, behind: BehindTheStore) -> None:
    await stores.store(A)
    named = resource_of(A, filename="a name")
    async with writing(stores.records, PROJECT) as unit:
        await unit[ResourceRecords].ensure(named)
        await unit[UploadRecords].add(ResumableUpload("u", 10**6, 0, None, None, None, NOW, NOW))
        pieces = [Segment(0, len(A), digest_of(A))]
        assert await unit[UploadRecords].advance("u", pieces, expires_at=NOW)
    behind.remove(place(A))
    owners = sorted([resource_of(A).uri, named.uri])
    assert await faults(stores) == [fault(A, "missing", *owners, "upload u from byte 0")]


async def test_piece_of_an_upload_is_checked_as_a_file_is(
    stores: Stores, behind: BehindTheStore
) -> None:
    await stores.put(A, B)
    async with writing(stores.records, PROJECT) as unit:
        await unit[UploadRecords].add(ResumableUpload("u", 10**6, 0, None, None, None, NOW, NOW))
        pieces = [Segment(0, len(A), digest_of(A)), Segment(len(A), len(B), digest_of(B))]
        assert await unit[UploadRecords].advance("u", pieces, expires_at=NOW)
    assert await check(stores) == (StoreCheckReport(2, len(A) + len(B), 0, 0), [])
    behind.write(place(B), b"damaged")
    assert await faults(stores) == [fault(B, "damaged", f"upload u from byte {len(A)}")]


async def test_row_that_names_another_size_is_a_fault_of_the_row(stores: Stores) -> None:
    wrong = ResumableUpload("u", 10**6, 0, None, None, None, NOW, NOW)
    await stores.store(A)
    async with writing(stores.records, PROJECT) as unit:
        await unit[UploadRecords].add(wrong)
        assert await unit[UploadRecords].advance("u", [Segment(0, 1, digest_of(A))], expires_at=NOW)
    assert await faults(stores, repair=True) == [fault(A, "wrong-size", "upload u from byte 0")]
    assert await stores.blob_ids() == {digest_of(A)}


async def test_same_bytes_of_another_project_are_its_own(
    stores: Stores, behind: BehindTheStore
) -> None:
    await stores.store(A)
    await stores.store(A, project="other")
    behind.write(place(A), b"damaged")
    assert await faults(stores) == [fault(A, "damaged")]


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "A damaged file that was found is not served until it is stored again",
    kept_by="app/services/maintenance/fsck.py",
    tried="1 file",
)
async def test_repair_takes_damaged_bytes_out_of_service_until_the_file_comes_again(
    stores: Stores, behind: BehindTheStore
) -> None:
    await stores.store(A, B)
    behind.write(place(A), b"damaged")
    behind.remove(place(B))
    damaged = StoreFault(PROJECT, digest_of(A), "damaged", (resource_of(A).uri,), True)
    order = sorted([digest_of(A), digest_of(B)])
    found = sorted([damaged, fault(B, "missing")], key=lambda item: order.index(item.digest))
    assert await faults(stores, repair=True) == found
    assert behind.read(quarantine_path(PROJECT, digest_of(A))) == b"damaged"
    with pytest.raises(BlobMissingError):
        await stores.blobs.open(PROJECT, digest_of(A))
    gone = sorted([fault(A, "missing"), fault(B, "missing")], key=lambda item: item.digest)
    assert await faults(stores, repair=True) == gone
    with pytest.raises(BlobSweptError):
        await stores.add_rows(A)
    await stores.store(A, B)
    assert await faults(stores) == []
    assert behind.read(quarantine_path(PROJECT, digest_of(A))) == b"damaged"


async def test_check_without_repair_changes_nothing(stores: Stores, behind: BehindTheStore) -> None:
    await stores.store(A)
    behind.write(place(A), b"damaged")
    assert await faults(stores) == await faults(stores)
    assert (behind.read(place(A)), await stores.claims()) == (b"damaged", 0)


async def test_more_blobs_than_are_looked_at_at_once_are_all_checked(
    stores: Stores, behind: BehindTheStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_check, "_QUERY_DIGESTS", 3)
    monkeypatch.setattr(blob_removal, "DIGESTS_AT_ONCE", 3)
    bodies = [b"%d" % number for number in range(20)]
    await stores.store(*bodies)
    await stores.put(b"a", b"b", b"c", b"d")
    for data in bodies[::7]:
        behind.remove(place(data))
    report, found = await check(stores)
    missing = sorted((fault(data, "missing") for data in bodies[::7]), key=lambda it: it.digest)
    size = sum(map(len, bodies)) - sum(map(len, bodies[::7]))
    assert (report, found) == (StoreCheckReport(20, size, 4, 3), missing)


async def test_progress_is_told_in_bytes(stores: Stores) -> None:
    await stores.store(A, LARGE)
    told: list[tuple[int, int]] = []
    await StoreCheck(stores.records, stores.blobs).run(
        print, progress=lambda read, total: told.append((read, total))
    )
    size = len(A) + len(LARGE)
    assert told == sorted(told)
    assert (told[-1], {total for _, total in told}) == ((size, size), {size})


def interrupt(
    stores: Stores,
    monkeypatch: pytest.MonkeyPatch,
    happening: AsyncGenerator[None, None],
) -> None:
    """Let the next thing happen each time when the store has been asked for a blob."""
    original = stores.blobs.open

    async def open_then(project_id: str, digest: str) -> BlobReader:
        try:
            return await original(project_id, digest)
        finally:
            await anext(happening, None)

    monkeypatch.setattr(stores.blobs, "open", open_then)


async def test_row_that_is_deleted_meanwhile_is_no_fault(
    stores: Stores, behind: BehindTheStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def happen() -> AsyncGenerator[None, None]:
        await stores.remove_row(A)
        yield

    await stores.store(A)
    behind.remove(place(A))
    interrupt(stores, monkeypatch, happen())
    assert await faults(stores) == []


async def test_file_that_is_deleted_swept_and_uploaded_again_meanwhile_is_no_fault(
    stores: Stores, behind: BehindTheStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def happen() -> AsyncGenerator[None, None]:
        yield
        await stores.remove_row(A)
        other = resource_of(A, filename="uploaded again")
        await stores.records.write(PROJECT, lambda unit: unit[ResourceRecords].ensure(other))
        yield

    await stores.store(A)
    behind.remove(place(A))
    interrupt(stores, monkeypatch, happen())
    assert await faults(stores) == []


async def test_file_that_is_healed_meanwhile_is_no_fault(
    stores: Stores, behind: BehindTheStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def happen() -> AsyncGenerator[None, None]:
        await stores.store(A)
        yield

    await stores.store(A)
    behind.write(place(A), b"damaged")
    interrupt(stores, monkeypatch, happen())
    assert await faults(stores, repair=True) == []
    assert behind.read(place(A)) == A


async def test_file_that_is_healed_before_its_quarantine_stays(
    stores: Stores, behind: BehindTheStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def happen() -> AsyncGenerator[None, None]:
        yield
        before = await stores.blobs.find(PROJECT, digest_of(A))
        # Stores may tell times to the second only.
        while await stores.blobs.find(PROJECT, digest_of(A)) == before:
            await stores.store(A)
        yield

    await stores.store(A)
    behind.write(place(A), b"X" + A[1:])
    interrupt(stores, monkeypatch, happen())
    assert await faults(stores, repair=True) == [fault(A, "damaged")]
    assert behind.read(place(A)) == A
    assert await faults(stores) == []
    await stores.store(A)


async def test_file_that_cannot_be_read_is_a_fault_and_the_check_goes_on(
    backends: Backends, tmp_path: Path
) -> None:
    async with opened_stores(backends.settings("embedded", tmp_path / "data")) as stores:
        await stores.store(A, B)
        os.unlink(stores.settings.data_dir / place(A))
        os.mkdir(stores.settings.data_dir / place(A))
        assert await faults(stores, repair=True) == [fault(A, "unreadable")]


async def test_store_that_does_not_answer_is_no_finding(
    stores: Stores, backends: Backends, tmp_path: Path
) -> None:
    await stores.store(A)
    if stores.settings.blobs.url is None:
        blobs = stores.settings.data_dir / "blobs"
        blobs.rename(tmp_path / "offload_location")
        blobs.write_bytes(b"in the way")
    else:
        bucket = stores.settings.blobs.url.removeprefix("s3://").partition("/")[0]
        backends.object_store.remove_bucket(bucket)
    with pytest.raises(StoreUnavailableError):
        await faults(stores)
