"""Times of a page fault and a search for one client; a part of `common_case`.

A page of 2 KB is faulted at FULL, another one each time, and then with each fault kept in a
session's history. In turns with it a route answers with the same bytes. Then 10,000 pages are
searched for words of 10 pages, of 200, and of all of them, and in turns with it the same words are
looked for in a plain FTS5 table of the same pages, without a server.

    word of a page   pages that have it
    rareword<n>      10
    someword<n>      200
    everyword<n>     all
"""

import json
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

import httpx

from benchmarks.figures import Figure, Scale, WrongAnswerError, value_at_most
from benchmarks.live_server import Service, bare_server, serving
from benchmarks.load_client import Ask, request
from benchmarks.machine import CLIENT, SERVER, on_cores
from benchmarks.page_search import Author
from benchmarks.turns import Rates, Side, VariedSide, rates_in_turns

GROUP = "common"
FAULTED = 200
SHOWN = 20
_TEXT = ("What the page says, in a few words of no importance at all. " * 40)[:2_000]
_PAGES_AT_ONCE = 1_000
_RARE = 10
_SOME = 200
_EVERY = 10
_FTS = (
    "SELECT page_id, snippet(pages, 1, '', '', '…', 24) FROM pages WHERE pages MATCH ? "
    "ORDER BY rank LIMIT 20"
)


@dataclass(frozen=True, slots=True)
class Words:
    """Words of one kind, each in a name that has its number at the end."""

    kind: str
    stem: str
    count: int
    found: int
    """Return the number of pages in an answer."""
    aim_ms: float

    def page(self, number: int) -> str:
        """The word of a page."""
        return f"{self.stem}{number % self.count}"


async def measure(scale: Scale) -> Sequence[Figure]:
    """Faults first, then searches."""
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as service:
        folder = Path(name)
        return [*await _faults(service, folder, scale), *await _searches(service, folder, scale)]


async def _faults(service: Service, folder: Path, scale: Scale) -> Sequence[Figure]:
    """Faults that are answered alone, and faults that are kept in a history."""
    answer = _prepared(service)
    with bare_server(folder / "bare", constants={"fault": answer}) as bare, on_cores(CLIENT):
        constant = Side(bare, request("GET", "/constants/fault"))
        figures = []
        for name, aim_ms, is_kept in (
            ("page fault FULL, 1 client", 1.1, False),
            ("page fault FULL, kept in the history, 1 client", 1.4, True),
        ):
            faulted, answered = await rates_in_turns(
                [VariedSide(service, _fault_requests(service, is_kept=is_kept)), constant],
                connections=1,
                rounds=scale.pick(9, 1),
                seconds=scale.pick(1.0, 0.05),
            )
            beside = f"constant of {len(answer):,} bytes"
            figures.append(_figure(name, faulted, answered, beside, aim_ms))
        return figures


def _prepared(service: Service) -> bytes:
    """Write the page; return the answer to a fault of it."""
    with service.client() as client:
        pages = [
            {"page_id": f"f{number}", "session_id": "s", "content": f"Page {number}. {_TEXT}"}
            for number in range(FAULTED)
        ]
        client.post("/api/pages/bulk", json={"pages": pages}).raise_for_status()
        answer = client.post("/api/pages/f0/fault", json={"target_level": 0}).raise_for_status()
    if _TEXT not in answer.text:
        raise WrongAnswerError(answer.text[:2_000])
    return answer.content


def _fault_requests(service: Service, *, is_kept: bool) -> Ask:
    """Faults of one page after the other; those that are kept are of calls of their own."""
    numbers = count()
    headers = {**service.headers, "Content-Type": "application/json"}

    def ask() -> bytes:
        number = next(numbers)
        wish: dict[str, object] = {"target_level": 0}
        if is_kept:
            wish |= {"session_id": "s", "tool_call_id": f"call_{number}"}
        path = f"/api/pages/f{number % FAULTED}/fault"
        return request("POST", path, headers=headers, body=json.dumps(wish).encode())

    return ask


async def _searches(service: Service, folder: Path, scale: Scale) -> Sequence[Figure]:
    """Searches for words of every kind."""
    pages = scale.pick(10_000, 400)
    kinds = (
        Words("rare word", "rareword", pages // _RARE, _RARE, 1.0),
        Words("word of some pages", "someword", pages // _SOME, SHOWN, 1.5),
        Words("common word", "everyword", _EVERY, SHOWN, 5.5),
    )
    texts = _texts(kinds[:2], pages)
    peer = _plain_table(folder / "peer.db", texts)
    with service.client() as client:
        _write(client, texts)
        for kind in kinds:
            _check_found(client, kind)
    with on_cores(CLIENT):
        return [await _search(service, peer, kind, scale) for kind in kinds]


async def _search(service: Service, peer: sqlite3.Connection, kind: Words, scale: Scale) -> Figure:
    searched, alone = await rates_in_turns(
        [VariedSide(service, _search_requests(service, kind))],
        connections=1,
        rounds=scale.pick(9, 1),
        seconds=scale.pick(1.0, 0.05),
        work=partial(_searches_a_second, peer, kind),
    )
    name = f"search in 10,000 pages: {kind.kind}, 1 client"
    return _figure(name, searched, alone, "plain FTS5 table in process", kind.aim_ms)


def _search_requests(service: Service, kind: Words) -> Ask:
    numbers = count()
    return lambda: request(
        "GET", f"/api/pages/search?q={kind.page(next(numbers))}", headers=service.headers
    )


def _searches_a_second(peer: sqlite3.Connection, kind: Words, seconds: float) -> float:
    """Return the searches of the plain table in a second."""
    began, searched = time.perf_counter(), 0
    with on_cores(SERVER):
        while (took := time.perf_counter() - began) < seconds:
            found = peer.execute(_FTS, (kind.page(searched),)).fetchall()
            if len(found) != kind.found:
                raise WrongAnswerError(f"{len(found)} pages have {kind.page(searched)}")
            searched += 1
    return searched / took


def _texts(kinds: Sequence[Words], pages: int) -> list[str]:
    """The texts of the pages, of some 120 words."""
    author = Author()
    common = " ".join(f"everyword{number}" for number in range(_EVERY))
    return [
        " ".join([*author.page(1).text, common, *(kind.page(number) for kind in kinds)])
        for number in range(pages)
    ]


def _plain_table(path: Path, texts: Sequence[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False)
    connection.execute("CREATE VIRTUAL TABLE pages USING fts5(page_id UNINDEXED, body)")
    rows = [(f"p{number}", text) for number, text in enumerate(texts)]
    connection.executemany("INSERT INTO pages VALUES (?, ?)", rows)
    connection.commit()
    return connection


def _write(client: httpx.Client, texts: Sequence[str]) -> None:
    for start in range(0, len(texts), _PAGES_AT_ONCE):
        pages = [
            {"page_id": f"p{start + offset}", "session_id": "s", "content": text}
            for offset, text in enumerate(texts[start : start + _PAGES_AT_ONCE])
        ]
        client.post("/api/pages/bulk", json={"pages": pages}).raise_for_status()


def _check_found(client: httpx.Client, kind: Words) -> None:
    answer = client.get("/api/pages/search", params={"q": kind.page(0)}).raise_for_status()
    if len(answer.json()["items"]) != kind.found:
        raise WrongAnswerError(f"{kind.page(0)}: {answer.text[:2_000]}")


def _figure(name: str, served: Rates, alone: Rates, beside: str, aim_ms: float) -> Figure:
    """Milliseconds of an answer to the one client there is."""
    times = sorted(1_000 / item for item in served.a_second)
    return Figure(
        group=GROUP,
        name=name,
        value=median(times),
        unit="ms",
        baseline=median(1_000 / item for item in alone.a_second),
        baseline_name=beside,
        aim=value_at_most(aim_ms),
        detail=f"{times[0]:.2f}-{times[-1]:.2f} in {len(times)} rounds; "
        f"{median(served.cpu_us):,.0f} µs of CPU each",
    )
