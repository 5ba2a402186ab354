"""Cost of one write for each part of a deployment on PostgreSQL, for the model of docs/scaling.md.

    python -m benchmarks --only capacity

Messages of 2 KB are written on 16 connections to 64 sessions. Costs are processor time, bytes of
the write-ahead log and bytes of the database, which depend little on other work of the machine.
"""

import asyncio
import json
import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg

from benchmarks.figures import Figure, Scale
from benchmarks.live_server import Memory, Service, serving
from benchmarks.load_client import Ask, loading, request
from benchmarks.page_search import Author
from benchmarks.postgres import durable_postgres
from benchmarks.search_backlog import OTHER_INDEXING
from tests.kit.process import COMMAND
from tests.kit.servers import SIGNING_KEY

GROUP = "capacity"
CONNECTIONS = 16
SESSIONS = 64
_TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
_BACKLOG = re.compile(r"^pagefault_search_backlog_entries (\S+)$", re.MULTILINE)
_NUMBERS = count()
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Costs:
    """Return the processor time that was used up to now."""

    service_ms: float
    database_ms: float
    wal_bytes: int
    stored_bytes: int

    def each(self, before: "Costs", writes: int) -> "Costs":
        """Return the costs of one of so many writes since an earlier moment."""
        return Costs(
            (self.service_ms - before.service_ms) / writes,
            (self.database_ms - before.database_ms) / writes,
            (self.wal_bytes - before.wal_bytes) // writes,
            (self.stored_bytes - before.stored_bytes) // writes,
        )


async def measure(scale: Scale) -> Sequence[Figure]:
    """Write for some seconds without indexing, then with it; return the costs of a write."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = await stack.enter_async_context(durable_postgres())
        figures: list[Figure] = []
        for name, command in (("without indexing", "off"), ("indexed for searches", "")):
            url = postgres.url(postgres.new_database(migrated=True))
            figures += await _measure(name, folder / name, url, command, scale)
    return figures


async def _measure(
    name: str, folder: Path, url: str, command: str, scale: Scale
) -> Sequence[Figure]:
    env = {"PAGEFAULT_DB__URL": url, "PAGEFAULT_SIGNING_KEYS": SIGNING_KEY.get_secret_value()}
    arguments = (*OTHER_INDEXING, command) if command else (str(COMMAND),)
    with (
        psycopg.connect(url, autocommit=True) as connection,
        serving(folder, env=env, command=arguments) as service,
    ):
        memory = Memory(service.pid).now
        async with loading(
            service.port, _requests(service), connections=CONNECTIONS, statuses=(201,)
        ) as load:
            await load.run(scale.pick(3.0, 0.1))
            await _end_indexing(service)
            before = _costs(service, connection)
            writes, _ = await load.run(scale.pick(10.0, 0.1))
            await _end_indexing(service)
            cost = _costs(service, connection).each(before, writes)
        (connections,) = connection.execute(
            "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"
        ).fetchone() or (0,)
    figures = [
        _figure(f"processor time of the service, a write, {name}", cost.service_ms, "ms"),
        _figure(f"processor time of PostgreSQL, a write, {name}", cost.database_ms, "ms"),
        _figure(f"write-ahead log, a write, {name}", cost.wal_bytes / 1000, "kB"),
        _figure(f"size of the database, a write, {name}", cost.stored_bytes / 1000, "kB"),
    ]
    if not command:
        figures += [
            _figure("connections of a busy process", connections, "connections"),
            _figure("memory of an idle process", memory / _MIB, "MiB"),
        ]
    return figures


def _figure(name: str, value: float, unit: str) -> Figure:
    return Figure(group=GROUP, name=name, value=value, unit=unit)


async def _end_indexing(service: Service) -> None:
    """Wait until all entries are in the search index, if the service writes one."""
    with service.client() as client:
        while True:
            # The gauge is set each second.
            await asyncio.sleep(1.5)
            entries = _BACKLOG.search(client.get("/metrics").text)
            if entries is None or float(entries[1]) == 0:
                return


def _costs(service: Service, connection: psycopg.Connection[tuple[object, ...]]) -> Costs:
    row = connection.execute(
        "SELECT pg_current_wal_lsn() - '0/0', pg_database_size(current_database()), "
        "pg_backend_pid()"
    ).fetchone()
    wal_bytes, stored_bytes, backend = row or (0, 0, 0)
    # The server process is the parent of that of the connection.
    server = int(_stat(int(str(backend)))[1])
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    database_ms = _ended_ms(server) + sum(_processor_ms(int(child)) for child in children)
    return Costs(
        _processor_ms(service.pid), database_ms, int(str(wal_bytes)), int(str(stored_bytes))
    )


def _stat(pid: int) -> list[str]:
    """Return the fields of a process behind its name (proc(5))."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _processor_ms(pid: int) -> float:
    return sum(map(int, _stat(pid)[11:13])) * _TICK_MS


def _ended_ms(pid: int) -> float:
    """Return the processor time of children that have ended."""
    return sum(map(int, _stat(pid)[13:15])) * _TICK_MS


def _requests(service: Service) -> Ask:
    """Messages of 2 KB of made-up words, to one session after the other."""
    author = Author()
    words = " ".join(" ".join(author.page(number).text) for number in range(200))
    headers = {**service.headers, "Content-Type": "application/json"}

    def ask() -> bytes:
        number = next(_NUMBERS)
        start = number * 97 % (len(words) - 2_000)
        message = {"role": "user", "content": f"{number} {words[start : start + 1_950]}"}
        path = f"/api/sessions/s{number % SESSIONS}/messages"
        return request("POST", path, headers=headers, body=json.dumps(message).encode())

    return ask
