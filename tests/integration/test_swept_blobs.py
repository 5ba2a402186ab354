"""Every order of the steps of a sweep and a write, on both engines.

A write puts a blob, then adds its row. A sweep claims, removes, and says that it is over.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import anyio
import psycopg
import pytest

from app.config.settings import Settings
from app.errors import BlobSweptError
from app.models.upload import ResumableUpload, Segment
from app.services.maintenance.blob_removal import BlobRemoval
from app.stores.records import swept_blobs
from app.stores.records.blob_guard import BlobGuard
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.swept_blobs import BlobClaim, SweptBlobRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.uploads import UploadRecords
from tests.integration.sweep_stores import (
    NOW,
    PROJECT,
    Stores,
    digest_of,
    opened_stores,
    resource_of,
)
from tests.kit.servers import Backends
from tests.kit.units import writing

pytestmark = pytest.mark.anyio
A, B = b"the bytes of a file", b"the bytes of another file"
BOTH = tuple(sorted([digest_of(A), digest_of(B)]))
LONG_AGO = timedelta(minutes=11)


@pytest.fixture
async def stores(settings: Settings) -> AsyncIterator[Stores]:
    async with opened_stores(settings) as opened:
        yield opened


async def refused(stores: Stores, *bodies: bytes) -> bool:
    """True if rows are refused; then no row is written."""
    before = await stores.row_ids()
    try:
        await stores.add_rows(*bodies)
    except BlobSweptError:
        assert await stores.row_ids() == before
        return True
    return False


async def test_row_is_refused_while_its_blob_is_being_removed(stores: Stores) -> None:
    await stores.put(A)
    await stores.claim(A)
    assert await refused(stores, A)


async def test_row_is_refused_when_its_blob_was_removed_before_it(stores: Stores) -> None:
    await stores.put(A)
    claim = await stores.claim(A)
    await stores.delete(claim)
    assert await refused(stores, A)
    await stores.end(claim)
    assert await refused(stores, A)


async def test_row_is_written_when_the_blob_was_spared(stores: Stores) -> None:
    await stores.put(A)
    await stores.end(await stores.claim(A))
    await stores.add_rows(A)
    assert await stores.row_ids() == await stores.blob_ids() == {digest_of(A)}


async def test_sizes_of_many_blobs_that_were_spared_are_asked_for_at_once(stores: Stores) -> None:
    bodies = [bytes([number]) for number in range(40)]
    await stores.put(*bodies)
    await stores.end(await stores.claim(*bodies))
    begun: list[UnitOfWork] = []

    def add_rows(unit: UnitOfWork) -> None:
        begun.append(unit)
        unit[ResourceRecords].ensure_all(map(resource_of, bodies))

    await stores.records.write(PROJECT, add_rows)
    assert len(begun) == 2
    assert await stores.row_ids() == {digest_of(data) for data in bodies}


async def test_removal_that_is_cancelled_while_it_claims_refuses_no_row(stores: Stores) -> None:
    await stores.put(A)
    removal = BlobRemoval(stores.records, stores.blobs)
    async with writing(stores.records, PROJECT) as unit:
        # Whoever claims waits for those who write rows of blobs.
        await unit[BlobGuard].guard([digest_of(b"another")])
        removing = asyncio.create_task(removal.remove(PROJECT, [digest_of(A)]))
        await anyio.wait_all_tasks_blocked()
        removing.cancel()
    await asyncio.wait([removing])
    assert removing.cancelled()
    await stores.add_rows(A)
    assert await stores.row_ids() == await stores.blob_ids() == {digest_of(A)}


async def test_row_is_written_when_the_blob_was_put_again_after_its_removal(
    stores: Stores,
) -> None:
    await stores.put(A)
    claim = await stores.claim(A)
    await stores.delete(claim)
    await stores.put(A)
    assert await refused(stores, A)
    await stores.end(claim)
    await stores.add_rows(A)
    assert (await stores.claim(A)).digests == ()
    assert await stores.row_ids() == await stores.blob_ids() == {digest_of(A)}


async def test_row_of_a_blob_put_again_while_it_is_being_removed_is_refused(
    stores: Stores,
) -> None:
    await stores.put(A)
    claim = await stores.claim(A)
    await stores.put(A)
    assert await refused(stores, A)
    await stores.delete(claim)
    await stores.end(claim)
    assert await refused(stores, A)


async def test_one_blob_that_is_gone_refuses_all_rows_of_a_write(stores: Stores) -> None:
    await stores.put(A, B)
    await stores.claim(B)
    assert await refused(stores, A, B)
    assert not await refused(stores, A)


async def test_row_that_is_there_keeps_its_blob_from_being_claimed(stores: Stores) -> None:
    await stores.store(A)
    await stores.put(B)
    assert (await stores.claim(A, B)).digests == (digest_of(B),)
    await stores.remove_row(A)
    assert (await stores.claim(A, B)).digests == (digest_of(A),)


async def test_piece_of_an_upload_keeps_its_blob_from_being_claimed(stores: Stores) -> None:
    upload = ResumableUpload("u", 2 * len(A), 0, None, None, None, NOW, NOW)
    await stores.put(A)
    async with writing(stores.records, PROJECT) as unit:
        await unit[UploadRecords].add(upload)
        assert await unit[UploadRecords].advance(
            "u", [Segment(0, len(A), digest_of(A))], expires_at=NOW
        )
    assert (await stores.claim(A)).digests == ()
    await stores.records.write(PROJECT, lambda unit: unit[UploadRecords].remove("u"))
    assert (await stores.claim(A)).digests == (digest_of(A),)


async def test_row_of_another_project_keeps_nothing_here(stores: Stores) -> None:
    await stores.put(A)
    await stores.store(A, project="other")
    assert (await stores.claim(A)).digests == (digest_of(A),)
    await stores.store(A, project="other")
    assert await refused(stores, A)


async def test_second_sweep_does_not_claim_what_the_first_is_removing(stores: Stores) -> None:
    await stores.put(A, B)
    first = await stores.claim(A)
    assert (await stores.claim(A, B)).digests == (digest_of(B),)
    await stores.end(first)
    assert (await stores.claim(A, B)).digests == (digest_of(A),)


async def test_two_sweeps_at_once_share_the_blobs_between_them(stores: Stores) -> None:
    await stores.put(A, B)
    claims: list[BlobClaim] = []

    async def claim() -> None:
        claims.append(await stores.claim(A, B))

    async with anyio.create_task_group() as sweeps:
        for _ in range(8):
            sweeps.start_soon(claim)
    assert sorted(claim.digests for claim in claims) == [()] * 7 + [BOTH]


async def test_abandoned_claim_refuses_no_row_whose_blob_is_there(stores: Stores) -> None:
    await stores.put(A, B)
    claim = await stores.claim(A, B)
    await stores.blobs.delete(PROJECT, digest_of(B))
    assert await refused(stores, A)
    await stores.let_pass(LONG_AGO)
    assert await refused(stores, B)
    await stores.add_rows(A)
    assert (await stores.claim(A, B)).digests == (digest_of(B),)
    assert claim.digests == BOTH


async def test_claim_is_not_ended_by_the_sweep_it_was_taken_over_from(stores: Stores) -> None:
    await stores.put(A)
    late = await stores.claim(A)
    await stores.let_pass(LONG_AGO)
    taken_over = await stores.claim(A)
    assert taken_over.digests == late.digests
    await stores.end(late)
    assert await refused(stores, A)
    await stores.end(taken_over)
    assert not await refused(stores, A)


async def test_old_claims_are_forgotten_whether_they_were_ended_or_not(stores: Stores) -> None:
    await stores.put(A, B)
    await stores.end(await stores.claim(A))
    await stores.claim(B)

    async def forget() -> int:
        return await stores.records.write(
            PROJECT, lambda unit: unit[SweptBlobRecords].forget(timedelta(hours=1))
        )

    assert (await forget(), await stores.claims()) == (0, 2)
    await stores.let_pass(timedelta(hours=2))
    assert (await forget(), await stores.claims()) == (2, 0)


async def test_damaged_blob_is_claimed_although_rows_need_it(stores: Stores) -> None:
    await stores.store(A)
    claim = await stores.records.write(
        PROJECT, lambda unit: unit[SweptBlobRecords].claim_needed(digest_of(A))
    )
    assert claim is not None
    assert claim.digests == (digest_of(A),)
    assert await refused(stores, A)
    await stores.delete(claim)
    await stores.end(claim)
    assert await refused(stores, A)
    await stores.put(A)
    assert not await refused(stores, A)


async def test_claim_that_waits_for_a_write_sees_its_rows(stores: Stores) -> None:
    assert await claimed_while_a_write_is_open(stores) == [(digest_of(B),)]


async def claimed_while_a_write_is_open(stores: Stores) -> list[tuple[str, ...]]:
    await stores.put(A, B)
    claims: list[BlobClaim] = []

    async def claim() -> None:
        claims.append(await stores.claim(A, B))

    async with anyio.create_task_group() as tasks, writing(stores.records, PROJECT) as unit:
        await unit[ResourceRecords].ensure(resource_of(A))
        tasks.start_soon(claim)
        await stores.until_one_waits()
        await unit[ResourceRecords].ensure(resource_of(A, filename="another name"))
    return [claim.digests for claim in claims]


async def test_write_that_waits_for_a_claim_is_refused(stores: Stores) -> None:
    await stores.put(A)
    refusals: list[bool] = []

    async def write() -> None:
        refusals.append(await refused(stores, A))

    async with anyio.create_task_group() as tasks, writing(stores.records, PROJECT) as unit:
        assert await unit[SweptBlobRecords].claim([digest_of(A)]) is not None
        tasks.start_soon(write)
        await stores.until_one_waits()
    assert refusals == [True]


async def test_writes_do_not_wait_for_each_other_on_a_server(
    backends: Backends, tmp_path: Path
) -> None:
    async with opened_stores(backends.settings("server", tmp_path)) as stores:
        await stores.put(A, B)
        with anyio.fail_after(30):
            async with writing(stores.records, PROJECT) as unit:
                await unit[ResourceRecords].ensure(resource_of(A))
                await stores.add_rows(B)
        assert await stores.row_ids() == set(BOTH)


async def test_claim_is_given_up_while_a_long_write_goes_on_on_a_server(
    backends: Backends, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swept_blobs, "_WAIT_SECONDS", 0.01)
    async with opened_stores(backends.settings("server", tmp_path)) as stores:
        await stores.put(A, B)
        async with writing(stores.records, PROJECT) as long:
            await long[ResourceRecords].ensure(resource_of(A))
            async with writing(stores.records, PROJECT) as sweep:
                assert await sweep[SweptBlobRecords].claim([digest_of(B)]) is None
                assert await sweep[SweptBlobRecords].claim_needed(digest_of(A)) is None
            assert await stores.claims() == 0
        assert (await stores.claim(A, B)).digests == (digest_of(B),)


async def test_default_of_a_server_does_not_hide_what_was_written_during_a_wait(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("server", tmp_path)
    assert settings.db.url is not None
    with psycopg.connect(settings.db.url.get_secret_value(), autocommit=True) as connection:
        connection.execute(
            "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || "
            "' SET default_transaction_isolation = ''repeatable read'''; END $$"
        )
    async with opened_stores(settings) as stores:
        assert await claimed_while_a_write_is_open(stores) == [(digest_of(B),)]


async def test_without_a_blob_store_to_ask_a_swept_blob_is_taken_for_gone(stores: Stores) -> None:
    await stores.put(A)
    await stores.end(await stores.claim(A))
    async with writing(Records(stores.engines), PROJECT) as unit:
        with pytest.raises(BlobSweptError):
            await unit[ResourceRecords].ensure(resource_of(A))
