"""Statements that are kept: made once, compiled once to a text and what its values need.

Executing a statement through SQLAlchemy takes longer than the database takes to run it. A statement
that is kept, and whose values are all parameters, is compiled once and then run by the driver.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any, TypeAlias, cast

from sqlalchemy import ColumnElement, Executable, Insert, Row, Table, TypeDecorator
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.dml import ReturningInsert
from sqlalchemy.sql.elements import KeyedColumnElement

# There are some 60 of them, some with different columns given.
_MOST_KEPT = 512
_SQLITE: Dialect = sqlite.dialect(paramstyle="qmark")
# Its own number of a float's type: of floats alone, SQLAlchemy asks which one it is.
_POSTGRESQL_FLOAT = 701
_POSTGRESQL: Dialect = cast(Any, postgresql.psycopg).dialect(paramstyle="format")

_Process: TypeAlias = Callable[[Any], Any]


class Prepared:
    """The text of a statement, and how its values and those of its rows are converted.

    Args:
        statement: Its values are parameters, or constants.
        names: Of an insert: the columns that are given.
        is_postgresql: Whether it is for PostgreSQL; else it is for SQLite.
    """

    def __init__(
        self, statement: Executable, names: Sequence[str] = (), *, is_postgresql: bool = False
    ) -> None:
        dialect = _POSTGRESQL if is_postgresql else _SQLITE
        # What a compiled statement knows of its parameters has no types.
        compiled: Any = cast(Any, statement).compile(dialect=dialect, column_keys=[*names] or None)
        self.text = str(compiled)
        self._names: Sequence[str] = compiled.positiontup or ()
        self._writers = {
            name: process
            for name, bind in compiled.binds.items()
            if (process := bind.type.dialect_impl(dialect).bind_processor(dialect)) is not None
        }
        self._constants = {
            name: self._written(name, bind.effective_value)
            for name, bind in compiled.binds.items()
            if not bind.required
        }
        columns = _columns_of(statement)
        row = namedtuple("_Row", [str(column.key) for column in columns])  # type: ignore[misc]
        # It has what is used of a row: its values, by the names of the columns.
        self._made: Callable[[list[Any]], Row[Any]] = cast(Any, row)._make
        readers = [(index, _reader(column, dialect)) for index, column in enumerate(columns)]
        self._readers = [(index, process) for index, process in readers if process is not None]

    def parameters(self, values: Mapping[str, object]) -> list[Any]:
        """The values in the order of the text, as the driver takes them."""
        named = dict(self._constants)
        for name, value in values.items():
            named[name] = self._written(name, value)
        return [named[name] for name in self._names]

    def row(self, values: Sequence[Any]) -> Row[Any]:
        """A row as the statement's columns have it."""
        converted = list(values)
        for index, process in self._readers:
            converted[index] = process(converted[index])
        return self._made(converted)

    def _written(self, name: str, value: object) -> object:
        process = self._writers.get(name)
        return value if process is None else process(value)


@lru_cache(_MOST_KEPT)
def prepared(statement: Executable, names: tuple[str, ...], *, is_postgresql: bool) -> Prepared:
    """A statement that is kept, made ready the first time.

    Args:
        statement: It is known by itself: one that is made anew is compiled anew.
        names: Of an insert: the columns that are given.
        is_postgresql: Whether it is for PostgreSQL; else it is for SQLite.
    """
    return Prepared(statement, names, is_postgresql=is_postgresql)


def _reader(column: ColumnElement[Any], dialect: Dialect) -> _Process | None:
    """What makes a value of the database one of ours, where it is not one already."""
    kind = column.type
    if isinstance(kind, TypeDecorator):
        # All of ours are over types whose values need no work of their own.
        return partial(kind.process_result_value, dialect=dialect)
    return kind.dialect_impl(dialect).result_processor(dialect, _POSTGRESQL_FLOAT)


def _columns_of(statement: Any) -> list[ColumnElement[Any]]:  # noqa: ANN401 - any statement
    """What a select selects, or a change returns."""
    columns: list[ColumnElement[Any]] = []
    told = getattr(statement, "selected_columns", None)
    for each in getattr(statement, "_returning", ()) if told is None else told:
        columns += [each] if isinstance(each, ColumnElement) else each.c
    return columns


# The two dialects spell ON CONFLICT alike, each in a class of its own.
Upsert: TypeAlias = postgresql.Insert | sqlite.Insert
Offered: TypeAlias = ReadOnlyColumnCollection[str, KeyedColumnElement[Any]]
"""The columns of a row that an upsert offers."""
Merge: TypeAlias = Callable[[Offered], Mapping[str, ColumnElement[Any]]]
"""From the columns of an offered row, what to set in the one that is there.

A function of a module: the statement that is made of it is kept.
"""


def upsert(table: Table, *, is_postgresql: bool) -> Upsert:
    """An insert that can be told what to do where a key is taken."""
    return postgresql.insert(table) if is_postgresql else sqlite.insert(table)


@cache
def inserting(table: Table) -> Insert:
    """Insert rows whose keys are free."""
    return table.insert()


@cache
def passing_over(table: Table, *, is_postgresql: bool) -> Upsert:
    """Insert rows, and leave those that are there as they are."""
    return upsert(table, is_postgresql=is_postgresql).on_conflict_do_nothing()


@cache
def touching(table: Table, names: tuple[str, ...], *, is_postgresql: bool) -> Upsert:
    """Insert rows, or set these columns of those that are there."""
    return _merging(
        upsert(table, is_postgresql=is_postgresql),
        table,
        lambda offered: {name: offered[name] for name in names},
    )


@cache
def merging(table: Table, merge: Merge, *, is_postgresql: bool) -> Upsert:
    """Insert rows, or merge them into those that are there."""
    return _merging(upsert(table, is_postgresql=is_postgresql), table, merge)


@cache
def returning(statement: Upsert, table: Table) -> ReturningInsert[Any]:
    """A statement for one row, which is returned as it then is."""
    return statement.returning(table)


def _merging(statement: Upsert, table: Table, merge: Merge) -> Upsert:
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns), set_=merge(statement.excluded)
    )
