"""Engines: how each database is opened so that both keep the same promises.

SQLite gets two: one connection that writes, so that writers queue first come first served instead
of fighting for the file's lock, and a pool of read-only connections that never wait for it (WAL).
PostgreSQL serves both from one pool.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, StaticPool, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from app.stores.records.connections import WritingConnection
from app.stores.records.group_commits import GroupCommits
from app.stores.records.lookups import LoopConnection
from app.stores.records.sqlite_driver import connect


@dataclass(frozen=True, slots=True)
class Engines:
    """`writer` runs transactions; `reader` runs single statements outside of any.

    `loop` reads lookups over a SQLite file without a thread. `group` commits short changes to it
    together; what `writer` writes to it, it writes in turn with those.
    """

    writer: AsyncEngine
    reader: AsyncEngine
    loop: LoopConnection | None = None
    group: GroupCommits | None = None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Write for the length of the block, alone; it is committed when this returns.

        Raises:
            StoreUnavailableError: The turn did not come.
        """
        async with self.group.turn() if self.group else nullcontext(), self.writer.begin() as begun:
            yield begun

    async def close(self) -> None:
        """Close all connections."""
        if self.loop is not None:
            self.loop.close()
        if self.group is not None:
            await self.group.close()
        await self.writer.dispose()
        await self.reader.dispose()


def database_url(url: str | None, data_dir: Path) -> URL:
    """The database's address with its driver: the given one, else SQLite in the data directory."""
    if url is None:
        return URL.create("sqlite+aiosqlite", database=str(data_dir / "pagefault.db"))
    parsed = make_url(url)
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    return parsed.set(drivername="sqlite+aiosqlite")


def listen_address(url: str) -> str:
    """The address of a PostgreSQL server as its own client takes it."""
    plain = make_url(url).set(drivername="postgresql")
    return plain.render_as_string(hide_password=False)


def open_engines(url: URL, *, pool_size: int, timeout_seconds: float) -> Engines:
    """Engines over a database; nothing is connected yet."""
    if url.get_backend_name() == "sqlite":
        return _open_sqlite(url, pool_size, timeout_seconds)
    engine = create_async_engine(
        url,
        # Whatever the server's default is: who has waited for a lock has to see what was written
        # while it waited.
        isolation_level="READ COMMITTED",
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=timeout_seconds,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={"connect_timeout": 2, "prepare_threshold": 2},
    )
    return Engines(engine, engine.execution_options(isolation_level="AUTOCOMMIT"))


def _open_sqlite(url: URL, pool_size: int, timeout_seconds: float) -> Engines:
    options: dict[str, Any] = {
        "pool_timeout": timeout_seconds,
        "max_overflow": 0,
        # Parameters are what clients sent, and an error's text ends up in the log.
        "hide_parameters": True,
        # The driver must not begin transactions on its own: `_begin_immediate` does.
        "connect_args": {
            "timeout": timeout_seconds,
            "isolation_level": None,
            "async_creator_fn": connect,
        },
    }
    writer = create_async_engine(url, pool_size=1, **options)
    reader = create_async_engine(
        url,
        pool_size=pool_size,
        # Each has a cache of its own: the same few are taken, and only theirs are filled.
        pool_use_lifo=True,
        isolation_level="AUTOCOMMIT",
        **options,
    )
    event.listen(writer.sync_engine, "connect", _prepare_writer)
    event.listen(reader.sync_engine, "connect", _prepare_reader)
    event.listen(writer.sync_engine, "begin", _begin_immediate)
    # What is behind another address than that of a file, a second connection may not see.
    if not url.database or url.query or ":" in url.database:
        return Engines(writer, reader)
    group = GroupCommits(
        partial(_sqlite_connection, url.database, timeout_seconds), timeout_seconds
    )
    return Engines(writer, reader, LoopConnection(url.database), group)


def _sqlite_connection(path: str, timeout_seconds: float) -> WritingConnection:
    engine = create_engine(
        URL.create("sqlite+pysqlite", database=path),
        poolclass=StaticPool,
        isolation_level="AUTOCOMMIT",
        hide_parameters=True,
        connect_args={"timeout": timeout_seconds, "check_same_thread": False},
    )
    event.listen(engine, "connect", _prepare_writer)
    return WritingConnection(engine)


def _prepare_writer(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    _run_pragmas(connection, "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


def _prepare_reader(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    # A search looks into more pages of the file than SQLite keeps by itself, again and again.
    _run_pragmas(connection, "query_only=ON", "cache_size=-8192")


def _run_pragmas(connection: DBAPIConnection, *pragmas: str) -> None:
    cursor = connection.cursor()
    for pragma in pragmas:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    # Taking the write lock at once: a read that turns into a write later would fail instead of
    # waiting when another process (a second worker) has written in between.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
