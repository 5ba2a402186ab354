"""Engines of SQLAlchemy for SQLite and PostgreSQL, with the same guarantees.

An engine of SQLAlchemy has a pool of connections. For SQLite there are two engines: one for the
thread that writes, and one with read-only connections, which do not wait for writes (WAL). A file
also gets a third, with the connection of the event loop. For PostgreSQL there are two: one with a
single connection, for the thread that writes short changes, and one for everything else.
"""

import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from select import POLLIN, poll
from typing import Any, TypeVar

import anyio.to_thread
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    NullPool,
    QueuePool,
    create_engine,
    event,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from app.stores.records.database import PoolUse, Work
from app.stores.records.database_address import DatabaseAddress
from app.stores.records.database_errors import (
    leave_replica,
    run_and_reconnect,
    translate_errors,
)
from app.stores.records.database_threads import DatabaseThreads
from app.stores.records.group_commits import ContendedError, GroupCommits, commit_alone
from app.stores.records.loop_reader import LoopReader
from app.stores.records.statements import WouldBlockError

_Result = TypeVar("_Result")
_POSTGRESQL_OPTIONS = {
    "fallback_application_name": "pagefault",
    "connect_timeout": 2,
    # A server that does not respond is detected within half a minute.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    # Statements are not prepared. `_allow_prepared_statements` changes this for connections without
    # a pooler.
    "prepare_threshold": None,
}
# A statement is prepared after so many executions.
_PREPARE_THRESHOLD = 2
# The key in the `info` of a connection: true if it goes through a pooler.
_IS_POOLED = "is_pooled"
_WRITER_PRAGMAS = ("synchronous=FULL", "foreign_keys=ON")
_RETRY_SECONDS = 0.01
# A search reads more pages of the file than SQLite caches by default, and reads them repeatedly.
_READER_PRAGMAS = ("query_only=ON", "cache_size=-8192")


class Engines:
    """An open database. See `Database`.

    Args:
        address: The address of the database.
        writer: The engine for transactions that write.
        reader: The engine for functions that read; the same as `writer` on PostgreSQL.
        group: Commits short changes together; on SQLite, all changes.
        pool_size: The number of connections of `reader`.
        timeout_seconds: The maximum wait for a connection, for the thread that writes, or for a
            lock.
        loop_reader: Executes lookups of a SQLite file in the event loop.
    """

    def __init__(
        self,
        address: DatabaseAddress,
        writer: Engine,
        reader: Engine,
        group: GroupCommits,
        *,
        pool_size: int,
        timeout_seconds: float,
        loop_reader: LoopReader | None = None,
    ) -> None:
        self.address = address
        self.writer, self.reader = writer, reader
        self.group, self.loop_reader = group, loop_reader
        self._timeout_ms = int(timeout_seconds * 1_000)
        self._threads = DatabaseThreads(pool_size, timeout_seconds)
        # Changes that wait for locks use at most half of the connections.
        self._lock_threads = DatabaseThreads(max(1, pool_size // 2), timeout_seconds)

    @property
    def is_postgresql(self) -> bool:
        """True for PostgreSQL, false for SQLite."""
        return self.writer.dialect.name == "postgresql"

    async def read(
        self,
        work: Callable[[Connection], _Result],
        *,
        is_snapshot: bool = False,
        tries_event_loop: bool = False,
    ) -> _Result:
        """See `Database.read`."""
        if is_snapshot:
            return await self._threads.run(partial(_read_snapshot, self, work))
        if self.loop_reader is not None and tries_event_loop:
            try:
                return self.loop_reader.read(work)
            except WouldBlockError:
                pass
        return await self._threads.run(partial(_read, self.reader, work))

    async def write(
        self, work: Work[_Result], *, is_alone: bool, is_durable: bool = True
    ) -> tuple[_Result, int | None]:
        """See `Database.write`, and `GroupCommits`."""
        write_alone = partial(
            commit_alone, self.writer, work, self._timeout_ms, is_durable=is_durable
        )
        if is_alone and self.is_postgresql:
            return await self._threads.run(write_alone)
        try:
            return await self.group.write(work, is_alone=is_alone, is_durable=is_durable)
        except ContendedError:
            return await self._lock_threads.run(write_alone)

    def pools(self) -> Sequence[PoolUse]:
        """See `Database.pools`: `commits` writes short changes, `main` does everything else."""
        return [
            _measure_pool("main", self.reader, self._threads.waiting + self._lock_threads.waiting),
            _measure_pool("commits", self.group.engine, self.group.waiting),
        ]

    async def close(self) -> None:
        """See `Database.close`."""
        if self.loop_reader is not None:
            self.loop_reader.close()
        await self.group.close()
        await self._threads.close()
        await self._lock_threads.close()
        self.writer.dispose()
        self.reader.dispose()


def open_engines(
    address: DatabaseAddress,
    *,
    pool_size: int,
    timeout_seconds: float,
    transaction_pooler: bool | None = None,
) -> Engines:
    """Return the engines of a database; they connect when they are first used.

    Args:
        address: The address of the database.
        pool_size: The number of connections for functions in threads.
        timeout_seconds: The maximum wait for a connection, for the thread that writes, or for a
            lock.
        transaction_pooler: True if a pooler may run each transaction on another connection to
            PostgreSQL; `None` to detect a pooler on each new connection.
    """
    pool = {"pool_size": pool_size, "max_overflow": 0, "pool_timeout": timeout_seconds}
    if address.url.get_backend_name() == "sqlite":
        return _open_sqlite(address, pool, timeout_seconds)
    options = {**_POSTGRESQL_OPTIONS, **address.parameters}
    create = partial(_create_engine, address.url, connect_args=options)
    engine, group_writer = create(**pool), create(pool_size=1, max_overflow=0)
    for item in (engine, group_writer):
        event.listen(item, "connect", partial(_allow_prepared_statements, transaction_pooler))
        event.listen(item, "checkout", _check_not_ended)
        event.listen(item, "handle_error", leave_replica)
    group = GroupCommits(group_writer, timeout_seconds)
    return Engines(
        address, engine, engine, group, pool_size=pool_size, timeout_seconds=timeout_seconds
    )


def _open_sqlite(
    address: DatabaseAddress, pool: Mapping[str, Any], timeout_seconds: float
) -> Engines:
    url = address.url
    # A connection is used by one thread at a time, but not always by the same thread.
    options = {"timeout": timeout_seconds, "check_same_thread": False}
    # Migrations and `open_change_counter` use connections besides that of the thread that writes.
    writer = _create_engine(url, connect_args=options, pool_size=1, max_overflow=-1)
    # Each connection has a cache, so the connection that was used last is preferred (LIFO).
    reader = _create_engine(url, connect_args=options, pool_use_lifo=True, **pool)
    event.listen(writer, "connect", partial(_prepare_writer, timeout_seconds))
    event.listen(reader, "connect", partial(_run_pragmas, _READER_PRAGMAS))
    # A database in memory exists only in one connection.
    is_file = bool(url.database) and not url.query and ":" not in str(url.database)
    loop_reader = None
    if is_file:
        loop_engine = _create_engine(
            url, connect_args={**options, "timeout": 0}, poolclass=NullPool
        )
        event.listen(loop_engine, "connect", partial(_run_pragmas, ("query_only=ON",)))
        loop_reader = LoopReader(loop_engine)
    group = GroupCommits(writer, timeout_seconds)
    return Engines(
        address,
        writer,
        reader,
        group,
        pool_size=pool["pool_size"],
        timeout_seconds=timeout_seconds,
        loop_reader=loop_reader,
    )


def _create_engine(url: URL, **options: Any) -> Engine:  # noqa: ANN401 - as SQLAlchemy's
    """Return an engine whose driver does not begin transactions; `group_commits.begin` does that.

    So a statement that needs no transaction takes one round trip to PostgreSQL.
    """
    # Parameters are hidden because errors are logged, and parameters are data of clients.
    return create_engine(url, hide_parameters=True, isolation_level="AUTOCOMMIT", **options)


def _measure_pool(name: str, engine: Engine, waiting: int) -> PoolUse:
    pool = engine.pool
    if not isinstance(pool, QueuePool):
        return PoolUse(name, 0, 0, 0, waiting)
    return PoolUse(name, pool.size(), pool.checkedout(), pool.checkedin(), waiting)


def _prepare_writer(timeout_seconds: float, connection: DBAPIConnection, record: object) -> None:
    """Prepare a connection for writing, with a write-ahead log."""
    cursor = connection.cursor()
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as exc:
            # Another process may be changing the mode. SQLite raises instead of waiting for it.
            if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)
    cursor.close()
    _run_pragmas(_WRITER_PRAGMAS, connection, record)


def _run_pragmas(pragmas: Sequence[str], connection: DBAPIConnection, _: object) -> None:
    cursor = connection.cursor()
    for pragma in pragmas:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _allow_prepared_statements(
    transaction_pooler: bool | None,
    connection: Any,  # noqa: ANN401 - of PostgreSQL's driver
    record: ConnectionPoolEntry,
) -> None:
    """Let the driver prepare frequent statements, unless there is a pooler.

    A prepared statement has a name, which is valid in one connection to the server. A pooler may
    run the next transaction on another connection, where the name is unknown or means another
    statement.
    """
    try:
        is_pooled = _detect_pooler(connection) if transaction_pooler is None else transaction_pooler
    except BaseException:
        # The connection is not in the pool yet, so the pool does not close it.
        connection.close()
        raise
    record.info[_IS_POOLED] = is_pooled
    if not is_pooled:
        connection.prepare_threshold = _PREPARE_THRESHOLD
        return
    # Another client may have run LISTEN on a connection of the pooler. Without a handler, the
    # driver would collect the notifications.
    connection.add_notify_handler(lambda _: None)


def _detect_pooler(connection: Any) -> bool:  # noqa: ANN401 - of PostgreSQL's driver
    """Return whether the connection goes through a pooler.

    A server sends the number of its process in the handshake, and a statement returns the number
    of the process that executes it. With a pooler, these numbers differ.
    """
    processes = [connection.execute("SELECT pg_backend_pid()").fetchone()[0] for _ in range(2)]
    return set(processes) != {connection.info.backend_pid}


def is_pooled(engine: Engine) -> bool:
    """Return whether the connection of an engine goes through a pooler; false for SQLite."""
    with translate_errors(), engine.connect() as connection:
        return bool(connection.info.get(_IS_POOLED))


def _check_not_ended(connection: Any, *_: object) -> None:  # noqa: ANN401 - of PostgreSQL's driver
    """Make the pool replace a connection that the server has ended.

    SQLAlchemy's `pool_pre_ping` is a round trip to the server, which takes as long as most reads.
    """
    is_ended = connection.closed
    if not is_ended:
        # If bytes were received that nobody has read, they are a message that the server ends.
        socket = poll()
        socket.register(connection.fileno(), POLLIN)
        is_ended = bool(socket.poll(0))
    if is_ended:
        raise DisconnectionError


def _read(engine: Engine, work: Callable[[Connection], _Result]) -> _Result:
    def read() -> _Result:
        with engine.connect() as connection:
            return work(connection)

    with translate_errors():
        return run_and_reconnect(read)


def _read_snapshot(engines: Engines, work: Callable[[Connection], _Result]) -> _Result:
    options = " ISOLATION LEVEL REPEATABLE READ READ ONLY" if engines.is_postgresql else ""

    def read_in_transaction(connection: Connection) -> _Result:
        # The pool rolls the transaction back when it gets the connection back.
        connection.exec_driver_sql(f"BEGIN{options}")
        return work(connection)

    return _read(engines.reader, read_in_transaction)


@asynccontextmanager
async def open_change_counter(
    engines: Engines,
) -> AsyncIterator[Callable[[], Coroutine[Any, Any, int]]]:
    """Yield a function that detects commits to a SQLite file, also those of other processes.

    The function returns a number that changes with each commit of another connection. It has a
    connection of its own, because each connection counts differently. Every call must end within
    the block.
    """
    with translate_errors():
        # The connection is not taken from the pool of readers, which would then have one less.
        connection = await anyio.to_thread.run_sync(engines.writer.connect)

    def count() -> int:
        with translate_errors():
            return int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())

    try:
        yield partial(anyio.to_thread.run_sync, count)
    finally:
        connection.close()
