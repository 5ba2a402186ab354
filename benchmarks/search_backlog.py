"""The search index beside writes: how old its backlog grows, and how much slower writes are.

    python -m benchmarks --only search-backlog

Tool results of some 200 words are written 250 times a second, and the metric of the age is read
every second. Then as many as possible are written on 16 connections, in turns to a service that
indexes as for a backlog of a minute and to one that does not index; the other one is stopped.

    python -m benchmarks.search_backlog aged serve --port 0
    python -m benchmarks.search_backlog off serve --port 0

are these two services.
"""

import asyncio
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure, Scale, ratio_at_least, value_at_most
from benchmarks.live_server import Service, serving
from benchmarks.load_client import Ask, loading, request
from benchmarks.machine import CLIENT, on_cores
from benchmarks.page_search import Author
from benchmarks.postgres import durable_postgres
from benchmarks.turns import spread
from tests.kit.servers import SIGNING_KEY

GROUP = "search-backlog"
A_SECOND = 250
CONNECTIONS = 16
OTHER_INDEXING = (sys.executable, "-m", "benchmarks.search_backlog")
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_AGE = re.compile(r"^pagefault_search_backlog_age_seconds (\S+)$", re.MULTILINE)
_ENTRIES = re.compile(r"^pagefault_search_backlog_entries (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Backlog:
    """Metrics of the backlog."""

    age_seconds: float
    entries: float


async def measure(scale: Scale) -> Sequence[Figure]:
    """Both databases, one after the other."""
    figures: list[Figure] = []
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        figures += await _measure("SQLite", folder / "sqlite", [{}] * 3, scale)
        postgres = await stack.enter_async_context(durable_postgres())
        urls = [postgres.url(postgres.new_database(migrated=True)) for _ in range(3)]
        key = SIGNING_KEY.get_secret_value()
        settings = [{"PAGEFAULT_DB__URL": url, "PAGEFAULT_SIGNING_KEYS": key} for url in urls]
        figures += await _measure("PostgreSQL", folder / "postgresql", settings, scale)
    return figures


async def _measure(
    name: str, folder: Path, settings: Sequence[Mapping[str, str]], scale: Scale
) -> Sequence[Figure]:
    with serving(folder / "paced", env=settings[0]) as service, on_cores(CLIENT):
        samples = await _write_steadily(service, scale.pick(75.0, 0.2))
    age = Figure(
        group=GROUP,
        name=f"{name}: age of the backlog beside {A_SECOND} writes/s",
        value=max(sample.age_seconds for sample in samples),
        unit="s",
        aim=value_at_most(60),
        detail=f"{samples[-1].entries:.0f} entries waited at the end",
    )
    with (
        serving(folder / "aged", env=settings[1], command=(*OTHER_INDEXING, "aged")) as indexing,
        serving(folder / "off", env=settings[2], command=(*OTHER_INDEXING, "off")) as other,
        on_cores(CLIENT),
    ):
        with_index, without = await _write_in_turns(indexing, other, scale)
    rate = Figure(
        group=GROUP,
        name=f"{name}: writes beside indexing as for a backlog of a minute",
        value=median(with_index),
        unit="results/s",
        baseline=median(without),
        baseline_name="without indexing",
        aim=ratio_at_least(0.9),
        detail=spread(with_index),
    )
    return [age, rate]


async def _write_steadily(service: Service, seconds: float) -> Sequence[Backlog]:
    """Write at an even pace; return the backlog of every second."""
    loop = asyncio.get_running_loop()
    ask, slots = _requests(service), count()
    began = loop.time()

    async def write() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        while (at := began + next(slots) / A_SECOND) < began + seconds:
            await asyncio.sleep(max(0.0, at - loop.time()))
            writer.write(ask())
            head = await reader.readuntil(b"\r\n\r\n")
            found = _LENGTH.search(head)
            await reader.readexactly(int(found[1]) if found else 0)
        writer.close()

    samples: list[Backlog] = []

    async def watch() -> None:
        while True:
            await asyncio.sleep(1)
            samples.append(await asyncio.to_thread(_backlog, service))

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(write() for _ in range(8)))
    watching.cancel()
    return [*samples, await asyncio.to_thread(_backlog, service)]


def _backlog(service: Service) -> Backlog:
    with service.client() as client:
        text = client.get("/metrics").text
    age, entries = _AGE.search(text), _ENTRIES.search(text)
    return Backlog(float(age[1]) if age else 0.0, float(entries[1]) if entries else 0.0)


async def _write_in_turns(
    first: Service, second: Service, scale: Scale
) -> tuple[Sequence[float], Sequence[float]]:
    """Write as much as possible to two services in turns; return the rates of each."""
    rates: dict[int, list[float]] = {first.pid: [], second.pid: []}
    for _ in range(scale.pick(5, 1)):
        for service, other in ((first, second), (second, first)):
            with _stopped(other.pid):
                async with loading(
                    service.port, _requests(service), connections=CONNECTIONS, statuses=(201,)
                ) as load:
                    answers, seconds = await load.run(scale.pick(3.0, 0.1))
            rates[service.pid].append(answers / seconds)
    return rates[first.pid], rates[second.pid]


@contextmanager
def _stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


_NUMBERS = count()
_TEXTS: list[str] = []


def _requests(service: Service) -> Ask:
    """Results of new calls, with texts of made-up words."""
    if not _TEXTS:
        author = Author()
        _TEXTS.extend(" ".join(author.page(2 * n + 1).text) * 2 for n in range(2_000))
    headers = {**service.headers, "Content-Type": "application/json"}

    def ask() -> bytes:
        number = next(_NUMBERS)
        text = f"{number} {_TEXTS[number % len(_TEXTS)]}"
        result = {
            "toolName": "look",
            "toolCallId": f"c{number}",
            "sessionId": f"s{number % CONNECTIONS}",
            "result": {"content": [{"type": "text", "text": text}]},
        }
        body = json.dumps(result).encode()
        return request("POST", "/api/tool-results", headers=headers, body=body)

    return ask


def main() -> None:
    """Run the service with another pace of indexing."""
    from app.cli.main import main as run  # noqa: PLC0415 - loaded by the service alone
    from app.services.search import backlog  # noqa: PLC0415
    from app.services.search.indexing import SearchIndexing  # noqa: PLC0415

    if sys.argv.pop(1) == "off":
        SearchIndexing.lifespan = lambda _: nullcontext()  # type: ignore[method-assign,assignment,return-value]
    else:
        backlog.AGED_SECONDS = 1e-9
    run()


if __name__ == "__main__":
    main()
