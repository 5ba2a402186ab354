"""Statements that are kept: made once, compiled once to a text and what its values need.

Executing a statement through SQLAlchemy takes longer than the database takes to run it. A statement
that is kept, and whose values are all parameters, is compiled once and then run by the driver.
"""

import json
import sqlite3
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any, TypeAlias, cast

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Executable,
    Insert,
    Integer,
    Row,
    Select,
    String,
    Table,
    TypeDecorator,
    bindparam,
    case,
    func,
    literal_column,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import KeyedColumnElement
from sqlalchemy.types import TypeEngine

# There are some 60 of them, some with different columns given.
_MOST_KEPT = 512
_SQLITE: Dialect = sqlite.dialect(paramstyle="qmark")
# Its own number of a float's type: of floats alone, SQLAlchemy asks which one it is.
_POSTGRESQL_FLOAT = 701
_POSTGRESQL: Dialect = cast(Any, postgresql.psycopg).dialect(paramstyle="format")

_Process: TypeAlias = Callable[[Any], Any]
Value: TypeAlias = str | int | Sequence[str] | Sequence[int]
Values: TypeAlias = Mapping[str, Value]
"""The parameters of a lookup, by name."""
_LARGEST_BYTES = 65_536


class _Several(TypeDecorator[Sequence[str] | Sequence[int]]):
    """Values that are one parameter: an array, or JSON in SQLite, which has no arrays."""

    impl = String
    cache_ok = True

    def __init__(self, item: TypeEngine[Any]) -> None:
        super().__init__()
        self.item = item

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that a database has for it."""
        kind = postgresql.ARRAY(self.item) if dialect.name == "postgresql" else String()
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: Sequence[Any] | None, dialect: Dialect) -> Any:  # noqa: ANN401
        """Return what the driver is given."""
        given = list(value or ())
        return given if dialect.name == "postgresql" else json.dumps(given)


class IsAmong(ColumnElement[bool]):
    """The condition that a column has one of a parameter's values, for prepared statements.

    An `IN` has a parameter for each of its values, and so another text for each number of them.

    Args:
        column: The column, of texts or of whole numbers.
        name: The parameter's name; its value is a sequence of such values.

    Raises:
        TypeError: The column has values of another type, or converts them.
    """

    inherit_cache = False
    type = Boolean()

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        if not isinstance(column.type, String | Integer):
            raise TypeError(f"{column} has neither texts nor whole numbers as they are stored")
        self.column = column
        item = String() if isinstance(column.type, String) else BigInteger()
        self.values = bindparam(name, type_=_Several(item))

    def self_group(self, against: object = None) -> "IsAmong":
        """Return itself: beside other conditions, ` = 1` behind it would hide it from indexes."""
        del against
        return self


@compiles(IsAmong)
def _among(among: IsAmong, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    column, values = (compiler.process(each, **options) for each in (among.column, among.values))
    if compiler.dialect.name == "postgresql":
        return f"{column} = ANY ({values})"
    return f"{column} IN (SELECT value FROM json_each({values}))"  # noqa: S608 - both compiled


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
        given = [*names] if isinstance(statement, Insert) else None
        compiled: Any = cast(Any, statement).compile(dialect=dialect, column_keys=given)
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
        """Return the values in the order of the text, as the driver takes them."""
        named = dict(self._constants)
        for name, value in values.items():
            named[name] = self._written(name, value)
        return [named[name] for name in self._names]

    def row(self, values: Sequence[Any]) -> Row[Any]:
        """Return a row as the statement's columns have it."""
        converted = list(values)
        for index, process in self._readers:
            converted[index] = process(converted[index])
        return self._made(converted)

    def _written(self, name: str, value: object) -> object:
        process = self._writers.get(name)
        return value if process is None else process(value)


prepared = lru_cache(_MOST_KEPT)(Prepared)
"""Returns a statement that is kept, made ready the first time.

It is known by itself: one that is made anew is compiled anew.
"""


def _reader(column: ColumnElement[Any], dialect: Dialect) -> _Process | None:
    """Return what makes a value of the database one of ours, where it is not one already."""
    kind = column.type
    if isinstance(kind, TypeDecorator):
        # All of ours are over types whose values need no work of their own.
        return partial(kind.process_result_value, dialect=dialect)
    return kind.dialect_impl(dialect).result_processor(dialect, _POSTGRESQL_FLOAT)


def _columns_of(statement: Any) -> list[ColumnElement[Any]]:  # noqa: ANN401 - any statement
    """Return what a select selects, or a change returns."""
    columns: list[ColumnElement[Any]] = []
    told = getattr(statement, "selected_columns", None)
    for each in getattr(statement, "_returning", ()) if told is None else told:
        columns += [each] if isinstance(each, ColumnElement) else each.c
    return columns


class Lookup:
    """A select of a few rows by their keys: made ready once, and read without a thread on SQLite.

    SQLite finds a row by its key in a few microseconds. Building the statement anew, taking a
    connection from the pool and handing the work to a thread takes a hundred times as long. So a
    statement that is asked all the time is a lookup; see `LoopConnection`.

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
        """Return the rows, or `None` if one of them is too large."""
        ready = self._prepared
        # To the end, so that the read is over.
        rows = connection.execute(ready.text, ready.parameters(values)).fetchall()
        # Its last column is `is_short`.
        return [ready.row(row) for row in rows] if all(row[-1] for row in rows) else None


def _short(statement: Select[Any], large: Sequence[ColumnElement[bytes]]) -> Select[Any]:
    """Return the select without too large values, and whether it has them all, at the end."""
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


Offered: TypeAlias = ReadOnlyColumnCollection[str, KeyedColumnElement[Any]]
"""The columns of a row that an upsert offers."""
Merge: TypeAlias = Callable[[Offered], Mapping[str, ColumnElement[Any]]]
"""From the columns of an offered row, what to set in the one that is there.

A function of a module, or what `touch` returns: the statement that is made of it is kept.
"""


@cache
def inserting(table: Table) -> Insert:
    """Insert rows whose keys are free."""
    return table.insert()


@cache
def touch(*names: str) -> Merge:
    """Return the merge that sets these columns of a row that is there, and no others."""
    return lambda offered: {name: offered[name] for name in names}


@cache
def upserting(table: Table, merge: Merge | None, *returned: str, is_postgresql: bool) -> Insert:
    """Insert rows, and merge them into those that are there, or leave these as they are.

    Args:
        table: The table.
        merge: What is set in a row that is there; `None` to leave it.
        returned: Columns to return, of the rows that were inserted or merged.
        is_postgresql: Whether it is for PostgreSQL; else it is for SQLite.
    """
    # The two dialects spell ON CONFLICT alike, each in a class of its own.
    statement = postgresql.insert(table) if is_postgresql else sqlite.insert(table)
    if merge is None:
        statement = statement.on_conflict_do_nothing()
    else:
        statement = statement.on_conflict_do_update(
            index_elements=list(table.primary_key.columns), set_=merge(statement.excluded)
        )
    return statement.returning(*(table.c[name] for name in returned)) if returned else statement
