"""The sweep over both stores: what it removes, what it leaves, and what stops it."""

import asyncio
import errno
import os
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import httpx
import pytest
from structlog.testing import capture_logs

from app.config.settings import Settings
from app.errors import BlobSweptError, StoreUnavailableError
from app.models.identity import utc_now
from app.models.upload import ResumableUpload, Segment
from app.services.maintenance import blob_removal, sweep
from app.services.maintenance.sweep import Sweep, SweepReport
from app.stores.blobs.store import project_path
from app.stores.records.blob_guard import BlobGuard
from app.stores.records.idempotency import IdempotencyRecords
from app.stores.records.uploads import UploadRecords
from tests.integration.sweep_stores import (
    NOW,
    PROJECT,
    BehindTheStore,
    Stores,
    digest_of,
    opened_stores,
)
from tests.kit.servers import Backends, serving
from tests.kit.units import writing

pytestmark = pytest.mark.anyio
A, B, C = b"kept, for there is a row", b"without a row", b"without a row either"
AN_HOUR = 3600.0


@pytest.fixture
async def stores(settings: Settings) -> AsyncIterator[Stores]:
    async with opened_stores(settings) as opened:
        yield opened


@pytest.fixture
async def embedded(backends: Backends, tmp_path: Path) -> AsyncIterator[Stores]:
    """The stores whose disk can be made to fail."""
    async with opened_stores(backends.settings("embedded", tmp_path / "data")) as opened:
        yield opened


@pytest.fixture
def sweeping(stores: Stores) -> Sweep:
    return stores.sweep()


def ids(*bodies: bytes) -> set[str]:
    return {digest_of(data) for data in bodies}


async def test_what_no_row_needs_is_removed_and_the_rest_is_left(
    stores: Stores, sweeping: Sweep
) -> None:
    await stores.store(A)
    await stores.put(B, C)
    report = await sweeping.run(0)
    assert report == SweepReport(examined=3, removed=2, bytes_removed=len(B) + len(C))
    assert await stores.blob_ids() == ids(A)
    assert await sweeping.run(0) == SweepReport(examined=1)


async def test_what_is_younger_than_the_grace_is_left(stores: Stores, sweeping: Sweep) -> None:
    await stores.store(A)
    await stores.put(B)
    for grace_seconds in (AN_HOUR, 1e300):
        report = await sweeping.run(grace_seconds)
        assert report == SweepReport(examined=2, kept_young=1)
    await stores.add_rows(B)
    assert await stores.blob_ids() == ids(A, B)


async def test_age_is_that_of_the_newest_put(embedded: Stores) -> None:
    sweeping = embedded.sweep()
    await embedded.put(A, B)
    for path in (embedded.settings.data_dir / project_path(PROJECT)).glob("*/*"):
        os.utime(path, (0, 0))
    await embedded.put(A)
    report = await sweeping.run(AN_HOUR)
    assert report == SweepReport(examined=2, removed=1, bytes_removed=len(B), kept_young=1)
    assert await embedded.blob_ids() == ids(A)


async def test_store_without_garbage_is_swept_without_a_claim(
    stores: Stores, sweeping: Sweep
) -> None:
    await stores.store(A, B)
    async with writing(stores.records, PROJECT) as long_write:
        await long_write[BlobGuard].guard(["0" * 64])
        if not stores.settings.is_embedded_database:
            assert await sweeping.run(0) == SweepReport(examined=2)
    assert await sweeping.run(0) == SweepReport(examined=2)
    assert await stores.claims() == 0


async def test_more_blobs_than_are_claimed_at_once_are_all_removed(
    embedded: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_removal, "DIGESTS_AT_ONCE", 7)
    bodies = [b"%d" % number for number in range(50)]
    await embedded.store(*bodies[:20])
    await embedded.put(*bodies[20:])
    seen: list[int] = []
    report = await embedded.sweep().run(0, progress=lambda so_far: seen.append(so_far.examined))
    assert (report.examined, report.removed) == (50, 30)
    assert seen == sorted(seen)
    assert await embedded.blob_ids() == ids(*bodies[:20])


async def test_each_project_is_swept_by_its_own_rows(stores: Stores, sweeping: Sweep) -> None:
    await stores.store(A)
    await stores.put(A, B, project="other")
    await stores.store(B, project="other")
    assert (await sweeping.run(0)).removed == 1
    assert (await stores.blob_ids(), await stores.blob_ids("other")) == (ids(A), ids(B))


async def test_blobs_of_a_project_of_another_database_are_left_alone(
    stores: Stores, sweeping: Sweep
) -> None:
    await stores.put(A, project="somebody else's")
    assert await sweeping.run(0) == SweepReport()
    assert await stores.blob_ids("somebody else's") == ids(A)


async def test_uploads_and_keys_whose_time_is_over_are_removed(
    stores: Stores, sweeping: Sweep
) -> None:
    now = utc_now()
    later = now + timedelta(hours=1)
    await stores.put(A, B)
    async with writing(stores.records, PROJECT) as unit:
        for name, body, expires_at in (("over", A, now), ("open", B, later)):
            await unit[UploadRecords].add(
                ResumableUpload(name, 100, 0, None, None, None, now, later)
            )
            segment = Segment(0, len(body), digest_of(body))
            assert await unit[UploadRecords].advance(name, [segment], expires_at=expires_at)
        await unit[IdempotencyRecords].claim(
            "r", "over", "d", now - timedelta(hours=25), claim_id="c"
        )
        await unit[IdempotencyRecords].claim(
            "r", "open", "d", now - timedelta(hours=23), claim_id="c"
        )
    report = await sweeping.run(0)
    assert report == SweepReport(
        examined=2, removed=1, bytes_removed=len(A), expired_uploads=1, expired_keys=1
    )
    assert await stores.records.read(PROJECT, lambda unit: unit[UploadRecords].find("over")) is None
    assert (
        await stores.records.read(PROJECT, lambda unit: unit[UploadRecords].find("open"))
        is not None
    )
    assert await stores.blob_ids() == ids(B)


async def test_claims_are_forgotten_after_two_days(stores: Stores, sweeping: Sweep) -> None:
    await stores.put(A)
    await sweeping.run(0)
    await stores.let_pass(timedelta(hours=47))
    await sweeping.run(0)
    assert await stores.claims() == 1
    await stores.let_pass(timedelta(hours=2))
    await sweeping.run(0)
    assert await stores.claims() == 0


async def test_old_temporary_objects_are_removed(
    stores: Stores, sweeping: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    BehindTheStore(stores.settings).write("tmp/left", b"half a blo")
    assert await sweeping.run(0) == SweepReport()
    monkeypatch.setattr(sweep, "_TEMPORARY_SECONDS", -5.0)
    assert await sweeping.run(0, dry_run=True) == SweepReport(temporary_removed=1)
    assert await sweeping.run(0) == SweepReport(temporary_removed=1)
    assert BehindTheStore(stores.settings).read("tmp/left") is None


async def test_dry_run_says_what_a_run_would_remove_and_removes_nothing(
    stores: Stores, sweeping: Sweep
) -> None:
    await stores.store(A)
    await stores.put(B, C)
    long_ago = NOW - timedelta(days=2)
    async with writing(stores.records, PROJECT) as unit:
        await unit[UploadRecords].add(ResumableUpload("u", 1, 0, None, None, None, NOW, NOW))
        await unit[IdempotencyRecords].claim("r", "k", "d", long_ago, claim_id="c")
    result = await sweeping.run(0, dry_run=True)
    assert await stores.blob_ids() == ids(A, B, C)
    assert await stores.claims() == 0
    assert await sweeping.run(0, dry_run=True) == result
    assert await sweeping.run(0) == result
    assert await stores.blob_ids() == ids(A)


async def test_two_sweeps_at_once_remove_everything_and_no_more(settings: Settings) -> None:
    bodies = [b"%d" % number for number in range(40)]
    async with opened_stores(settings) as stores:
        await stores.store(*bodies[:10])
        await stores.put(*bodies[10:])
        # The second one has connections of its own, as another process would.
        async with opened_stores(settings) as others:
            sweeps = (item.sweep().run(0) for item in (stores, others))
            reports = await asyncio.gather(*sweeps)
        assert sum(report.removed for report in reports) >= 30
        assert await stores.blob_ids() == await stores.row_ids() == ids(*bodies[:10])
        await stores.store(*bodies)
        assert await stores.blob_ids() == await stores.row_ids() == ids(*bodies)


class Clock:
    """The clocks of a machine, on which each look takes a while."""

    def __init__(self, *, monotonic_step: float, wall_step: float) -> None:
        self._steps = {"monotonic": monotonic_step, "wall": wall_step}
        self._moments = dict.fromkeys(self._steps, 0.0)

    def _look(self, name: str) -> float:
        self._moments[name] += self._steps[name]
        return self._moments[name]

    def monotonic(self) -> float:
        return self._look("monotonic")

    def time(self) -> float:
        return self._look("wall")


@pytest.mark.parametrize(("monotonic_step", "wall_step"), [(25, 0), (0, 25), (25, -1000)])
async def test_what_the_time_of_a_claim_is_too_short_for_is_claimed_anew(
    embedded: Stores, monkeypatch: pytest.MonkeyPatch, monotonic_step: float, wall_step: float
) -> None:
    clock = Clock(monotonic_step=monotonic_step, wall_step=wall_step)
    monkeypatch.setattr(blob_removal, "time", clock)
    bodies = [b"%d" % number for number in range(50)]
    await embedded.put(*bodies)
    claims = await embedded.claims()
    report = await embedded.sweep().run(0)
    assert (claims, report.removed) == (0, 50)
    assert await embedded.blob_ids() == set()
    await embedded.store(*bodies)


async def test_claim_that_came_too_late_removes_nothing_and_is_over(
    stores: Stores, sweeping: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_removal, "time", Clock(monotonic_step=61, wall_step=0))
    await stores.put(A)
    assert await sweeping.run(0) == SweepReport(examined=1)
    await stores.add_rows(A)
    assert await stores.blob_ids() == ids(A)


async def test_removal_that_failed_is_taken_for_possible_until_its_claim_runs_out(
    embedded: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    await embedded.put(A)

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", fail)
        with pytest.raises(StoreUnavailableError):
            await embedded.sweep().run(0)
    with pytest.raises(BlobSweptError):
        await embedded.add_rows(A)
    await embedded.let_pass(timedelta(minutes=11))
    await embedded.add_rows(A)
    assert await embedded.blob_ids() == ids(A)


async def test_sweep_of_a_busy_project_is_put_off_on_a_server(
    backends: Backends, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.stores.records.swept_blobs._WAIT_SECONDS", 0.01)
    monkeypatch.setattr(blob_removal, "_RETRY_SECONDS", 0.0)
    async with opened_stores(backends.settings("server", tmp_path)) as stores:
        sweeping = stores.sweep()
        await stores.store(A)
        await stores.put(B)
        async with writing(stores.records, PROJECT) as long_write:
            await long_write[BlobGuard].guard(list(ids(A)))
            with capture_logs() as logs:
                assert await sweeping.run(0) == SweepReport(examined=2)
        assert [line["log_level"] for line in logs] == ["warning"]
        assert (await sweeping.run(0)).removed == 1


async def test_server_sweeps_by_itself_and_goes_on_after_an_error(embedded: Stores) -> None:
    folder = embedded.settings.data_dir / project_path(PROJECT)
    folder.parent.mkdir()
    folder.write_bytes(b"in the way")
    sweeping = embedded.sweep()
    with capture_logs() as logs, anyio.fail_after(30):
        async with sweeping.lifespan(interval_seconds=0.01, grace_seconds=0):
            while not logs:
                await anyio.lowlevel.checkpoint()
            folder.unlink()
            await embedded.put(A)
            while logs[-1]["event"] != "swept":
                await anyio.lowlevel.checkpoint()
        told = len(logs)
        await embedded.put(B)
    assert logs[0] == {
        "event": "sweep not finished",
        "code": "store-unavailable",
        "log_level": "warning",
    }
    assert logs[-1] == {
        "event": "swept",
        "log_level": "info",
        "removed": 1,
        "bytes_removed": len(A),
        "temporary_removed": 0,
        "expired_uploads": 0,
        "expired_keys": 0,
        "expired_events": 0,
        "expired_reserved_bytes": 0,
    }
    assert (len(logs), await embedded.blob_ids()) == (told, ids(B))


async def is_refused(stores: Stores, data: bytes) -> bool:
    try:
        await stores.add_rows(data)
    except BlobSweptError:
        return True
    return False


async def test_server_that_is_stopped_gives_up_the_claims_it_is_not_acting_on(
    embedded: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = threading.Semaphore(0), threading.Event()

    def unlink_slowly(path: Path, **_: object) -> None:
        begun.release()
        may_end.wait(30)
        os.unlink(path)

    bodies = [b"%d" % number for number in range(20)]
    await embedded.put(*bodies)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink_slowly)
        sweeping = embedded.sweep()
        async with sweeping.lifespan(interval_seconds=0.01, grace_seconds=0):
            for _ in range(8):
                await anyio.to_thread.run_sync(begun.acquire)
        refused = {data for data in bodies if await is_refused(embedded, data)}
        may_end.set()
    with anyio.fail_after(30):
        while ids(*refused) & await embedded.blob_ids():
            await anyio.lowlevel.checkpoint()
    assert len(refused) == 8
    assert await embedded.row_ids() == await embedded.blob_ids()


async def test_server_does_not_sweep_with_an_interval_of_zero(
    stores: Stores, sweeping: Sweep
) -> None:
    before = asyncio.all_tasks()
    async with sweeping.lifespan(interval_seconds=0, grace_seconds=0):
        assert asyncio.all_tasks() == before


@pytest.fixture
def client(settings: Settings) -> Iterator[httpx.Client]:
    """A client of a service of its own, which has few projects to sweep."""
    with serving(settings) as live, live.client() as client:
        yield client


def test_bytes_of_a_deleted_resource_stay_for_the_grace(
    settings: Settings, client: httpx.Client
) -> None:
    body = b"a file that is deleted"
    uri = client.post("/api/resources", content=body).json()["uri"].removeprefix("blob:")
    stays = client.post("/api/resources", content=b"stays").json()["uri"].removeprefix("blob:")
    assert client.delete(f"/api/resources/{uri}").status_code == 204

    async def sweep_all(grace_seconds: float) -> bool:
        """Sweep beside the server; says whether the bytes are still there."""
        async with opened_stores(settings) as stores:
            await stores.sweep().run(grace_seconds)
            project_ids = await stores.records.read_projects(lambda projects: projects.list_ids())
            return any(
                [digest_of(body) in await stores.blob_ids(project_id) for project_id in project_ids]
            )

    assert anyio.run(sweep_all, AN_HOUR)
    assert not anyio.run(sweep_all, 0)
    assert client.post("/api/resources", content=body).status_code == 201
    assert client.get(f"/api/resources/{uri}/content").content == body
    assert client.get(f"/api/resources/{stays}/content").content == b"stays"
