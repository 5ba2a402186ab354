"""SIGKILL at every crash point, under eight writers: nothing is lost, torn or without its blob.

Each process is told where it is to die, and the next one, which dies elsewhere, is asked for what
the last one left. Every death costs a start, so some points stand for their kind. `TORTURE=long`
kills twenty times at each point, and three hundred times as it comes, shared by the two engines:

    TORTURE=long python -m pytest tests/faults/test_crash_points.py
"""

import hashlib
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import anyio
import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import text

from app.config.settings import BlobSettings, DatabaseSettings, Settings
from app.crash_points import CRASH_POINT_VARIABLE, CrashPoint
from app.wiring.stores import open_blob_store, open_database
from tests.e2e.stored_state import EmbeddedState, ResourceRow, ServerState, StoredState
from tests.faults.lengths import LONG, TIMEOUT_SECONDS, tell, times
from tests.faults.writers import WRITERS, Call, Kind, Round
from tests.kit.loaded_command import LoadedCommand
from tests.kit.object_store import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends, Engine

TIMES = range(1, times(1, 20) + 1) if LONG else (3,)
"""Which time that a process comes to a point is its last."""
RANDOM_KILLS = times(0, 150)
"""On each engine."""

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(TIMEOUT_SECONDS)]

OF_GROUPS = (CrashPoint.SHARED_ROWS_WRITTEN, CrashPoint.SHARED_COMMITTED)
# More than a process commits together before it serves.
GROUPS_AT_START = 3
IN_BOTH = (
    CrashPoint.ROWS_WRITTEN,
    CrashPoint.RESULT_COMMITTED,
    CrashPoint.SEGMENT_KEPT,
    *OF_GROUPS,
)
OF_SWEEPS = (CrashPoint.BLOBS_CLAIMED, CrashPoint.BLOBS_DELETED, CrashPoint.CLAIM_DROPPED)
OF_WRITES: Mapping[Engine, tuple[CrashPoint, ...]] = {
    "embedded": (
        CrashPoint.FILE_WRITTEN,
        CrashPoint.FILE_SYNCED,
        CrashPoint.FILE_RENAMED,
        CrashPoint.DIRECTORY_SYNCED,
        *IN_BOTH,
    ),
    "server": (
        CrashPoint.OBJECT_PUT,
        CrashPoint.OBJECT_ASSEMBLED,
        CrashPoint.OBJECT_COPIED,
        *IN_BOTH,
    ),
}
TRIED: Mapping[Engine, tuple[CrashPoint, ...]] = {
    "embedded": (CrashPoint.FILE_WRITTEN, CrashPoint.FILE_RENAMED, CrashPoint.SHARED_COMMITTED),
    "server": (CrashPoint.OBJECT_COPIED, CrashPoint.ROWS_WRITTEN, CrashPoint.SEGMENT_KEPT),
}
"""Files that remain before a blob has its name, before its row is there, and after that."""
OF_PARTS = {CrashPoint.OBJECT_ASSEMBLED, CrashPoint.OBJECT_COPIED}

# Longer than the time after which a claim that nobody has ended counts for nothing.
_TEN_MINUTES_OLDER = text("UPDATE swept_blobs SET claimed_at = claimed_at - 601000000")


@dataclass
class Torture:
    """Processes that die one after the other over the same stores."""

    data_dir: Path
    state: StoredState
    acknowledged: dict[str, bytes] = field(default_factory=dict)
    answered: dict[str, list[Call]] = field(default_factory=dict)
    unanswered: list[Call] = field(default_factory=list)
    checked: set[ResourceRow] = field(default_factory=set)
    deaths: int = 0
    slowest_start: float = 0.0
    last: Round = field(default_factory=lambda: Round("none"))

    @contextmanager
    def process(self, **env: str) -> Iterator[PagefaultProcess]:
        """A process that serves until the end of the block, if it does not die before."""
        began = time.monotonic()
        env = {**self.state.env, **env}
        # The long form tells how long the command takes, which a fork does not show.
        with PagefaultProcess(self.data_dir, env=env, is_installed=LONG) as process:
            if self.deaths:
                self.slowest_start = max(self.slowest_start, time.monotonic() - began)
            yield process

    def crash_at(self, point: CrashPoint, turn: int) -> None:
        """Check what the last process left, and write until the next one dies there."""
        kinds = WRITERS
        if point in OF_PARTS:
            kinds = (*WRITERS[:-1], "parts")
        if point is CrashPoint.SEGMENT_KEPT:
            kinds = (*WRITERS[:-1], "pieces")
        if point in OF_GROUPS:
            turn += GROUPS_AT_START
        with self.process(**{CRASH_POINT_VARIABLE: f"{point}:{turn}"}) as process:
            new = self._next_round(process, kinds)
            with new.writing(process.client):
                pass
            assert (point, process.stop()) == (point, -signal.SIGKILL)
        self._take(new)

    def kill_after(self, answers: int) -> None:
        """Kill a process when so many calls are acknowledged."""
        with self.process() as process:
            new = self._next_round(process, WRITERS)
            with new.writing(process.client):
                new.wait_for_answers(answers)
                process.kill()
        self._take(new)

    def send_again(self, process: PagefaultProcess) -> None:
        """Check what the last process left, and complete it."""
        self._check(process)
        with process.client() as client:
            for call in self.unanswered:
                place, body = call.send(client)
                self.acknowledged[place] = body
                self.answered.setdefault(call.session, []).append(call)
        self.unanswered = []

    def check_all(self, client: httpx.Client) -> None:
        """Everything that was ever acknowledged is there, and each row's blob is what it says."""
        assert read(client, self.acknowledged) == self.acknowledged
        for session, calls in self.answered.items():
            assert history(client, session) == expected(calls)
        rows = self.state.rows()
        assert {row: self.state.digest(row) for row in rows} == {row: row.digest for row in rows}

    def _next_round(self, process: PagefaultProcess, kinds: Sequence[Kind]) -> Round:
        self._check(process)
        self.deaths += 1
        return Round(f"{self.deaths}", left=self.unanswered, kinds=kinds)

    def _take(self, done: Round) -> None:
        assert len(done.unanswered) == len(done.kinds)
        self.acknowledged |= done.acknowledged
        for call in done.answered:
            self.answered.setdefault(call.session, []).append(call)
        self.unanswered = done.unanswered
        self.last = done

    def _check(self, process: PagefaultProcess) -> None:
        """Check that the last process has its answered calls, beside whole calls at most."""
        if not self.deaths:
            return
        with process.client() as client:
            self._check_rows(client)
            assert read(client, self.last.acknowledged) == self.last.acknowledged
            self._check_histories(client)

    def _check_rows(self, client: httpx.Client) -> None:
        """No row is without its blob, and what is new was sent, and is whole by either way."""
        rows = self.state.rows()
        new = set(rows) - self.checked
        answered = {call.digest for call in self.last.answered} - {None}
        assert answered <= {row.digest for row in rows}
        assert {row.digest for row in new} <= answered | {call.digest for call in self.unanswered}
        for row in new:
            content = client.get(f"/api/resources/{row.resource_id}/content").raise_for_status()
            served = hashlib.sha256(content.content).hexdigest()
            assert (self.state.digest(row), served) == (row.digest, row.digest)
        self.checked |= new

    def _check_histories(self, client: httpx.Client) -> None:
        """Every history has what was answered, in order, and perhaps the call behind it."""
        left = {call.session: call for call in self.unanswered}
        for session in {call.session for call in self.last.answered} | left.keys():
            answered = self.answered.get(session, [])
            with_left = [*answered, left[session]] if session in left else answered
            assert history(client, session) in (expected(answered), expected(with_left))


def read(client: httpx.Client, places: Mapping[str, bytes]) -> dict[str, bytes]:
    return {place: client.get(place).content for place in places}


def expected(calls: Sequence[Call]) -> list[tuple[int, str, list[str]]]:
    """Return the calls of a history: their order, their ids, and the digests of their media."""
    return [
        (number, f"c{call.number}", [f"sha-256:{call.digest}"] if call.digest else [])
        for number, call in enumerate(calls, 1)
        if call.is_in_history
    ]


def history(client: httpx.Client, session: str) -> list[tuple[int, str, list[str]]]:
    """A whole history; nothing if the session is not there."""
    found, asked = list[tuple[int, str, list[str]]](), {"limit": "200"}
    while True:
        answer = client.get(f"/api/sessions/{session}/messages", params=asked)
        if answer.status_code == 404:
            return found
        page = answer.raise_for_status().json()
        found += shown(page["items"])
        if not page.get("nextCursor"):
            return found
        asked["cursor"] = page["nextCursor"]


def shown(items: Sequence[dict[str, Any]]) -> list[tuple[int, str, list[str]]]:
    """Return the calls in entries of a history."""
    return [
        (
            entry["seq"],
            entry["toolCallId"],
            [resource["digest"] for resource in entry["sanitized"]["resources"]],
        )
        for entry in items
    ]


@pytest.fixture
def torture(backends: Backends, engine: Engine, tmp_path: Path) -> Iterator[Torture]:
    data_dir = tmp_path / "data"
    state = EmbeddedState(data_dir) if engine == "embedded" else ServerState(backends)
    yield Torture(data_dir, state)
    assert swept_temporary(settings_of(state, data_dir)) == 0


def settings_of(state: StoredState, data_dir: Path) -> Settings:
    """Settings that lead to the stores of a service."""
    if not state.env:
        return Settings(data_dir=data_dir)
    return Settings(
        data_dir=data_dir,
        db=DatabaseSettings(url=SecretStr(state.env["PAGEFAULT_DB__URL"])),
        blobs=BlobSettings(
            url=state.env["PAGEFAULT_BLOBS__URL"],
            s3_endpoint=state.env["PAGEFAULT_BLOBS__S3_ENDPOINT"],
            s3_access_key_id=SecretStr(ACCESS_KEY_ID),
            s3_secret_access_key=SecretStr(SECRET_ACCESS_KEY),
        ),
    )


def swept_temporary(settings: Settings) -> int:
    """Sweep what killed processes left on its way; returns what a second sweep finds."""

    async def sweep() -> int:
        blobs = open_blob_store(settings.blobs, settings.data_dir)
        await blobs.sweep_temporary(0)
        return await blobs.sweep_temporary(0)

    return anyio.run(sweep)


def let_ten_minutes_pass(settings: Settings) -> None:
    """Make all claims of sweeps that much older."""

    async def change() -> None:
        engines = open_database(settings)
        try:
            with engines.writer.begin() as connection:
                connection.execute(_TEN_MINUTES_OLDER)
        finally:
            await engines.close()

    anyio.run(change)


def test_every_crash_point_is_one_of_a_write_or_of_a_sweep() -> None:
    tried = {point for points in (*OF_WRITES.values(), OF_SWEEPS) for point in points}
    assert tried == set(CrashPoint)


@pytest.mark.promise(
    "durability.md#the-process-dies",
    (
        "Wherever the server is killed, what was acknowledged is readable and matches its "
        "hash; the rest is complete or absent"
    ),
    kept_by="app/crash_points.py",
    tried=(
        "3 named points on each engine, once each, 8 writers; long: all 12 that a write comes"
        " to, 20 times each, and 300 random kills"
    ),
)
@pytest.mark.requirement("design-row-never-without-blob")
def test_writers_whose_server_dies_anywhere_lose_nothing(torture: Torture, engine: Engine) -> None:
    for point in (OF_WRITES if LONG else TRIED)[engine]:
        for turn in TIMES:
            torture.crash_at(point, 1 if point in OF_PARTS else turn)
    random = Random(300)  # noqa: S311 - the same in every run
    for _ in range(RANDOM_KILLS):
        torture.kill_after(random.randrange(1, 40))
    with torture.process() as process, process.client() as client:
        torture.send_again(process)
        torture.check_all(client)
    tell(
        f"Killed while eight write, {engine}",
        f"{torture.deaths} kills, {len(torture.acknowledged)} acknowledged and "
        f"{len(torture.checked)} blobs compared: 0 lost, 0 torn, 0 dangling; "
        f"slowest restart {torture.slowest_start:.1f} s",
    )


@pytest.mark.promise(
    "durability.md#the-process-dies",
    "A sweep that is killed has removed nothing that a row needs",
    kept_by="app/services/maintenance/sweep.py",
    tried="1 named point, both engines; long: all 3, 20 times each",
)
def test_sweep_that_dies_anywhere_takes_nothing_that_is_needed(
    torture: Torture, engine: Engine
) -> None:
    settings = settings_of(torture.state, torture.data_dir)
    with torture.process() as process, process.client() as client:
        for turn in range(len(TIMES)):
            for point in OF_SWEEPS if LONG else (CrashPoint.BLOBS_DELETED,):
                calls = [Call("file", f"{point}.{turn}", number, 10_000) for number in range(4)]
                places = [call.send(client)[0] for call in calls]
                torture.acknowledged[places[0]] = client.get(places[0]).content
                for place in places[1:]:
                    client.delete(place).raise_for_status()
                sweep(torture, {CRASH_POINT_VARIABLE: f"{point}"}, ends=-signal.SIGKILL)
                torture.check_all(client)
                # Nobody knows what a sweep that was killed has still under way, for ten minutes.
                if point is not CrashPoint.CLAIM_DROPPED:
                    refused = client.post("/api/resources", content=calls[1].data)
                    assert (refused.status_code, refused.json()["code"]) == (503, "blob-swept")
                    let_ten_minutes_pass(settings)
                torture.acknowledged |= dict(call.send(client) for call in calls[1:])
                torture.check_all(client)
        sweep(torture, {}, ends=0)
        torture.check_all(client)
    kills = len(TIMES) * len(OF_SWEEPS if LONG else (CrashPoint.BLOBS_DELETED,))
    tell(f"Sweeps killed, {engine}", f"{kills} kills, {len(torture.acknowledged)} files: 0 lost")


def sweep(torture: Torture, env: Mapping[str, str], *, ends: int) -> None:
    """Run a sweep of its own beside the server, and see how it ends."""
    done = LoadedCommand().run(
        *("gc", "--grace", "0", "--data-dir", str(torture.data_dir)),
        env={**torture.state.env, **env},
    )
    assert done.returncode == ends, done.stderr
