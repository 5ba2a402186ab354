"""A bit of everything at once, for half an hour: the process is as large at the end as it was.

What is written is deleted again, so that the stores do not grow either. Nothing here is judged by
how long it takes; what is compared is the second quarter of the run with the last one.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

import httpx
import pytest

from tests.contract.upload_requests import content
from tests.e2e.stored_state import EmbeddedState, ServerState
from tests.faults.lengths import LONG, TIMEOUT_SECONDS, tell, times
from tests.faults.writers import Call, Kind, until_taken
from tests.kit.event_streams import listening
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends, Engine

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(TIMEOUT_SECONDS)]

SECONDS = times(2, 1_800)
BETWEEN_SAMPLES_SECONDS = 1.0 if LONG else 0.1
WORKERS = 6
RESULTS_OF_A_SESSION = 8
KINDS: Sequence[Kind] = ("text", "medium", "long", "medium")
TARGETS = ("openai-chat", "anthropic")
SETTINGS = {
    "PAGEFAULT_SWEEP__INTERVAL_SECONDS": "1",
    "PAGEFAULT_SWEEP__GRACE_SECONDS": "0",
    "PAGEFAULT_EVENTS__KEEP_COUNT": "1000",
    "PAGEFAULT_LOG_LEVEL": "error",
    # SQLite caches up to 8 MiB of the file for each. The file grows for as long as this runs, by
    # what is remembered of removed files: the caches of ten would still be filling at the end.
    "PAGEFAULT_DB__POOL_SIZE": "2",
}
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes of a process."""

    resident_bytes: float
    threads: float
    files: float
    sockets: float


class WatchedProcess(PagefaultProcess):
    """`pagefault serve`, and how large it is."""

    @property
    def size(self) -> Size:
        """Return the sizes that the kernel reports now."""
        assert self._process is not None
        folder = Path(f"/proc/{self._process.pid}")
        lines = (folder / "status").read_text().splitlines()
        said = dict(line.split(":", 1) for line in lines)
        opened = list(_targets(folder / "fd"))
        return Size(
            resident_bytes=int(said["VmRSS"].split()[0]) * 1024,
            threads=int(said["Threads"]),
            files=len(opened),
            sockets=sum(name.startswith("socket:") for name in opened),
        )


def _targets(folder: Path) -> Iterator[str]:
    for name in os.listdir(folder):
        try:
            yield os.readlink(folder / name)
        except FileNotFoundError:  # Closed meanwhile.
            continue


@dataclass
class Load:
    """Several who do everything that can be done, each until it is over."""

    connect: Callable[[], httpx.Client]
    is_over: threading.Event = field(default_factory=threading.Event)

    def work(self, worker: int) -> int:
        """Go round until it is over; returns how often."""
        with self.connect() as client:
            for number in count(1):
                session = f"s{worker}.{number}"
                self._fill_and_read(client, session)
                self._upload_and_read(client, session)
                self._keep_a_page(client, session)
                client.delete(f"/api/sessions/{session}").raise_for_status()
                if self.is_over.is_set():
                    return number
        return 0

    def _fill_and_read(self, client: httpx.Client, session: str) -> None:
        """Results of a session, with somebody listening, and what is made of them."""
        with listening(client, f"/api/sessions/{session}/events", after=0) as stream:
            for number in range(RESULTS_OF_A_SESSION):
                call = Call(kind := KINDS[number % len(KINDS)], session, number, sizes(kind))
                place, body = until_taken(partial(call.send, client))
                assert client.get(place).content == body
                assert stream.next().told["seq"] == number + 1
                if call.digest:
                    (resource,) = client.get(place).json()["sanitized"]["resources"]
                    assert content(client, resource["uri"].removeprefix("blob:")) == call.data
        page = client.get(f"/api/sessions/{session}/messages").raise_for_status().json()
        assert [entry["seq"] for entry in page["items"]] == [*range(1, RESULTS_OF_A_SESSION + 1)]
        for target in TARGETS:
            until_taken(partial(rendered, client, session, target))

    def _upload_and_read(self, client: httpx.Client, session: str) -> None:
        """A file whole and one in pieces, each read and deleted."""
        for kind in ("file", "pieces"):
            call = Call(kind, session, 0, sizes(kind))
            place, _ = until_taken(partial(call.send, client))
            assert client.get(f"{place}/content").content == call.data
            assert client.get("/api/resources").is_success
            client.delete(place).raise_for_status()

    def _keep_a_page(self, client: httpx.Client, session: str) -> None:
        place = f"/api/pages/{session}"
        client.put(place, json={"content": f"what {session} is about"}).raise_for_status()
        assert client.get(f"{place}/content").is_success
        found = client.get("/api/pages/search", params={"q": session}).raise_for_status()
        assert session in [hit["page_id"] for hit in found.json()["items"]]
        client.delete(place).raise_for_status()


def rendered(client: httpx.Client, session: str, target: str) -> tuple[str, bytes]:
    """A session for a model, and where it is read; smaller images are written for it."""
    place = f"/api/sessions/{session}/render"
    answer = client.get(place, params={"target": target}).raise_for_status()
    return place, answer.content


def sizes(kind: Kind) -> int:
    """The bytes of a medium."""
    return {"text": 0, "medium": 80_000, "long": 1_200_000}.get(kind, 100_000)


def medians(samples: Sequence[Size]) -> Size:
    """The middle of each figure."""
    return Size(
        *(
            median(getattr(sample, name) for sample in samples)
            for name in ("resident_bytes", "threads", "files", "sockets")
        )
    )


@pytest.mark.promise(
    "durability.md#several-at-once",
    (
        "Under continuous load the process does not grow: memory, threads, open files, "
        "connections, temporary files"
    ),
    kept_by="app/server/uvicorn_config.py",
    tried=(
        "2 seconds, both engines, growth not judged; long: 30 minutes on each with two "
        "connections, whose caches are full early, the last quarter at most 10 % and 8 MiB "
        "above the second"
    ),
)
def test_process_does_not_grow_under_a_load_that_goes_on(
    backends: Backends, engine: Engine, tmp_path: Path
) -> None:
    data_dir = tmp_path / "data"
    state = EmbeddedState(data_dir) if engine == "embedded" else ServerState(backends)
    # What is loaded beforehand, and forked, does not hold its memory for itself.
    process = WatchedProcess(data_dir, env={**state.env, **SETTINGS}, is_installed=LONG)
    with process, ThreadPoolExecutor(WORKERS) as pool:
        load = Load(lambda: process.client("none"))
        rounds = [pool.submit(load.work, number) for number in range(WORKERS)]
        samples = [process.size]
        try:
            for _ in range(round(SECONDS / BETWEEN_SAMPLES_SECONDS)):
                # Over before its time only if somebody who works has failed.
                if load.is_over.wait(BETWEEN_SAMPLES_SECONDS) or any(map(has_failed, rounds)):
                    break
                samples.append(process.size)
        finally:
            load.is_over.set()
        done = sum(item.result() for item in rounds)
        assert state.bytes_on_their_way() == 0
        assert state.rows() == []
    # The first has only just begun: caches fill, and threads are started as they are needed.
    quarter = len(samples) // 4
    before, after = medians(samples[quarter : 2 * quarter]), medians(samples[-quarter:])
    tell(
        f"Load that goes on, {engine}",
        f"{SECONDS} s, {done} rounds by {WORKERS}; second and last quarter: resident "
        f"{before.resident_bytes / MIB:.0f} and {after.resident_bytes / MIB:.0f} MiB, threads "
        f"{before.threads:.0f} and {after.threads:.0f}, open files {before.files:.0f} and "
        f"{after.files:.0f}, sockets {before.sockets:.0f} and {after.sockets:.0f}",
    )
    if LONG:
        assert after.resident_bytes <= before.resident_bytes * 1.1 + 8 * MIB
        assert after.threads <= before.threads + 4
        assert after.files <= before.files + 8
        assert after.sockets <= before.sockets + 8


def has_failed(work: Future[int]) -> bool:
    """True if a client has given up."""
    return work.done() and work.exception() is not None
