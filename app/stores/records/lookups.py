"""Lookups: selects of a few rows by their keys, made ready once and read without a thread.

SQLite finds a row by its key in a few microseconds. Building the statement anew, taking a
connection from the pool and handing the work to that connection's thread takes a hundred times as
long. So a statement that is asked all the time is a `Lookup`, and on SQLite a process reads it on
one connection of its own, in the event loop.

Nothing there may wait. That connection only reads, and does not wait for a lock; a value of more
than 64 KiB stays where it is. Whatever it cannot tell at once is asked of the pool, as everything
is on PostgreSQL.

All that is looked up in one turn of the loop is read in one transaction, for asking for the file's
lock takes as long as finding a row. It is over with the next turn, before anything that was
received or committed meanwhile is worked on: who asks sees all that was acknowledged before.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    case,
    func,
    literal_column,
)

from app.stores.records.prepared_statements import Prepared

Values: TypeAlias = dict[str, str | int]
"""The parameters of a lookup, by name."""

_LARGEST_BYTES = 65_536


class Lookup:
    """A select whose parameters are named.

    Args:
        statement: The select; each parameter a `bindparam`.
        large: Those of its columns whose values, of one row together, may be too large.
    """

    def __init__(
        self, statement: Select[Any], *, large: Sequence[ColumnElement[bytes]] = ()
    ) -> None:
        self.statement = statement
        self._prepared = Prepared(_short(statement, large))

    def read(self, connection: sqlite3.Connection, values: Values) -> Sequence[Row[Any]] | None:
        """The rows, or `None` if one of them is too large."""
        ready = self._prepared
        # To the end, so that the read is over.
        rows = connection.execute(ready.text, ready.parameters(values)).fetchall()
        # Its last column is `is_short`.
        return [ready.row(row) for row in rows] if all(row[-1] for row in rows) else None


class NotAtOnceError(Exception):
    """The event loop cannot be told this without being kept."""


class LoopConnection:
    """A connection of the event loop's own to a SQLite file; opened by the first lookup.

    A `StatementConnection` for lookups alone: everything else is a NotAtOnceError.

    Args:
        path: The file, which is there.
    """

    is_postgresql = False

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._is_reading = False

    def look_up(self, lookup: Lookup, values: Values, *, is_short: bool) -> Sequence[Row[Any]]:
        """See `StatementConnection`."""
        if not is_short:
            raise NotAtOnceError
        try:
            connection = self._connection or self._open()
            if not self._is_reading:
                connection.execute("BEGIN")
                self._is_reading = True
                # First in, first out: it runs before whatever is scheduled from now on.
                asyncio.get_running_loop().call_soon(self._end)
            rows = lookup.read(connection, values)
        except sqlite3.OperationalError as exc:
            # A lock, or a fault. The pool waits for the one, and says what the other is.
            raise NotAtOnceError from exc
        if rows is None:
            raise NotAtOnceError
        return rows

    def close(self) -> None:
        """Close it; another lookup would open it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._is_reading = False

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:  # noqa: ANN401 - whatever is given
        raise NotAtOnceError

    # See `StatementConnection`.
    execute = rows = run_many = begin_nested = _refuse

    def _end(self) -> None:
        self._is_reading = False
        if self._connection is not None:
            self._connection.rollback()

    def _open(self) -> sqlite3.Connection:
        self._connection = sqlite3.connect(
            self._path, timeout=0, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA query_only=ON")
        return self._connection


def _short(statement: Select[Any], large: Sequence[ColumnElement[bytes]]) -> Select[Any]:
    """The select without values that are too large, and whether it has them all, at the end."""
    # Both databases know the length of a blob without reading it.
    sizes = [func.coalesce(func.length(column), literal_column("0")) for column in large]
    is_short = sum(sizes, start=literal_column("0")) <= literal_column(str(_LARGEST_BYTES))
    columns = [
        case((is_short, column), else_=None).label(str(column.key))
        if any(column is each for each in large)
        else column
        for column in statement.selected_columns
    ]
    return statement.with_only_columns(*columns, is_short.label("is_short"))
