"""Engines of SQLAlchemy for SQLite and PostgreSQL, with the same guarantees.

For SQLite there are two engines: one with a single connection, for the thread that writes, and a
pool of read-only connections, which do not wait for writes (WAL). For PostgreSQL there is one with
a single connection, for the thread that writes short changes, and a pool for everything else.
Functions that use a connection of a pool run in threads.
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
    # `_allow_prepared_statements` sets it on connections without a pooler.
    "prepare_threshold": None,
}
# A statement is prepared when it has been executed so many times.
_PREPARE_THRESHOLD = 2
_IS_POOLED = "is_pooled"
_WRITER_PRAGMAS = ("synchronous=FULL", "foreign_keys=ON")
_WAIT_SECONDS = 0.01
# A search reads more pages of the file than SQLite caches by default, and reads them repeatedly.
_READER_PRAGMAS = ("query_only=ON", "cache_size=-8192")


class Engines:
    """An open database. See `Database`.

    Args:
        address: The address.
        writer: The engine of transactions.
        reader: The engine of functions that read; the same as `writer` on PostgreSQL.
        group: Commits short changes together; on SQLite, all changes.
        pool_size: The number of connections of `reader`.
        timeout_seconds: The maximum wait for a connection, for the thread that writes, or for a
            lock.
        loop: Executes lookups of a SQLite file in the event loop.
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
        loop: LoopReader | None = None,
    ) -> None:
        self.address = address
        self.writer, self.reader = writer, reader
        self.group, self.loop = group, loop
        self._timeout_ms = int(timeout_seconds * 1_000)
        self._threads = DatabaseThreads(pool_size, timeout_seconds)
        # Changes that wait for locks use at most half of the connections.
        self._contended = DatabaseThreads(max(1, pool_size // 2), timeout_seconds)

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
        if self.loop is not None and tries_event_loop:
            try:
                return self.loop.read(work)
            except WouldBlockError:
                pass
        return await self._threads.run(partial(_read, self.reader, work))

    async def write(
        self, work: Work[_Result], *, is_alone: bool, is_durable: bool = True
    ) -> tuple[_Result, int | None]:
        """See `Database.write`, and `GroupCommits`."""
        alone = partial(commit_alone, self.writer, work, self._timeout_ms, is_durable=is_durable)
        if is_alone and self.is_postgresql:
            return await self._threads.run(alone)
        try:
            return await self.group.write(work, is_alone=is_alone, is_durable=is_durable)
        except ContendedError:
            return await self._contended.run(alone)

    def pools(self) -> Sequence[PoolUse]:
        """See `Database.pools`: `commits` writes short changes, `main` does everything else."""
        return [
            _pool_use("main", self.reader, self._threads.waiting + self._contended.waiting),
            _pool_use("commits", self.group.engine, self.group.waiting),
        ]

    async def close(self) -> None:
        """See `Database.close`."""
        if self.loop is not None:
            self.loop.close()
        await self.group.close()
        await self._threads.close()
        await self._contended.close()
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
        address: The address.
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
    # A connection is used by one thread at a time, but not always by the same.
    options = {"timeout": timeout_seconds, "check_same_thread": False}
    writer = _create_engine(url, connect_args=options, pool_size=1, max_overflow=-1)
    # Each connection has its own cache, so recently used connections are preferred.
    reader = _create_engine(url, connect_args=options, pool_use_lifo=True, **pool)
    event.listen(writer, "connect", partial(_prepare_writer, timeout_seconds))
    event.listen(reader, "connect", partial(_run_pragmas, _READER_PRAGMAS))
    # A database in memory exists only in one connection.
    is_file = bool(url.database) and not url.query and ":" not in str(url.database)
    loop = None
    if is_file:
        loop_engine = _create_engine(
            url, connect_args={**options, "timeout": 0}, poolclass=NullPool
        )
        event.listen(loop_engine, "connect", partial(_run_pragmas, ("query_only=ON",)))
        loop = LoopReader(loop_engine)
    group = GroupCommits(writer, timeout_seconds)
    return Engines(
        address,
        writer,
        reader,
        group,
        pool_size=pool["pool_size"],
        timeout_seconds=timeout_seconds,
        loop=loop,
    )


def _create_engine(url: URL, **options: Any) -> Engine:  # noqa: ANN401 - as SQLAlchemy's
    """Return an engine whose driver does not begin transactions; `group_commits.begin` does.

    So a statement outside of a transaction is only one round trip to PostgreSQL.
    """
    # Parameters are hidden because errors are logged, and parameters are data of clients.
    return create_engine(url, hide_parameters=True, isolation_level="AUTOCOMMIT", **options)


def _pool_use(name: str, engine: Engine, waiting: int) -> PoolUse:
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
            # Another process may be changing the mode, and SQLite does not wait for that.
            if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_WAIT_SECONDS)
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
    """Let the driver prepare frequent statements, unless a pooler may change the server connection.

    A prepared statement has a name in one connection to the server. In another connection, the name
    is unknown, or is the name of another statement.
    """
    try:
        is_pooled = _is_pooled(connection) if transaction_pooler is None else transaction_pooler
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


def _is_pooled(connection: Any) -> bool:  # noqa: ANN401 - of PostgreSQL's driver
    """Return whether the connection goes through a pooler.

    The number of the server process in the handshake is then that of the pooler, or that of any of
    its connections. Statements return the number of the process that executes them.
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
        # Received bytes that were not read are a message of the server, such as a shutdown.
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
        # The pool rolls the transaction back when the connection is returned.
        connection.exec_driver_sql(f"BEGIN{options}")
        return work(connection)

    return _read(engines.reader, read_in_transaction)


@asynccontextmanager
async def open_change_counter(
    engines: Engines,
) -> AsyncIterator[Callable[[], Coroutine[Any, Any, int]]]:
    """Yield a function that detects commits of other connections to a SQLite file.

    It returns a number that changes with each commit, also of this process. It uses its own
    connection, because the number is specific to a connection. Each call must end within the block.
    """
    with translate_errors():
        # Not from the pool of readers, which would have one connection less.
        connection = await anyio.to_thread.run_sync(engines.writer.connect)

    def count() -> int:
        with translate_errors():
            return int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())

    try:
        yield partial(anyio.to_thread.run_sync, count)
    finally:
        connection.close()
