"""The scrub: bytes that a disk has changed are found without any command, and not served again."""

import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import anyio
import anyio.lowlevel
import httpx
import pytest
from structlog.testing import capture_logs

from app.config.settings import ScrubSettings, Settings
from app.models.identity import utc_now
from app.models.resource_descriptor import FaultKind
from app.services.maintenance.scrub import ReadingPace, Scrub, SlicedPeriod
from app.stores.blobs.store import BlobMissingError, blob_path, quarantine_path
from app.stores.records.idempotency import IdempotencyRecords
from app.telemetry.metrics import Metrics
from tests.integration.sweep_stores import (
    PROJECT,
    BehindTheStore,
    Stores,
    digest_of,
    opened_stores,
    resource_of,
)
from tests.kit.process import WAIT_SECONDS
from tests.kit.servers import Backends, serving

pytestmark = pytest.mark.anyio

FILES = 100
MAX_BYTES = 3_000
WEEK = 7 * 24 * 3600.0
PERIOD = 36 * 3600.0
NOON = datetime(2026, 3, 4, 12, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Counted(Metrics):
    """Return the report of a scrub."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.faults: list[FaultKind] = []

    def count_scrubbed(self, size_bytes: int) -> None:
        """See `Metrics.count_scrubbed`."""
        self.sizes.append(size_bytes)

    def count_scrub_fault(self, kind: FaultKind) -> None:
        """See `Metrics.count_scrub_fault`."""
        self.faults.append(kind)


@pytest.fixture
async def stores(settings: Settings) -> AsyncIterator[Stores]:
    async with opened_stores(settings) as opened:
        yield opened


@pytest.fixture
def behind(stores: Stores) -> BehindTheStore:
    return BehindTheStore(stores.settings)


def scrub_of(
    stores: Stores,
    counted: Counted,
    *,
    period_seconds: float = WEEK,
    bytes_per_second: int = 10**9,
) -> Scrub:
    """A scrub as a process has it."""
    period, pace = SlicedPeriod(period_seconds), ReadingPace(bytes_per_second)
    return Scrub(stores.records, stores.blobs, period, pace, counted)


def place(data: bytes) -> str:
    return blob_path(PROJECT, digest_of(data))


def with_one_bit_changed(data: bytes, random: Random) -> bytes:
    """Return the bytes with one changed bit."""
    changed = bytearray(data)
    changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed)


def some_files(number: int) -> list[bytes]:
    """Files of all sizes from three bytes on, no two the same."""
    random = Random(7_2026)  # noqa: S311 - the same in every run
    sizes = [random.randrange(1, MAX_BYTES) for _ in range(number)]
    return [index.to_bytes(2) + random.randbytes(size) for index, size in enumerate(sizes)]


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "The server finds a changed bit by itself, without any command, and no longer serves the file",
    kept_by="app/services/maintenance/scrub.py",
    tried="100 of 100, both engines",
)
async def test_one_changed_bit_in_each_of_a_hundred_files_is_found_and_none_is_served(
    stores: Stores, behind: BehindTheStore
) -> None:
    random = Random(2026)  # noqa: S311 - the same in every run
    files = some_files(FILES + 10)
    damaged, sound = files[:FILES], files[FILES:]
    await stores.store(*files)
    for data in damaged:
        behind.write(place(data), with_one_bit_changed(data, random))
    counted = Counted()
    with capture_logs() as logs:
        await scrub_of(stores, counted, period_seconds=1.0).run(NOON)
    assert sorted(counted.sizes) == sorted(map(len, files))
    assert counted.faults == ["damaged"] * FILES
    told = [
        {
            "event": "stored bytes are not what they were",
            "log_level": "error",
            "kind": "damaged",
            "project": PROJECT,
            "digest": digest_of(data),
            "owners": [resource_of(data).uri],
            "quarantined": True,
        }
        for data in damaged
    ]
    assert logs == sorted(told, key=lambda line: str(line["digest"]))
    for data in damaged:
        with pytest.raises(BlobMissingError):
            await stores.blobs.open(PROJECT, digest_of(data))
    assert await stores.blob_ids() == {digest_of(data) for data in sound}


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "Within a period each file is scrubbed once, whichever processes are running",
    kept_by="app/services/maintenance/scrub.py",
    tried="36 hours, 2 processes, 4 restarts, both engines",
)
async def test_period_reads_each_file_once_whoever_is_running(stores: Stores) -> None:
    files = some_files(60)
    await stores.store(*files)
    counted = Counted()
    processes = [scrub_of(stores, counted, period_seconds=PERIOD) for _ in range(2)]
    for hour in range(36):
        # Two processes that take turns, and are restarted now and then.
        if hour % 10 == 0:
            restarted = scrub_of(stores, counted, period_seconds=PERIOD)
            processes[hour // 10 % 2] = restarted
        await processes[hour % 2].run(NOON + hour * HOUR)
    *made_up_at_the_beginning, _ = SlicedPeriod(PERIOD).due(NOON)
    twice = [
        data
        for due in made_up_at_the_beginning
        for data in files
        if due.first <= digest_of(data) and (due.end is None or digest_of(data) < due.end)
    ]
    assert sorted(counted.sizes) == sorted([*map(len, files), *map(len, twice)])


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "Files whose hour passed while no process was running are scrubbed later, for up to a day",
    kept_by="app/services/maintenance/scrub.py",
    tried="23 hours, both engines",
)
async def test_hours_in_which_nothing_was_running_are_made_up(
    stores: Stores, behind: BehindTheStore
) -> None:
    files = some_files(60)
    await stores.store(*files)
    counted = Counted()
    due = list(SlicedPeriod(WEEK).due(NOON))
    in_them = [
        data
        for data in files
        if any(
            span.first <= digest_of(data) and (span.end is None or digest_of(data) < span.end)
            for span in due
        )
    ]
    assert (len(due), bool(in_them)) == (24, True)
    await scrub_of(stores, counted).run(NOON)
    assert sorted(counted.sizes) == sorted(map(len, in_them))
    await scrub_of(stores, counted).run(NOON)
    assert sorted(counted.sizes) == sorted(map(len, in_them))


async def test_two_processes_at_once_read_nothing_twice(stores: Stores) -> None:
    files = some_files(50)
    await stores.store(*files)
    counted = Counted()
    scrubs = [scrub_of(stores, counted, period_seconds=3_600.0) for _ in range(4)]
    async with anyio.create_task_group() as tasks:
        for scrub in scrubs:
            tasks.start_soon(scrub.run, NOON)
    assert sorted(counted.sizes) == sorted(map(len, files))


@pytest.mark.parametrize(("age", "is_done"), [(timedelta(minutes=14), False), (HOUR, True)])
async def test_slice_of_a_process_that_was_killed_is_taken_over_after_a_while(
    stores: Stores, age: timedelta, is_done: bool
) -> None:
    await stores.store(*some_files(1))
    (due,) = SlicedPeriod(3_600.0).due(NOON)
    await stores.records.write(
        PROJECT,
        lambda unit: unit[IdempotencyRecords].claim(
            "scrub", due.key, "", utc_now() - age, claim_id="c"
        ),
    )
    counted = Counted()
    await scrub_of(stores, counted, period_seconds=3_600.0).run(NOON)
    assert bool(counted.sizes) == is_done


async def test_scrub_that_is_ended_leaves_its_slice_to_the_next(stores: Stores) -> None:
    files = some_files(5)
    await stores.store(*files)
    begun, counted = Counted(), Counted()
    # At a byte a second it is at its first file when it is ended.
    slow = scrub_of(stores, begun, period_seconds=3_600.0, bytes_per_second=1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(slow.run, NOON)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    await scrub_of(stores, counted, period_seconds=3_600.0).run(NOON)
    assert (begun.sizes, sorted(counted.sizes)) == ([], sorted(map(len, files)))


async def test_store_that_does_not_answer_is_told_and_the_slice_stays_due(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("embedded", tmp_path / "data")
    async with opened_stores(settings) as stores:
        files = some_files(3)
        await stores.store(*files)
        blobs = settings.data_dir / "blobs"
        blobs.rename(tmp_path / "offload_location")
        blobs.write_bytes(b"in the way")
        counted = Counted()
        with capture_logs() as logs, anyio.fail_after(WAIT_SECONDS):
            async with scrub_of(stores, counted, period_seconds=0.01).lifespan():
                while not logs:
                    await anyio.lowlevel.checkpoint()
                blobs.unlink()
                (tmp_path / "offload_location").rename(blobs)
                while sorted(set(counted.sizes)) != sorted(map(len, files)):
                    await anyio.lowlevel.checkpoint()
    assert logs[0] == {
        "event": "scrub not finished",
        "code": "store-unavailable",
        "log_level": "warning",
    }


def figures(client: httpx.Client) -> dict[str, float]:
    """Return the lines about the scrub in the log."""
    lines = client.get("/metrics").text.splitlines()
    told = (line.rpartition(" ") for line in lines if line.startswith("pagefault_scrub"))
    return {name: float(value) for name, _, value in told if "_created" not in name}


def test_server_finds_damage_by_itself_and_the_file_heals_it(
    settings: Settings, backends: Backends
) -> None:
    scrubbing = settings.model_copy(
        update={"scrub": ScrubSettings(period_seconds=0.2, bytes_per_second=10**9)}
    )
    body = b"the bytes of a file" * 100
    with serving(scrubbing) as service:
        key = service.new_key("someone")
        with service.client(key) as client:
            uri = client.post("/api/resources", content=body).json()["uri"]
            path = f"/api/resources/{uri.removeprefix('blob:')}/content"
            digest = hashlib.sha256(body).hexdigest()
            wrong = with_one_bit_changed(body, Random(1))  # noqa: S311 - the same in every run
            behind = BehindTheStore(settings)
            behind.write(blob_path("someone", digest), wrong)
            with anyio.from_thread.start_blocking_portal() as portal:
                portal.call(_until, client, 'pagefault_scrub_faults_total{kind="damaged"}')
            refused = client.get(path)
            assert (refused.status_code, refused.json()["code"]) == (503, "blob-missing")
            assert behind.read(quarantine_path("someone", digest)) == wrong
            assert client.post("/api/resources", content=body).status_code == 200
            assert client.get(path).content == body


async def _until(client: httpx.Client, figure: str) -> None:
    """Return when a figure is no longer zero."""
    with anyio.fail_after(WAIT_SECONDS):
        while not figures(client)[figure]:
            await anyio.lowlevel.checkpoint()
