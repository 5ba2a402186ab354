"""Many processes write the same bytes at the same moment, where a damaged file is already.

There is one blob then, it is whole, and it is needed for as long as one of them needs it.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from sqlalchemy import text

from app.config.settings import Settings
from app.features import open_services
from app.services.maintenance.sweep import Sweep
from app.services.sessions.sessions import Sessions
from app.stores.blobs.store import BlobStore, blob_path
from app.wiring.stores import open_database
from tests.faults.lengths import TIMEOUT_SECONDS, tell, times
from tests.faults.writing_processes import PROJECT, READY, session_of
from tests.integration.sweep_stores import BehindTheStore, digest_of, environment_of
from tests.kit.media import noise_bytes, png
from tests.kit.process import ROOT, environment
from tests.kit.servers import Backends, Engine

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(TIMEOUT_SECONDS)]

PROCESSES = times(4, 32)
ROUNDS = times(5, 50)
_LINKS = text("SELECT count(*), count(DISTINCT resource_id) FROM resource_links")


class Writers:
    """The processes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert self._said() == {READY}

    def write(self, file: Path) -> set[str]:
        """Have all of them store a file at once; returns what they say."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{file}\n")
        self._process.stdin.flush()
        return self._said()

    def _said(self) -> set[str]:
        assert self._process.stdout is not None
        return {self._process.stdout.readline().rstrip() for _ in range(PROCESSES)}


@contextmanager
def writers_over(settings: Settings) -> Iterator[Writers]:
    """Processes over the stores of these settings, for the length of the block."""
    with subprocess.Popen(  # noqa: S603 - our own interpreter and text
        [sys.executable, "-m", "tests.faults.writing_processes", f"{PROCESSES}"],
        cwd=ROOT,
        env=environment(environment_of(settings)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        # They end when nothing more can come to them.
        yield Writers(process)


async def kept(settings: Settings) -> tuple[set[str], tuple[int, int], int]:
    """The digests of all blobs, how many references there are to how many, and what is left."""
    async with open_services(settings) as services:
        digests = {blob.digest async for blob in services[BlobStore].list_blobs(PROJECT)}
        left = await services[BlobStore].sweep_temporary(0)
    engines = open_database(settings)
    with engines.reader.connect() as connection:
        links = connection.execute(_LINKS).one()
    await engines.close()
    return digests, (links[0], links[1]), left


async def swept_without(settings: Settings, sessions: list[str]) -> int:
    """Return the number of blobs that a sweep removes after these sessions are deleted."""
    async with open_services(settings) as services:
        for session in sessions:
            await services[Sessions].delete(PROJECT, session)
        return (await services[Sweep].run(0)).removed


@pytest.mark.promise(
    "durability.md#several-at-once",
    (
        "Many processes that store the same bytes over a damaged file leave one whole blob "
        "and a reference for each writer"
    ),
    kept_by="app/stores/blobs/store.py",
    tried="4 processes, 5 rounds, both engines; long: 32 and 50",
)
@pytest.mark.requirement("design-row-never-without-blob")
def test_same_bytes_from_many_processes_at_once_are_one_whole_blob(
    backends: Backends, engine: Engine, tmp_path: Path
) -> None:
    settings = backends.settings(engine, tmp_path / "data")
    settings = settings.model_copy(update={"auth": "none"})
    behind, digests = BehindTheStore(settings), set[str]()
    with writers_over(settings) as writers:
        for number in range(ROUNDS):
            data = png() + f"{number}".encode() + noise_bytes(50_000)
            file = tmp_path / f"round-{number}.png"
            file.write_bytes(data)
            digest = digest_of(data)
            place = blob_path(PROJECT, digest)
            behind.write(place, bytes(len(data)))
            assert writers.write(file) == {f"sha-256:{digest}"}
            assert behind.read(place) == data
            digests.add(digest)
    assert anyio.run(kept, settings) == (digests, (PROCESSES * ROUNDS, ROUNDS), 0)
    *others, last = map(session_of, range(PROCESSES))
    assert anyio.run(swept_without, settings, others) == 0
    assert anyio.run(kept, settings) == (digests, (ROUNDS, ROUNDS), 0)
    assert anyio.run(swept_without, settings, [last]) == ROUNDS
    assert anyio.run(kept, settings) == (set(), (0, 0), 0)
    tell(
        f"The same bytes at once, {engine}",
        f"{PROCESSES} processes, {ROUNDS} rounds: {ROUNDS} blobs, {PROCESSES * ROUNDS} references, "
        f"{ROUNDS} damaged files replaced",
    )
