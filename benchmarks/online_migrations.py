"""The waits of others while a database of a million records is migrated from the first schema.

    python -m benchmarks --only migrations

Rows of the schema `0001` are made by SQL: 10,000 sessions with 100 tool results each. While they
are migrated, another connection writes a result and reads a session, every 10 ms.
"""

import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread
from sqlalchemy import Connection, text

from app.config.settings import Settings
from app.wiring.stores import migrate_database, open_database
from benchmarks.figures import Figure, Scale, value_at_most
from benchmarks.postgres import durable_postgres
from tests.kit.schemas import upgrade_to

GROUP = "migrations"
_IN_SESSION = 100
_PAUSE_SECONDS = 0.01
# ruff: noqa: S608 - the names in the statements are written here
_NUMBERS = {
    "postgresql": "SELECT n FROM generate_series(0, :last) n",
    "sqlite": "WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < :last) "
    "SELECT n FROM s",
}
_BYTES = {
    "postgresql": "convert_to('[' || n || ', \"walruses\"]', 'UTF8')",
    "sqlite": "CAST('[' || n || ', \"walruses\"]' AS BLOB)",
}
_ROWS = (
    "INSERT INTO sessions (project_id, session_id, created_at, updated_at, last_seq) "
    f"SELECT 'p', 's' || n, n, n, {_IN_SESSION} FROM ({{numbers}}) AS numbers "
    "WHERE n < :sessions",
    "INSERT INTO history_entries (project_id, session_id, seq, kind, entry_id) "
    f"SELECT 'p', 's' || (n / {_IN_SESSION}), n % {_IN_SESSION} + 1, 'tool_result', 'r' || n "
    "FROM ({numbers}) AS numbers",
    "INSERT INTO tool_results (project_id, tool_result_id, session_id, seq, tool_name, "
    "tool_call_id, success, request_digest, created_at, sanitized) "
    f"SELECT 'p', 'r' || n, 's' || (n / {_IN_SESSION}), n % {_IN_SESSION} + 1, 'look', 'c' || n, "
    f"n % 50 > 0, 'd', n, {{bytes}} FROM ({{numbers}}) AS numbers",
)
_WRITE = (
    "UPDATE sessions SET last_seq = last_seq + 1 WHERE project_id = 'p' AND session_id = 's0'",
    "INSERT INTO history_entries (project_id, session_id, seq, kind, entry_id) SELECT 'p', 's0', "
    "last_seq, 'tool_result', :id FROM sessions WHERE project_id = 'p' AND session_id = 's0'",
    "INSERT INTO tool_results (project_id, tool_result_id, session_id, seq, tool_name, "
    "tool_call_id, success, request_digest, created_at, sanitized) SELECT 'p', :id, 's0', "
    "last_seq, 'look', :id, true, 'd', 0, :record FROM sessions "
    "WHERE project_id = 'p' AND session_id = 's0'",
)
_READ = (
    "SELECT h.seq, t.sanitized FROM history_entries h JOIN tool_results t "
    "ON t.project_id = h.project_id AND t.tool_result_id = h.entry_id "
    "WHERE h.project_id = 'p' AND h.session_id = 's7' ORDER BY h.seq LIMIT 20"
)


@dataclass(frozen=True, slots=True)
class Waits:
    """The longest times of a write and of a read in seconds, and how many there were of each."""

    write: float
    read: float
    count: int


class OtherConnection:
    """Writes and reads on a connection of its own for the length of the block."""

    def __init__(self, settings: Settings) -> None:
        self._engines = open_database(settings)
        self._is_over = threading.Event()
        self._writes: list[float] = []
        self._reads: list[float] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "OtherConnection":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._engines.writer.dispose()

    @property
    def waits(self) -> Waits:
        """The longest so far."""
        return Waits(max(self._writes), max(self._reads), len(self._writes))

    def _run(self) -> None:
        with self._engines.writer.connect() as connection:
            connection.exec_driver_sql("SELECT 1")
            while not self._is_over.is_set():
                began = time.monotonic()
                self._write(connection)
                written = time.monotonic()
                connection.execute(text(_READ)).all()
                self._reads.append(time.monotonic() - written)
                self._writes.append(written - began)
                time.sleep(_PAUSE_SECONDS)

    def _write(self, connection: Connection) -> None:
        is_postgresql = connection.dialect.name == "postgresql"
        connection.exec_driver_sql("BEGIN" if is_postgresql else "BEGIN IMMEDIATE")
        values = {"id": f"other-{len(self._writes)}", "record": b"{}"}
        for statement in _WRITE:
            connection.execute(text(statement), values)
        connection.exec_driver_sql("COMMIT")


async def measure(scale: Scale) -> Sequence[Figure]:
    """Both databases, one after the other."""
    rows = scale.pick(1_000_000, 1_000)
    figures: list[Figure] = []
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        figures += await _measure("SQLite", Settings(data_dir=folder), rows)
        postgres = await stack.enter_async_context(durable_postgres())
        database = postgres.settings(postgres.new_database())
        figures += await _measure("PostgreSQL", Settings(data_dir=folder, db=database), rows)
    return figures


async def _measure(name: str, settings: Settings, rows: int) -> Sequence[Figure]:
    await anyio.to_thread.run_sync(_fill, settings, rows)
    began = time.monotonic()
    with OtherConnection(settings) as other:
        await migrate_database(settings)
        took = time.monotonic() - began
    waits = other.waits
    return [
        Figure(
            group=GROUP,
            name=f"{name}: longest {kind} beside a migration of {rows:,} results",
            value=seconds * 1_000,
            unit="ms",
            aim=value_at_most(1_000),
            detail=f"{waits.count} of them in {took:.0f} s",
        )
        for kind, seconds in (("write", waits.write), ("read", waits.read))
    ]


def _fill(settings: Settings, rows: int) -> None:
    engines = open_database(settings)
    with engines.writer.connect() as connection:
        dialect = connection.dialect.name
        upgrade_to(connection, "0001")
        connection.exec_driver_sql("INSERT INTO projects (project_id, created_at) VALUES ('p', 0)")
        sizes = {"last": rows - 1, "sessions": rows // _IN_SESSION}
        for statement in _ROWS:
            filled = statement.format(numbers=_NUMBERS[dialect], bytes=_BYTES[dialect])
            connection.execute(text(filled), sizes)
        if dialect == "postgresql":
            connection.exec_driver_sql("ANALYZE")
    engines.writer.dispose()
