"""The database ends in the middle of it all: told at once, and nothing is lost or done twice."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from app.config.settings import Settings
from tests.faults.lengths import TIMEOUT_SECONDS, tell, times
from tests.kit.process import WAIT_SECONDS
from tests.kit.servers import SIGNING_KEY, LiveService, Postgres, serving

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(TIMEOUT_SECONDS)]

CRASHES = times(2, 10)
WRITERS = 4
BETWEEN = 12
"""The acknowledged results between two crashes."""


class Told:
    """The answers of several writers, and a way to wait for more of them."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._refused: dict[int, int] = {}
        self.acknowledged: dict[str, bytes] = {}
        self.unexpected: list[str] = []
        self.refused_after: list[float] = []
        """The seconds of each refusal."""

    def note(self, writer: int, answer: httpx.Response) -> bool:
        """Note an answer; says whether the writer may go on with the next call."""
        with self._news:
            try:
                if answer.status_code in (200, 201):
                    self.acknowledged[answer.headers.get("location", "")] = answer.content
                    return True
                code = answer.json()["code"]
                if (answer.status_code, code) != (503, "store-unavailable"):
                    self.unexpected.append(f"{answer.status_code} {code}")
                if not answer.headers.get("retry-after", "").isdigit():
                    self.unexpected.append("no word on when to come again")
                self._refused[writer] = self._refused.get(writer, 0) + 1
                self.refused_after.append(answer.elapsed.total_seconds())
                return False
            finally:
                self._news.notify_all()

    def wait_for_acknowledged(self, more: int) -> None:
        """Return when so many more were acknowledged."""
        with self._news:
            enough = len(self.acknowledged) + more
            assert self._news.wait_for(lambda: len(self.acknowledged) >= enough, WAIT_SECONDS)

    def wait_until_all_are_refused(self) -> None:
        """Return when every writer was refused again."""
        with self._news:
            before = dict(self._refused)
            assert self._news.wait_for(
                lambda: all(
                    self._refused.get(writer, 0) > before.get(writer, 0)
                    for writer in range(WRITERS)
                ),
                WAIT_SECONDS,
            )


@pytest.fixture
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A cluster that nobody else uses."""
    with Postgres(tmp_path_factory.mktemp("postgres"), is_durable=True) as postgres:
        yield postgres


@contextmanager
def writing(service: LiveService, key: str) -> Iterator[Told]:
    """Writers that repeat each call until it is acknowledged, and then make the next."""
    told, is_over = Told(), threading.Event()

    def write(writer: int) -> None:
        number = 0
        with service.client(key) as client:
            while not is_over.is_set() or number == 0:
                call = {
                    "toolName": "t",
                    "toolCallId": f"c{number}",
                    "sessionId": f"s{writer}",
                    "result": f"{writer}: {number}",
                }
                number += told.note(writer, client.post("/api/tool-results", json=call))

    writers = [threading.Thread(target=write, args=(item,)) for item in range(WRITERS)]
    for span in writers:
        span.start()
    try:
        yield told
    finally:
        is_over.set()
        for item in writers:
            item.join(WAIT_SECONDS)


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    (
        "A database that crashes under load loses nothing and repeats nothing; writers get a "
        "503 within 2 s, and their writes succeed again within 5 s"
    ),
    kept_by="app/stores/records/engine.py",
    tried="2 crashes, 4 writers, 0 lost, 0 doubled; long: 10; the times are told and not judged",
)
def test_database_that_crashes_under_load_loses_nothing_and_nothing_is_done_twice(
    postgres: Postgres, tmp_path: Path
) -> None:
    database = postgres.new_database(migrated=True)
    settings = Settings(
        data_dir=tmp_path / "data",
        auth="api-key",
        log_level="error",
        db=postgres.settings(database),
        signing_keys=(SIGNING_KEY,),
    )
    with serving(settings) as service:
        key = service.new_key()
        with writing(service, key) as told:
            back_after = []
            for _ in range(CRASHES):
                told.wait_for_acknowledged(BETWEEN)
                postgres.crash()
                told.wait_until_all_are_refused()
                with service.client(key) as client:
                    assert client.get("/healthz").status_code == 200
                    assert client.get("/readyz").status_code == 503
                postgres.start_again()
                began = time.perf_counter()
                told.wait_for_acknowledged(1)
                back_after.append(time.perf_counter() - began)
            told.wait_for_acknowledged(BETWEEN)
        assert told.unexpected == []
        with service.client(key) as client:
            assert {place: client.get(place).content for place in told.acknowledged} == (
                told.acknowledged
            )
            for writer in range(WRITERS):
                entries = all_entries(client, f"s{writer}")
                calls = [entry["toolCallId"] for entry in entries]
                assert calls == [f"c{number}" for number in range(len(calls))]
                assert [entry["seq"] for entry in entries] == list(range(1, len(calls) + 1))
    tell(
        "The database crashes",
        f"{CRASHES} crashes, {WRITERS} writers, {len(told.acknowledged)} acknowledged: "
        f"0 lost, 0 doubled; slowest refusal {max(told.refused_after):.1f} s, slowest return "
        f"{max(back_after):.1f} s",
    )


def all_entries(client: httpx.Client, session: str) -> list[dict[str, object]]:
    """A whole history."""
    entries: list[dict[str, object]] = []
    asked = {"limit": "200"}
    while True:
        page = client.get(f"/api/sessions/{session}/messages", params=asked).json()
        entries += page["items"]
        if not page.get("nextCursor"):
            return entries
        asked["cursor"] = page["nextCursor"]
