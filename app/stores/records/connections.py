"""What statements run on: a connection of a pool, or the one that writes to a SQLite file.

`execute` takes any statement, `rows` and `run_many` one that is kept, with its values.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, cast

import structlog
from sqlalchemy import Connection, CursorResult, Engine, Executable, Row
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from app.stores.records.prepared import prepared

_log = structlog.get_logger(__name__)


class StatementConnection(Protocol):
    """What a `ProjectScope` runs its statements on."""

    @property
    def is_postgresql(self) -> bool:
        """Whether the database is PostgreSQL; else it is SQLite."""

    async def execute(self, statement: Executable) -> CursorResult[Any]:
        """Run a statement."""

    async def rows(self, statement: Executable, values: Mapping[str, object]) -> Sequence[Row[Any]]:
        """Run a statement that is kept, and return its rows."""

    async def run_many(self, statement: Executable, rows: Sequence[Mapping[str, object]]) -> None:
        """Run a statement that is kept and answers nothing with each of some sets of values."""

    def begin_nested(self) -> AbstractAsyncContextManager[object]:
        """Hold what fails in a block, so that the transaction goes on. PostgreSQL only."""


class PooledConnection:
    """A connection of a pool, taken from it by the first statement: many a read comes to none."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self.is_postgresql = connection.engine.dialect.name == "postgresql"

    async def execute(self, statement: Executable) -> CursorResult[Any]:
        """See `StatementConnection`."""
        await ensure_started(self._connection)
        return await self._connection.execute(statement)

    async def rows(self, statement: Executable, values: Mapping[str, object]) -> Sequence[Row[Any]]:
        """See `StatementConnection`."""
        await ensure_started(self._connection)
        found = await self._connection.execute(statement, values)
        return found.all() if found.returns_rows else ()

    async def run_many(self, statement: Executable, rows: Sequence[Mapping[str, object]]) -> None:
        """See `StatementConnection`."""
        await ensure_started(self._connection)
        await self._connection.execute(statement, rows)

    def begin_nested(self) -> AbstractAsyncContextManager[object]:
        """See `StatementConnection`."""
        return self._connection.begin_nested()


class WritingConnection:
    """The connection that writes to a SQLite file, in the thread that writes: nothing here waits.

    Transactions are begun and ended by statements of ours, so that SQLAlchemy and the driver,
    which runs what is kept, are in the same one.

    Args:
        engine: Of a single connection, in the mode AUTOCOMMIT.
    """

    is_postgresql = False

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection = engine.connect()
        self._driver = cast(sqlite3.Connection, self._connection.connection.driver_connection)

    async def execute(self, statement: Executable) -> CursorResult[Any]:
        """See `StatementConnection`."""
        return self._connection.execute(statement)

    async def rows(self, statement: Executable, values: Mapping[str, object]) -> Sequence[Row[Any]]:
        """See `StatementConnection`."""
        ready = prepared(statement, tuple(values))
        # Read to the end: a statement with rows left keeps its savepoint open.
        found = self._driver.execute(ready.text, ready.parameters(values)).fetchall()
        return [ready.row(each) for each in found]

    async def run_many(self, statement: Executable, rows: Sequence[Mapping[str, object]]) -> None:
        """See `StatementConnection`."""
        ready = prepared(statement, tuple(rows[0]))
        self._driver.executemany(ready.text, [ready.parameters(each) for each in rows])

    def begin_nested(self) -> AbstractAsyncContextManager[object]:
        """See `StatementConnection`."""
        msg = "SQLite has one writer, who waits for no lock"
        raise RuntimeError(msg)

    def begin(self) -> None:
        """Begin a transaction, with the lock: a read that turned into a write later would fail."""
        self.run("BEGIN IMMEDIATE")

    def run(self, text: str) -> None:
        """Run a statement that begins, divides or ends a transaction."""
        self._driver.execute(text)

    def commit(self) -> None:
        """End the transaction; what was written is on the disk."""
        self._connection.exec_driver_sql("COMMIT")
        if self._connection.in_transaction():
            # What SQLAlchemy takes for one is over; the driver has none to roll back.
            self._connection.rollback()

    @property
    def is_in_transaction(self) -> bool:
        """Whether the transaction is there; some faults of the disk make SQLite roll it back."""
        return self._driver.in_transaction

    def close(self) -> None:
        """Close it; what was not committed is rolled back. Does not fail."""
        try:
            self._connection.invalidate()
            self._driver.close()
            self._engine.dispose()
        except (SQLAlchemyError, sqlite3.Error):
            _log.exception("connection not closed")


async def ensure_started(connection: AsyncConnection) -> None:
    """Take a connection from the pool, unless that is done."""
    if connection.sync_connection is None:
        _ = await connection.start()
