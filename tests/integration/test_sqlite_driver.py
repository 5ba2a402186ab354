"""The driver over SQLite: what a statement tells, and what is left of one given up."""

import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from app.stores.records.engine import Engines, database_url, open_engines

pytestmark = pytest.mark.anyio
PATIENCE_SECONDS = 30


@pytest.fixture
async def engines(tmp_path: Path) -> AsyncIterator[Engines]:
    """A new file with one table."""
    opened = open_engines(database_url(None, tmp_path), pool_size=2, timeout_seconds=30)
    async with opened.writer.begin() as connection:
        await connection.execute(text("CREATE TABLE t (k INTEGER PRIMARY KEY, v)"))
    yield opened
    await opened.close()


async def define(connection: AsyncConnection, name: str, function: Callable[[], object]) -> None:
    """Make a function known to SQL."""
    driver = (await connection.get_raw_connection()).driver_connection
    assert driver is not None
    await driver.create_function(name, 0, function)


async def values(engines: Engines) -> list[int]:
    async with engines.reader.connect() as connection:
        return list((await connection.execute(text("SELECT k FROM t ORDER BY k"))).scalars())


async def test_long_statement_leaves_the_event_loop_to_others(engines: Engines) -> None:
    others_ran = threading.Event()
    async with engines.reader.connect() as connection, anyio.create_task_group() as tasks:
        await define(connection, "others_ran", lambda: others_ran.wait(PATIENCE_SECONDS))

        async def let_them() -> None:
            others_ran.set()

        tasks.start_soon(let_them)
        assert (await connection.execute(text("SELECT others_ran()"))).scalar_one() == 1


async def test_statements_tell_rows_and_counts(engines: Engines) -> None:
    async with engines.writer.begin() as connection:
        rows = [{"k": number, "v": b"\0" * number} for number in range(3)]
        await connection.execute(text("INSERT INTO t VALUES (:k, :v)"), rows)
        returned = await connection.execute(text("INSERT INTO t VALUES (7, 'x') RETURNING k, v"))
        changed = await connection.execute(text("UPDATE t SET v = 1 WHERE k < 2"))
        assert (returned.all(), changed.rowcount) == ([(7, "x")], 2)
    assert await values(engines) == [0, 1, 2, 7]


async def insert(engines: Engines, *keys: int) -> None:
    async with engines.writer.begin() as connection:
        for key in keys:
            await connection.execute(text("INSERT INTO t (k) VALUES (:k)"), {"k": key})


async def test_failed_statement_gives_its_transaction_up(engines: Engines) -> None:
    with pytest.raises(IntegrityError):
        await insert(engines, 1, 1)
    await insert(engines, 2)
    assert await values(engines) == [2]


async def test_writer_that_is_cancelled_while_it_waits_leaves_no_transaction(
    engines: Engines, tmp_path: Path
) -> None:
    waits = anyio.Event()

    async def write() -> None:
        waits.set()
        async with engines.writer.begin():
            raise AssertionError("somebody else holds the lock")

    with closing(sqlite3.connect(tmp_path / "pagefault.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await waits.wait()
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
            other.execute("ROLLBACK")
    await insert(engines, 3)
    assert await values(engines) == [3]


async def test_writer_that_is_cancelled_within_a_statement_leaves_nothing(engines: Engines) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def hold() -> int:
        begun.set()
        return may_end.wait(PATIENCE_SECONDS)

    async def write() -> None:
        async with engines.writer.begin() as connection:
            await define(connection, "hold", hold)
            await connection.execute(text("INSERT INTO t (k) VALUES (4)"))
            await connection.execute(text("INSERT INTO t (k) SELECT 5 FROM (SELECT hold())"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        await anyio.to_thread.run_sync(begun.wait, PATIENCE_SECONDS)
        tasks.cancel_scope.cancel()
        may_end.set()
    await insert(engines, 6)
    assert await values(engines) == [6]
