"""Small tool results a second, each on the disk before it is answered.

    python -m benchmarks --only writing

Texts of 2 KB are sent to sessions, on 1 and on 16 connections. Beside each figure stands its floor,
measured in turns with it: `benchmarks.bare_writers`, as many as there are clients. Both databases
sync every commit to the disk.
"""

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median

import anyio.to_thread

from app.settings import Settings
from app.wiring import migrate_database
from benchmarks.asking import Ask, loading, request
from benchmarks.bare_writers import PostgresWriter, SqliteWriter, Writer, rate_of
from benchmarks.figures import Figure, Scale
from benchmarks.live_server import Service, serving
from benchmarks.machine import CLIENT, on_cores
from benchmarks.postgres import durable_postgres
from benchmarks.turns import Rates, cpu_seconds, spread
from tests.servers import SIGNING_KEY, Postgres

GROUP = "writing"
CLIENTS = (1, 16)
TEXT = ("What the tool has found, in a few words of no importance. " * 40)[:2_048]


@dataclass(frozen=True, slots=True)
class Database:
    """A service over a database, and what makes bare writers to another one like it."""

    name: str
    service: Service
    writers: Callable[[int], Sequence[Writer]]


async def measure(scale: Scale) -> Sequence[Figure]:
    """One client and 16, on both databases."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = await stack.enter_async_context(durable_postgres())
        databases = [
            await stack.enter_async_context(_sqlite(folder)),
            await stack.enter_async_context(_postgresql(folder, postgres)),
        ]
        stack.enter_context(on_cores(CLIENT))
        return [
            await _compare(database, clients, scale)
            for database in databases
            for clients in CLIENTS
        ]


async def _compare(database: Database, clients: int, scale: Scale) -> Figure:
    """The service and the bare writers in turns."""
    seconds, rounds = scale.pick(2.0, 0.05), scale.pick(7, 1)
    service = database.service
    writers = database.writers(clients)
    served, bare = Rates(), []
    async with loading(
        service.port, _requests(service, clients), connections=clients, statuses=(201,)
    ) as load:
        for number in range(rounds + 1):
            spent = cpu_seconds(service.pid)
            answers, took = await load.run(seconds)
            spent = cpu_seconds(service.pid) - spent
            written = await anyio.to_thread.run_sync(rate_of, writers, seconds)
            if number:
                served.a_second.append(answers / took)
                served.cpu_us.append(spent / answers * 1e6)
                bare.append(written)
    return Figure(
        group=GROUP,
        name=f"{database.name}, {clients} client{'s' if clients > 1 else ''}",
        value=median(served.a_second),
        unit="results/s",
        baseline=median(bare),
        baseline_name="the same rows by the bare driver",
        detail=f"{spread(served.a_second)}; {median(served.cpu_us):,.0f} µs of CPU each",
    )


def _requests(service: Service, clients: int) -> Ask:
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
            "result": {"content": [{"type": "text", "text": TEXT}]},
        }
        body = json.dumps(result).encode()
        return request("POST", "/api/tool-results", headers=headers, body=body)

    return ask


@asynccontextmanager
async def _sqlite(folder: Path) -> AsyncIterator[Database]:
    with serving(folder / "sqlite") as service:
        own = Settings(data_dir=folder / "bare")
        await migrate_database(own)
        writer = SqliteWriter(own.data_dir / "pagefault.db")
        yield Database("SQLite", service, lambda _: [writer])


@asynccontextmanager
async def _postgresql(folder: Path, postgres: Postgres) -> AsyncIterator[Database]:
    env = {
        "PAGEFAULT_DB__URL": postgres.url(postgres.new_database(migrated=True)),
        "PAGEFAULT_SIGNING_KEYS": SIGNING_KEY.get_secret_value(),
    }
    own = postgres.url(postgres.new_database(migrated=True))
    with serving(folder / "postgresql", env=env) as service:
        yield Database(
            "PostgreSQL", service, lambda clients: [PostgresWriter(own) for _ in range(clients)]
        )
