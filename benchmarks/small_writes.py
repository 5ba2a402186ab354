"""Small tool results a second, each on the disk before it is answered; a part of `common_case`.

Texts of 2 KB are sent to sessions, on 1 and on 16 connections. Beside each figure stands its floor,
measured in turns with it: `benchmarks.bare_writers`, as many as there are clients. Both databases
sync every commit to the disk. The processor time of a result stands beside that of a route which
counts the bytes of the same requests.

Then the same with databases whose commits take 5 ms longer (`benchmarks.slow_commits`), for the
bare writers as well.
"""

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

from app.config.settings import Settings
from app.wiring.stores import migrate_database
from benchmarks.bare_writers import PostgresWriter, SqliteWriter, Writer, rate_of
from benchmarks.figures import (
    Aim,
    Figure,
    Scale,
    ratio_at_least,
    value_at_least,
    value_at_most,
)
from benchmarks.live_server import Bare, Service, bare_server, serving
from benchmarks.load_client import Ask, request
from benchmarks.machine import CLIENT, on_cores
from benchmarks.postgres import durable_postgres
from benchmarks.slow_commits import COMMAND as SLOW_COMMAND
from benchmarks.slow_commits import SlowConnection, slow_down
from benchmarks.turns import VariedSide, rates_in_turns, spread
from tests.kit.servers import SIGNING_KEY, Postgres

GROUP = "common"
TEXT = ("What the tool has found, in a few words of no importance. " * 40)[:2_048]


@dataclass(frozen=True, slots=True)
class Aims:
    """The aim for a number of clients of a database."""

    a_second: float
    ratio: Aim | None = None
    cpu_ms: Aim | None = None


@dataclass(frozen=True, slots=True)
class Database:
    """A service over a database, and what makes bare writers to another one like it."""

    name: str
    service: Service
    writers: Callable[[int], Sequence[Writer]]
    aims: Mapping[int, Aims]
    """By the number of clients, each of which is measured."""
    is_slow: bool = False


async def measure(scale: Scale) -> Sequence[Figure]:
    """Every number of clients on every database, one database after the other."""
    figures: list[Figure] = []
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bare = stack.enter_context(bare_server(folder / "bare"))
        postgres = await stack.enter_async_context(durable_postgres())
        for opened in (
            _sqlite(folder / "sqlite"),
            _postgresql(folder / "postgresql", postgres),
            _slow_sqlite(folder / "slow-sqlite"),
            _slow_postgresql(folder / "slow-postgresql", postgres),
        ):
            async with opened as database:
                with on_cores(CLIENT):
                    for clients in database.aims:
                        figures += await _compare(database, bare, clients, scale)
    return figures


async def _compare(database: Database, bare: Bare, clients: int, scale: Scale) -> Sequence[Figure]:
    """The service, the route that counts and the bare writers in turns."""
    service = database.service
    served, counted, written = await rates_in_turns(
        [
            VariedSide(service, _requests(service, clients), (201,)),
            VariedSide(bare, _requests(service, clients, path="/count")),
        ],
        connections=clients,
        rounds=scale.pick(5, 1),
        seconds=scale.pick(1.5, 0.05),
        work=partial(rate_of, database.writers(clients)),
    )
    aims = database.aims[clients]
    name = f"2 KB text, {database.name}, {clients} client{'s' if clients > 1 else ''}"
    rate = Figure(
        group=GROUP,
        name=name,
        value=median(served.a_second),
        unit="results/s",
        baseline=median(written.a_second),
        baseline_name="the same rows by the bare driver",
        aim=value_at_least(aims.a_second),
        detail=f"{spread(served.a_second)}; {median(served.cpu_us):,.0f} µs of CPU each",
    )
    if database.is_slow:
        return [rate]
    shared = replace(rate, name=f"{name}: beside the bare driver", aim=aims.ratio)
    processor = Figure(
        group=GROUP,
        name=f"{name}: processor time",
        value=median(served.cpu_us) / 1_000,
        unit="ms",
        baseline=median(counted.cpu_us) / 1_000,
        baseline_name="bytes only counted",
        aim=aims.cpu_ms,
        detail=f"bytes only counted: {median(counted.a_second):,.0f} results/s",
    )
    return [rate, *([shared] if aims.ratio else []), processor]


def _requests(service: Service, clients: int, *, path: str = "/api/tool-results") -> Ask:
    """Results with calls of their own, to as many sessions as there are clients."""
    run = f"{service.pid}-{clients}"
    numbers = count()
    headers = {**service.headers, "Content-Type": "application/json"}

    def ask() -> bytes:
        number = next(numbers)
        result = {
            "toolName": "look",
            "toolCallId": f"{run}-{number}",
            "sessionId": f"{run}-{number % clients}",
            "result": {"content": [{"type": "text", "text": f"{number:08}{TEXT[8:]}"}]},
        }
        body = json.dumps(result).encode()
        return request("POST", path, headers=headers, body=body)

    return ask


@asynccontextmanager
async def _sqlite(folder: Path) -> AsyncIterator[Database]:
    aims = {
        1: Aims(700, ratio=ratio_at_least(0.25)),
        16: Aims(1_500, cpu_ms=value_at_most(0.7)),
    }
    with serving(folder) as service:
        writer = SqliteWriter(await _migrated_file(folder))
        yield Database("SQLite", service, lambda _: [writer], aims)


@asynccontextmanager
async def _slow_sqlite(folder: Path) -> AsyncIterator[Database]:
    with serving(folder, command=SLOW_COMMAND) as service:
        writer = SqliteWriter(await _migrated_file(folder), factory=SlowConnection)
        yield Database(_slow("SQLite"), service, lambda _: [writer], {16: Aims(900)}, is_slow=True)


async def _migrated_file(folder: Path) -> Path:
    own = Settings(data_dir=folder / "bare")
    await migrate_database(own)
    return own.data_dir / "pagefault.db"


@asynccontextmanager
async def _postgresql(folder: Path, postgres: Postgres) -> AsyncIterator[Database]:
    served, own = _new_databases(postgres)
    with serving(folder, env=_over(served)) as service:
        yield Database("PostgreSQL", service, _writers(own), {1: Aims(450), 16: Aims(900)})


@asynccontextmanager
async def _slow_postgresql(folder: Path, postgres: Postgres) -> AsyncIterator[Database]:
    served, own = _new_databases(postgres)
    for url in (served, own):
        slow_down(url)
    with serving(folder, env=_over(served)) as service:
        yield Database(_slow("PostgreSQL"), service, _writers(own), {16: Aims(650)}, is_slow=True)


def _slow(name: str) -> str:
    return f"{name} with commits 5 ms slower, one project"


def _new_databases(postgres: Postgres) -> tuple[str, str]:
    """One for the service, one for the bare writers."""
    first, second = (postgres.url(postgres.new_database(migrated=True)) for _ in range(2))
    return first, second


def _over(url: str) -> dict[str, str]:
    return {
        "PAGEFAULT_DB__URL": url,
        "PAGEFAULT_SIGNING_KEYS": SIGNING_KEY.get_secret_value(),
    }


def _writers(url: str) -> Callable[[int], Sequence[Writer]]:
    return lambda clients: [PostgresWriter(url) for _ in range(clients)]
