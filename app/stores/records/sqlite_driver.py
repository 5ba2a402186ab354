"""Connections to SQLite, each with a thread of its own that a statement visits once at the most.

The driver by itself visits it four times: for a cursor, to run the statement, for the rows, and to
let the cursor go. Every visit wakes a thread and then the event loop, which costs more than most
statements do. Here a statement runs, is read to its end and is over in one visit. None is read in
pieces, so no transaction stays open because somebody has not read on.
"""

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import aiosqlite


class WholeCursor:
    """One statement: what SQLAlchemy asks of a cursor, answered from what was read at once."""

    arraysize = 1

    def __init__(self, connection: "WholeConnection") -> None:
        self._connection = connection
        self._rows: Sequence[Any] = ()
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None

    async def __aenter__(self) -> "WholeCursor":
        return self

    async def execute(self, statement: str, parameters: Sequence[Any] = ()) -> "WholeCursor":
        """Run a statement, and read what it answers."""
        await self._connection.visit(
            partial(self._run, sqlite3.Cursor.execute, statement, parameters)
        )
        return self

    async def executemany(self, statement: str, rows: Sequence[Any]) -> "WholeCursor":
        """Run a statement that answers nothing with one set of parameters after the other."""
        await self._connection.visit(
            partial(self._run, sqlite3.Cursor.executemany, statement, rows)
        )
        return self

    async def fetchall(self) -> Sequence[Any]:
        """What was answered."""
        return self._rows

    async def close(self) -> None:
        """Nothing is open."""

    def _run(self, run: Callable[..., object], statement: str, given: Sequence[Any]) -> None:
        cursor = self._connection.opened.cursor()
        try:
            run(cursor, statement, given)
            self.description = cursor.description
            self._rows = cursor.fetchall() if cursor.description else ()
            # Of an INSERT that answers with its row, the count is known once that is read.
            self.rowcount, self.lastrowid = cursor.rowcount, cursor.lastrowid
        finally:
            cursor.close()


class WholeConnection(aiosqlite.Connection):
    """A connection whose cursors are `WholeCursor`s."""

    # Each counted by one thread alone.
    _visits_asked = 0
    _visits_done = 0

    @property
    def opened(self) -> sqlite3.Connection:
        """SQLite's own connection."""
        return self._conn

    def cursor(self) -> WholeCursor:  # type: ignore[override]
        """A cursor for one statement."""
        return WholeCursor(self)

    async def rollback(self) -> None:
        """End a transaction, if there is one."""
        # A caller that was cancelled has left, but not what it asked the thread to do.
        if not self._is_idle or self.opened.in_transaction:
            await self.visit(self.opened.rollback)

    async def commit(self) -> None:
        """End a transaction; what it has written is on the disk."""
        await self.visit(self.opened.commit)

    async def visit(self, work: Callable[[], object]) -> None:
        """Do some work in the connection's thread, behind all that was asked of it before."""
        self._visits_asked += 1
        await self._execute(self._visited, work)  # type: ignore[no-untyped-call]

    def _visited(self, work: Callable[[], object]) -> None:
        try:
            work()
        finally:
            self._visits_done += 1

    @property
    def _is_idle(self) -> bool:
        return self._visits_asked == self._visits_done


async def connect(path: str, **options: Any) -> WholeConnection:  # noqa: ANN401 - the driver's
    """Open a connection; the arguments are those of `sqlite3.connect`."""
    connection = WholeConnection(partial(sqlite3.connect, path, **options), iter_chunk_size=1)
    # As SQLAlchemy has it: a connection that nobody has closed does not keep the process.
    connection._thread.daemon = True
    _ = await connection
    return connection
