"""The threads in which functions wait for the database: what others do meanwhile, and what is left
of one whose caller has gone."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from functools import partial
from typing import NoReturn

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError

from app.config.settings import Settings
from app.errors import StoreUnavailableError
from app.stores.records.database import PoolUse, WriteResult
from app.stores.records.database_threads import DatabaseThreads
from app.stores.records.engine import Engines
from app.wiring.stores import migrate_database, open_database
from tests.integration.log_processes import engines_over
from tests.kit.servers import Engine

pytestmark = pytest.mark.anyio
PATIENCE_SECONDS = 30
CONNECTIONS = 2
NOTHING = WriteResult(None, "p", ())


async def opened(settings: Settings, *, timeout_seconds: float = PATIENCE_SECONDS) -> Engines:
    """A database with one table, and a pool of two connections."""
    await migrate_database(settings)
    changed = {"pool_size": CONNECTIONS, "timeout_seconds": timeout_seconds}
    db = settings.db.model_copy(update=changed)
    engines = open_database(settings.model_copy(update={"db": db}))
    with engines.writer.begin() as connection:
        connection.execute(text("CREATE TABLE t (k INTEGER PRIMARY KEY)"))
    return engines


@pytest.fixture
async def engines(settings: Settings) -> AsyncIterator[Engines]:
    made = await opened(settings)
    yield made
    await made.close()


class Held:
    """Work that has taken a connection, and keeps it until it may end."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def read(self, connection: Connection) -> list[int]:
        found = keys(connection)
        self._wait()
        return found

    def insert(self, key: int, connection: Connection) -> WriteResult[None]:
        connection.execute(text("INSERT INTO t VALUES (:key)").bindparams(key=key))
        self._wait()
        return NOTHING

    async def until_begun(self) -> None:
        """Return when it has the connection."""
        assert await anyio.to_thread.run_sync(self.begun.wait, PATIENCE_SECONDS)

    def _wait(self) -> None:
        self.begun.set()
        assert self.may_end.wait(PATIENCE_SECONDS)


def keys(connection: Connection) -> list[int]:
    return list(connection.execute(text("SELECT k FROM t ORDER BY k")).scalars())


def insert(*numbers: int) -> Callable[[Connection], WriteResult[None]]:
    """Work that inserts keys."""

    def work(connection: Connection) -> WriteResult[None]:
        for key in numbers:
            connection.execute(text("INSERT INTO t VALUES (:key)").bindparams(key=key))
        return NOTHING

    return work


async def cancelled_when_begun(held: Held, ask: Callable[[], object]) -> None:
    """Ask for held work, cancel who asks when it has begun, and let it end."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)  # type: ignore[arg-type] # each test asks for something else
        await held.until_begun()
        tasks.cancel_scope.cancel()
    held.may_end.set()


@pytest.mark.parametrize("is_snapshot", [False, True])
async def test_long_read_leaves_the_event_loop_to_others(
    engines: Engines, is_snapshot: bool
) -> None:
    held = Held()

    async def let_it_end() -> None:
        await held.until_begun()
        held.may_end.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(let_it_end)
        assert await engines.read(held.read, is_snapshot=is_snapshot) == []


async def test_long_write_leaves_the_event_loop_to_others_and_to_those_who_read(
    engines: Engines,
) -> None:
    held = Held()

    async def let_it_end() -> None:
        await held.until_begun()
        assert await engines.read(keys) == []
        held.may_end.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(let_it_end)
        await engines.write(partial(held.insert, 1), is_alone=False)
    assert await engines.read(keys) == [1]


async def test_pools_count_used_connections_and_waiting_callers(engines: Engines) -> None:
    reads, writes = [Held() for _ in range(CONNECTIONS + 1)], [Held(), Held()]
    async with anyio.create_task_group() as tasks:
        for read in reads:
            tasks.start_soon(engines.read, read.read)
        for key, write in enumerate(writes):
            tasks.start_soon(partial(engines.write, partial(write.insert, key), is_alone=False))
            await writes[0].until_begun()
        for read in reads[:CONNECTIONS]:
            await read.until_begun()
        await anyio.wait_all_tasks_blocked()
        busy = engines.pools()
        for read in (*reads, *writes):
            read.may_end.set()
    assert busy == [
        PoolUse("main", CONNECTIONS, CONNECTIONS, 0, 1),
        PoolUse("commits", 1, 1, 0, 1),
    ]
    assert engines.pools() == [
        PoolUse("main", CONNECTIONS, 0, CONNECTIONS, 0),
        PoolUse("commits", 1, 0, 1, 0),
    ]


async def test_write_that_fails_gives_its_transaction_up(engines: Engines) -> None:
    with pytest.raises(IntegrityError):
        await engines.write(insert(1, 1), is_alone=False)
    await engines.write(insert(2), is_alone=False)
    assert await engines.read(keys) == [2]


@pytest.mark.parametrize("is_snapshot", [False, True])
async def test_read_whose_caller_is_cancelled_leaves_no_transaction_and_loses_no_connection(
    engines: Engines, settings: Settings, is_snapshot: bool
) -> None:
    for _ in range(CONNECTIONS + 1):
        held = Held()
        read = partial(engines.read, held.read, is_snapshot=is_snapshot)
        await cancelled_when_begun(held, read)
    await engines.write(insert(1), is_alone=False)
    # Each is to be had, and sees what was written since.
    together, seen = [Held() for _ in range(CONNECTIONS)], []

    async def read_held(held: Held) -> None:
        seen.append(await engines.read(held.read))

    async with anyio.create_task_group() as tasks:
        for held in together:
            tasks.start_soon(read_held, held)
        for held in together:
            await held.until_begun()
        for held in together:
            held.may_end.set()
    assert seen == [[1]] * CONNECTIONS
    assert open_transactions(engines) == 0


def open_transactions(engines: Engines) -> int:
    """Return the number of the pool's connections in a transaction."""
    if engines.is_postgresql:
        sentence = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"
        )
        with engines.reader.connect() as connection:
            return int(connection.execute(text(sentence)).scalar_one())
    with engines.writer.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        # Its first figure says whether somebody kept the log from being emptied.
        return int(connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0])


async def test_write_whose_caller_is_cancelled_is_made_and_lets_the_next_one_write(
    engines: Engines,
) -> None:
    held = Held()
    await cancelled_when_begun(
        held, partial(engines.write, partial(held.insert, 1), is_alone=False)
    )
    await engines.write(insert(2), is_alone=False)
    # On a server, nothing orders the two.
    with anyio.fail_after(PATIENCE_SECONDS):
        while await engines.read(keys) != [1, 2]:
            await anyio.lowlevel.checkpoint()


@pytest.mark.engines("embedded")
async def test_writer_that_is_cancelled_while_it_waits_for_another_process_leaves_no_transaction(
    engines: Engines, settings: Settings, engine: Engine
) -> None:
    with closing(
        sqlite3.connect(settings.data_dir / "pagefault.db", isolation_level=None)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(engines.write, insert(1), is_alone=False))
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        other.execute("ROLLBACK")
        await engines.write(insert(2), is_alone=False)
        # What has begun is written all the same, and nobody holds the lock any more.
        assert await engines.read(keys) == [1, 2]
        other.execute("BEGIN IMMEDIATE")


async def test_work_waits_for_a_thread_no_longer_than_it_may(settings: Settings) -> None:
    engines = await opened(settings, timeout_seconds=0.5)
    together = [Held() for _ in range(CONNECTIONS)]
    async with anyio.create_task_group() as tasks:
        for held in together:
            tasks.start_soon(engines.read, held.read)
            await held.until_begun()
        with pytest.raises(StoreUnavailableError):
            await engines.read(keys)
        together[0].may_end.set()
        assert await engines.read(keys) == []
        together[1].may_end.set()
    await engines.close()


@pytest.mark.parametrize("error", [StopIteration(1), asyncio.CancelledError()])
async def test_error_that_no_caller_can_be_told_is_told_as_a_mistake(error: BaseException) -> None:
    threads = DatabaseThreads(1, PATIENCE_SECONDS)

    def fail() -> NoReturn:
        raise error

    for _ in range(2):
        with pytest.raises(RuntimeError, match=type(error).__name__):
            await threads.run(fail)
    await threads.close()


@pytest.mark.engines("server")
async def test_changes_that_wait_for_locks_leave_half_of_the_connections_to_others(
    engines: Engines, settings: Settings
) -> None:
    def touch(connection: Connection) -> WriteResult[None]:
        connection.execute(text("UPDATE t SET k = k WHERE k = 1"))
        return NOTHING

    await engines.write(insert(1), is_alone=False)
    async with engines_over(settings) as others, anyio.create_task_group() as tasks:
        with others.writer.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            touch(connection)
            for _ in range(2 * CONNECTIONS):
                tasks.start_soon(partial(engines.write, touch, is_alone=False))
            # One of them waits for the lock, and the others for its thread.
            with anyio.fail_after(PATIENCE_SECONDS):
                while engines.pools()[0].waiting < 2 * CONNECTIONS - CONNECTIONS // 2:
                    await anyio.lowlevel.checkpoint()
            assert await engines.read(keys) == [1]


async def test_caller_who_is_cancelled_while_he_waits_for_a_thread_takes_none() -> None:
    threads = DatabaseThreads(1, PATIENCE_SECONDS)
    begun, may_end = threading.Event(), threading.Event()
    cancelled = anyio.CancelScope()

    def hold() -> None:
        begun.set()
        may_end.wait(PATIENCE_SECONDS)

    def fail() -> NoReturn:
        raise AssertionError("its caller has gone")

    async def wait() -> None:
        with cancelled:
            await threads.run(fail)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(threads.run, hold)
        await anyio.to_thread.run_sync(begun.wait, PATIENCE_SECONDS)
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        cancelled.cancel()
        await anyio.wait_all_tasks_blocked()
        may_end.set()
    assert await threads.run(lambda: 1) == 1
    await threads.close()


async def test_closing_waits_for_what_has_begun() -> None:
    threads = DatabaseThreads(1, PATIENCE_SECONDS)
    begun, may_end = threading.Event(), threading.Event()
    over: list[str] = []

    def work() -> None:
        begun.set()
        may_end.wait(PATIENCE_SECONDS)
        over.append("work")

    async def close() -> None:
        await threads.close()
        over.append("close")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(threads.run, work)
        await anyio.to_thread.run_sync(begun.wait, PATIENCE_SECONDS)
        tasks.start_soon(close)
        await anyio.wait_all_tasks_blocked()
        assert over == []
        may_end.set()
    assert over == ["work", "close"]


async def test_who_asks_of_what_is_closed_is_refused_even_if_he_asked_before() -> None:
    threads = DatabaseThreads(1, PATIENCE_SECONDS)
    begun, may_end = threading.Event(), threading.Event()
    refused: list[str] = []

    def hold() -> None:
        begun.set()
        may_end.wait(PATIENCE_SECONDS)

    async def ask(name: str) -> None:
        try:
            await threads.run(lambda: None)
        except StoreUnavailableError:
            refused.append(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(threads.run, hold)
        await anyio.to_thread.run_sync(begun.wait, PATIENCE_SECONDS)
        tasks.start_soon(ask, "before")
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(threads.close)
        await anyio.wait_all_tasks_blocked()
        may_end.set()
    await ask("behind")
    assert refused == ["before", "behind"]


async def test_closing_waits_no_longer_than_it_may() -> None:
    threads = DatabaseThreads(1, 0.01)
    begun, may_end = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        may_end.wait(PATIENCE_SECONDS)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(threads.run, work)
        await anyio.to_thread.run_sync(begun.wait, PATIENCE_SECONDS)
        await threads.close()
        assert not may_end.is_set()
        may_end.set()
