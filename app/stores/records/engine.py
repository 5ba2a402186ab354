"""Engines: how each database is opened so that both keep the same promises, and migrated.

SQLite gets two: one connection that writes, in a thread that whoever writes visits in turn, instead
of fighting for the file's lock, and a pool of read-only connections that never wait for it (WAL).
PostgreSQL has such a thread, with one connection, for what is short, and one pool for all else.
Whoever needs a connection of a pool is given a thread with it, for the length of one function.

On the embedded database `serve` applies the migrations itself; on a server's they are applied by
`pagefault migrate`, once, before the new version starts. Alembic, which applies them, is loaded for
that alone: a command over a database that is up to date would wait longer for it than for
everything else it does.
"""

import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, inspect, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DisconnectionError, SQLAlchemyError

from app.shipped_files import MIGRATIONS
from app.stores.records.connections import (
    DriverConnection,
    LoopConnection,
    NotAtOnceError,
    PostgresWritingConnection,
    WritingConnection,
    is_there,
)
from app.stores.records.database import StatementConnection, Work
from app.stores.records.database_errors import database_error, translated_errors, unconfirmed
from app.stores.records.database_threads import DatabaseThreads
from app.stores.records.group_commits import ContendedError, GroupCommits, write_events

_Result = TypeVar("_Result")
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
_POSTGRESQL_OPTIONS = {
    "connect_timeout": 2,
    "prepare_threshold": 2,
    # A server that has vanished is noticed within half a minute, and not when the kernel gives up.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
_WRITER_PRAGMAS = ("synchronous=FULL", "foreign_keys=ON")
_WAIT_SECONDS = 0.01
DATABASE_FILE = "pagefault.db"
"""The embedded database, in the data directory."""
# A search looks into more pages of the file than SQLite keeps by itself, again and again.
_READER_PRAGMAS = ("query_only=ON", "cache_size=-8192")


@dataclass(frozen=True, slots=True)
class Engines:
    """`writer` runs transactions; `reader` runs single statements outside of any.

    `threads` are those of the connections in the pool. `group` commits together what is short; to a
    SQLite file it alone writes. `loop` reads lookups over that without a thread.
    """

    writer: Engine
    reader: Engine
    threads: DatabaseThreads
    group: GroupCommits
    lock_timeout_ms: int
    loop: LoopConnection | None = None

    @property
    def is_postgresql(self) -> bool:
        """True for PostgreSQL, false for SQLite."""
        return self.writer.dialect.name == "postgresql"

    async def read(
        self, work: Callable[[StatementConnection], _Result], *, is_snapshot: bool = False
    ) -> _Result:
        """See `Database.read`."""
        if is_snapshot:
            return await self.threads.run(partial(_in_snapshot, self, work))
        if self.loop is not None:
            try:
                return work(self.loop)
            except NotAtOnceError:
                pass
        return await self.threads.run(partial(_reading, self.reader, work))

    async def write(
        self, work: Work[_Result], *, is_alone: bool, is_durable: bool = True
    ) -> tuple[_Result, int | None]:
        """See `Database.write`, and `GroupCommits`."""
        alone = partial(_writing, self, work)
        if is_alone and self.is_postgresql:
            return await self.threads.run(alone)
        try:
            return await self.group.run(work, is_alone=is_alone, is_durable=is_durable)
        except ContendedError:
            return await self.threads.run(alone, is_waiting=True)

    async def close(self) -> None:
        """See `Database.close`."""
        if self.loop is not None:
            self.loop.close()
        await self.group.close()
        await self.threads.close()
        self.writer.dispose()
        self.reader.dispose()


def database_url(url: str | None, data_dir: Path) -> URL:
    """Return the database's address with its driver: the given, else SQLite in the data directory.

    Raises:
        ValueError: It is none.
    """
    if url is None:
        return URL.create("sqlite", database=str(data_dir / DATABASE_FILE))
    try:
        parsed = make_url(url)
        driver = _DRIVERS[parsed.drivername.partition("+")[0]]
    except (ArgumentError, ValueError, KeyError):
        # Their own words may show a password.
        msg = "must look like postgresql://user:password@host/name"
        raise ValueError(msg) from None
    if "@" in (parsed.host or ""):
        # Behind it is the end of the user or password, which is not to be looked up.
        raise ValueError("has an @ before the one behind the password: write it as %40")
    try:
        # As the driver does.
        _ = (parsed.host or "").encode("idna")
    except UnicodeError:
        raise ValueError("has a host that is no name, such as db.internal") from None
    return parsed.set(drivername=driver)


def listen_address(url: str) -> str:
    """Return the address of a PostgreSQL server as its own client takes it."""
    plain = make_url(url).set(drivername="postgresql")
    return plain.render_as_string(hide_password=False)


def open_engines(url: URL, *, pool_size: int, timeout_seconds: float) -> Engines:
    """Return engines over a database; nothing is connected yet."""
    threads = DatabaseThreads(pool_size, timeout_seconds)
    pool = {"pool_size": pool_size, "max_overflow": 0, "pool_timeout": timeout_seconds}
    if url.get_backend_name() == "sqlite":
        return _open_sqlite(url, threads, pool, timeout_seconds)
    # Parameters are what clients sent, and an error's text ends up in the log.
    opened = partial(create_engine, url, hide_parameters=True, connect_args=_POSTGRESQL_OPTIONS)
    # Whatever the server's default is: who has waited for a lock has to see what was written while
    # it waited.
    engine = opened(isolation_level="READ COMMITTED", **pool)
    event.listen(engine, "checkout", _check_not_ended)
    by_itself = engine.execution_options(isolation_level="AUTOCOMMIT")
    # One that is not of the pool, and takes none of its places.
    alone = opened(isolation_level="AUTOCOMMIT", poolclass=NullPool)
    group = GroupCommits(lambda: PostgresWritingConnection(alone.connect()), timeout_seconds)
    return Engines(engine, by_itself, threads, group, int(timeout_seconds * 1_000))


def _open_sqlite(
    url: URL, threads: DatabaseThreads, pool: Mapping[str, Any], timeout_seconds: float
) -> Engines:
    # The driver must not begin transactions on its own: `_begin_immediate` does. A connection is
    # used by one thread at a time, but not always by the same.
    driver_options = {
        "timeout": timeout_seconds,
        "isolation_level": None,
        "check_same_thread": False,
    }
    opened = partial(create_engine, url, hide_parameters=True, connect_args=driver_options)
    writer = opened(poolclass=NullPool)
    # Each has a cache of its own: the same few are taken, and only theirs are filled.
    reader = opened(isolation_level="AUTOCOMMIT", pool_use_lifo=True, **pool)
    event.listen(writer, "connect", partial(_become_writer, timeout_seconds))
    event.listen(reader, "connect", partial(_run_pragmas, _READER_PRAGMAS))
    event.listen(writer, "begin", _begin_immediate)
    by_itself = writer.execution_options(isolation_level="AUTOCOMMIT")
    group = GroupCommits(lambda: WritingConnection(by_itself.connect()), timeout_seconds)
    # What is behind another address than that of a file, a second connection may not see.
    is_file = bool(url.database) and not url.query and ":" not in str(url.database)
    loop = LoopConnection(str(url.database)) if is_file else None
    return Engines(writer, reader, threads, group, int(timeout_seconds * 1_000), loop)


def _become_writer(timeout_seconds: float, connection: DBAPIConnection, record: object) -> None:
    """Set a connection up to write, to a file that keeps a log of what is written."""
    cursor = connection.cursor()
    until = time.monotonic() + timeout_seconds
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as exc:
            # A new file is changed by one process at a time, and SQLite does not wait for its turn.
            if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_WAIT_SECONDS)
    cursor.close()
    _run_pragmas(_WRITER_PRAGMAS, connection, record)


def _check_not_ended(connection: DBAPIConnection, *_: object) -> None:
    """Cause another connection to be opened in the place of one that the server has ended.

    Asking the server, as the pool itself would, takes as long as most of what is read.
    """
    if not is_there(connection):
        raise DisconnectionError


def _run_pragmas(pragmas: Sequence[str], connection: DBAPIConnection, _: object) -> None:
    cursor = connection.cursor()
    for pragma in pragmas:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    # Taking the write lock at once: a read that turns into a write later would fail instead of
    # waiting when another process (a second worker) has written in between.
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _reading(engine: Engine, work: Callable[[StatementConnection], _Result]) -> _Result:
    with translated_errors(), engine.connect() as connection:
        return work(DriverConnection(connection))


def _in_snapshot(engines: Engines, work: Callable[[StatementConnection], _Result]) -> _Result:
    with translated_errors():
        if engines.is_postgresql:
            with engines.writer.connect() as connection:
                snapshot = connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
                return work(DriverConnection(snapshot))
        with engines.reader.connect() as connection:
            # Given back to the pool, the connection is rolled back, which ends it.
            connection.exec_driver_sql("BEGIN")
            return work(DriverConnection(connection))


def _writing(engines: Engines, work: Work[_Result]) -> tuple[_Result, int | None]:
    with (
        translated_errors(),
        engines.writer.connect() as connection,
        connection.begin() as transaction,
    ):
        # Nobody waits without an end for what somebody else holds.
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {engines.lock_timeout_ms}")
        writing = DriverConnection(connection)
        written = work(writing)
        last_event = write_events(
            writing, written.project_id, written.events, engines.lock_timeout_ms
        )
        try:
            transaction.commit()
        except SQLAlchemyError as exc:
            # Else the pool would be given a connection that is in a transaction.
            transaction.rollback()
            raise unconfirmed(database_error(exc)) from exc
        return written.result, last_event


@asynccontextmanager
async def open_change_counter(engines: Engines) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """Count what other connections have committed to a SQLite file, also those of this process.

    What is yielded returns a number that changes whenever the file does. It has a connection of its
    own, for the count is one of the connection.
    """
    # None of the pool, which would be one short from then on.
    engine = engines.writer.execution_options(isolation_level="AUTOCOMMIT")
    with translated_errors():
        connection = await anyio.to_thread.run_sync(engine.connect)

    def count() -> int:
        with translated_errors():
            return int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())

    try:
        yield partial(anyio.to_thread.run_sync, count)
    finally:
        connection.close()


def newest_revision() -> str:
    """Return the revision this version of the service needs: the number of its last migration.

    Each file is named by its revision, `0001_first_schema.py`, and follows the one before it.
    """
    names = [path.name for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py")]
    if not names:
        msg = f"no migrations under {MIGRATIONS}"
        raise RuntimeError(msg)
    return max(names).partition("_")[0]


def is_newest(path: Path) -> bool:
    """Return whether the database in a file is at the newest revision; false if there is none."""
    try:
        # Read only, so that a file that is not there is not made.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error:
        return False
    return found is not None and found[0] == newest_revision()


def current_revision(engine: Engine) -> str | None:
    """Return the revision a database is at; `None` if it was never migrated."""
    with translated_errors(), engine.connect() as connection:
        return _read_revision(connection)


def migrate(engine: Engine) -> tuple[str | None, str]:
    """Bring a database to the newest revision; returns the one before and the one after.

    All in one transaction: an interrupted run leaves the database as it was, and run again it
    completes. Two processes at the same time take turns.
    """
    with translated_errors(), engine.begin() as connection:
        before, after = _read_revision(connection), newest_revision()
        if before != after:
            _upgrade(connection)
        return before, after


def _read_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return None if found is None else str(found)


def _upgrade(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    if connection.dialect.name == "postgresql":
        # Any number will do as long as every version of the service uses the same.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7224012)")
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS))
    command.upgrade(config, "head")
