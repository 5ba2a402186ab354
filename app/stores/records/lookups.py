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
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

from sqlalchemy import ColumnElement, Row, Select, TypeDecorator, case, func, literal_column
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import TypeEngine

from app.stores.records.sqlite_driver import IS_SHORT

Values: TypeAlias = dict[str, str | int]
"""The parameters of a lookup, by name."""

_LARGEST_BYTES = 65_536
_IS_SHORT = "is_short"
_DIALECT = sqlite.dialect(paramstyle="qmark")


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
        self.is_short = not large
        compiled = _short(statement, large).compile(dialect=_DIALECT)
        self._text = str(compiled)
        self._names = compiled.positiontup or []
        self._writers = {
            name: process
            for name in self._names
            if (process := _bind_processor(compiled.binds[name].type)) is not None
        }
        self._constants = {
            name: value for name, value in compiled.params.items() if value is not None
        }
        names = [str(column.key) for column in statement.selected_columns]
        row = namedtuple("_Row", [*names, _IS_SHORT])  # type: ignore[misc]
        # It has what is used of a row: its values, by the names of the columns.
        self._made: Callable[[list[Any]], Row[Any]] = cast(Any, row)._make
        self._processors = _processors(statement)

    def read(self, connection: sqlite3.Connection, values: Values) -> Sequence[Row[Any]] | None:
        """The rows, or `None` if one of them is too large."""
        known = {**self._constants, **values}
        for name, process in self._writers.items():
            known[name] = process(known[name])
        given = [known[name] for name in self._names]
        # To the end, so that the read is over.
        rows: list[Any] = connection.execute(self._text, given).fetchall()
        made = []
        for row in rows:
            if not row[-1]:
                return None
            values_of_row = list(row)
            for index, process in self._processors:
                values_of_row[index] = process(values_of_row[index])
            made.append(self._made(values_of_row))
        return made


class LoopConnection:
    """A connection of the event loop's own to a SQLite file; opened by the first lookup.

    Args:
        path: The file, which is there.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._is_reading = False

    def rows(self, lookup: Lookup, values: Values) -> Sequence[Row[Any]] | None:
        """The rows of a lookup, or `None` if they are not to be had at once."""
        try:
            connection = self._connection or self._open()
            if not self._is_reading:
                connection.execute("BEGIN")
                self._is_reading = True
                # First in, first out: it runs before whatever is scheduled from now on.
                asyncio.get_running_loop().call_soon(self._end)
            return lookup.read(connection, values)
        except sqlite3.OperationalError:
            # A lock, or a fault. The pool waits for the one, and says what the other is.
            return None

    def close(self) -> None:
        """Close it; another lookup would open it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._is_reading = False

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


async def look_up(
    lookup: Lookup, values: Values, *, connection: AsyncConnection, loop: LoopConnection | None
) -> Sequence[Row[Any]]:
    """The rows of a lookup.

    Args:
        lookup: What is looked up.
        values: Its parameters.
        connection: Asked where the loop's own is not, or cannot tell.
        loop: The connection of the event loop, where there is one and no transaction to look into.
    """
    rows = None if loop is None else loop.rows(lookup, values)
    if rows is None:
        await ensure_started(connection)
        options = {IS_SHORT: lookup.is_short}
        found = await connection.execute(lookup.statement, values, execution_options=options)
        rows = found.all()
    return rows


async def ensure_started(connection: AsyncConnection) -> None:
    """Take a connection from the pool, unless that is done: many a read never comes to it."""
    if connection.sync_connection is None:
        _ = await connection.start()


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
    return statement.with_only_columns(*columns, is_short.label(_IS_SHORT))


def _bind_processor(kind: TypeEngine[Any]) -> Callable[[Any], Any] | None:
    return kind.dialect_impl(_DIALECT).bind_processor(_DIALECT)


def _processors(statement: Select[Any]) -> list[tuple[int, Callable[[Any], Any]]]:
    """What makes a value of the database one of ours, by position, where it is not one already."""
    found = [(index, _processor(column)) for index, column in enumerate(statement.selected_columns)]
    return [(index, process) for index, process in found if process is not None]


def _processor(column: ColumnElement[Any]) -> Callable[[Any], Any] | None:
    kind = column.type
    if isinstance(kind, TypeDecorator):
        # All of ours are over types whose values need no work of their own.
        return partial(kind.process_result_value, dialect=_DIALECT)
    return kind.dialect_impl(_DIALECT).result_processor(_DIALECT, None)
