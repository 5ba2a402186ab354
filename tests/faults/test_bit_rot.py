"""Bytes that a disk has changed: found by reading them, and never served once they are found."""

import hashlib
from collections.abc import AsyncIterator
from random import Random

import pytest

from app.config.settings import Settings
from app.errors import StoreUnavailableError
from app.services.maintenance.fsck import StoreCheck, StoreCheckReport, StoreFault
from app.stores.blobs.store import blob_path
from tests.integration.sweep_stores import (
    PROJECT,
    BehindTheStore,
    Stores,
    opened_stores,
    resource_of,
)

pytestmark = pytest.mark.anyio

FILES = 100
MAX_BYTES = 3_000


@pytest.fixture
async def stores(settings: Settings) -> AsyncIterator[Stores]:
    async with opened_stores(settings) as opened:
        yield opened


def some_files(number: int, random: Random) -> list[bytes]:
    """Files of all sizes from one byte on, no two the same."""
    sizes = [random.randrange(1, MAX_BYTES) for _ in range(number)]
    return [index.to_bytes(2) + random.randbytes(size) for index, size in enumerate(sizes)]


def with_one_bit_changed(data: bytes, random: Random) -> bytes:
    """Return the bytes with one changed bit."""
    place = random.randrange(len(data))
    changed = data[place] ^ (1 << random.randrange(8))
    return data[:place] + bytes([changed]) + data[place + 1 :]


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "`pagefault fsck` finds one bit that a disk has changed",
    kept_by="app/services/maintenance/fsck.py",
    tried="100 of 100, both engines",
)
async def test_one_changed_bit_in_each_of_a_hundred_files_is_found_a_hundred_times(
    stores: Stores,
) -> None:
    random = Random(2026)  # noqa: S311 - the same in every run
    sound = some_files(10, random)
    damaged = [bytes([255]) + file for file in some_files(FILES, random)]
    await stores.store(*sound, *damaged)
    behind = BehindTheStore(stores.settings)
    for data in damaged:
        place = blob_path(PROJECT, hashlib.sha256(data).hexdigest())
        behind.write(place, with_one_bit_changed(data, random))
    found: list[StoreFault] = []
    report = await StoreCheck(stores.records, stores.blobs).run(found.append, repair=True)
    assert sorted(found, key=lambda item: item.digest) == sorted(
        (
            StoreFault(
                PROJECT,
                hashlib.sha256(data).hexdigest(),
                "damaged",
                (resource_of(data).uri,),
                is_quarantined=True,
            )
            for data in damaged
        ),
        key=lambda item: item.digest,
    )
    size = sum(map(len, [*sound, *damaged]))
    assert report == StoreCheckReport(FILES + len(sound), size, unneeded=0, faults=FILES)
    for data in damaged:
        with pytest.raises(StoreUnavailableError):
            await stores.blobs.open(PROJECT, hashlib.sha256(data).hexdigest())
    assert await stores.blob_ids() == {hashlib.sha256(item).hexdigest() for item in sound}
