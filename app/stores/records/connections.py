"""What statements run on: a connection of a pool, or the one that writes to a SQLite file.

`execute` takes any statement, `rows` and `run_many` one that is kept, with its values.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from sqlite3 import Connection as SqliteConnection
from typing import Any, Protocol

from sqlalchemy import Connection, CursorResult, Executable, Row
from sqlalchemy.ext.asyncio import AsyncConnection

from app.stores.records.prepared import prepared
from app.stores.records.sqlite_driver import IS_SHORT


class StatementConnection(Protocol):
    """What a `ProjectScope` runs its statements on."""

    @property
    def is_postgresql(self) -> bool:
        """Whether the database is PostgreSQL; else it is SQLite."""

    async def execute(self, statement: Executable) -> CursorResult[Any]:
        """Run a statement."""

    async def rows(
        self, statement: Executable, values: Mapping[str, object], *, is_short: bool = True
    ) -> Sequence[Row[Any]]:
        """Run a statement that is kept, and return its rows.

        `is_short` says that it touches a few rows by their keys.
        """

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

    async def rows(
        self, statement: Executable, values: Mapping[str, object], *, is_short: bool = True
    ) -> Sequence[Row[Any]]:
        """See `StatementConnection`."""
        # On SQLite, what is short is no work for a thread.
        await ensure_started(self._connection)
        options = {IS_SHORT: is_short}
        found = await self._connection.execute(statement, values, execution_options=options)
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

    Args:
        driver: SQLite's own connection.
        connection: SQLAlchemy's over the same, for statements that are not kept.
    """

    is_postgresql = False

    def __init__(self, driver: SqliteConnection, connection: Connection) -> None:
        self._driver = driver
        self._connection = connection

    async def execute(self, statement: Executable) -> CursorResult[Any]:
        """See `StatementConnection`."""
        return self._connection.execute(statement)

    async def rows(
        self, statement: Executable, values: Mapping[str, object], *, is_short: bool = True
    ) -> Sequence[Row[Any]]:
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
        raise NotImplementedError


async def ensure_started(connection: AsyncConnection) -> None:
    """Take a connection from the pool, unless that is done."""
    if connection.sync_connection is None:
        _ = await connection.start()
