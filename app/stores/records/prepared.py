"""Statements that are kept, each compiled once to the text of SQLite and what its values need.

Executing a statement through SQLAlchemy takes longer than SQLite takes to run it. A statement that
is kept and whose values are all parameters needs that only once.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, TypeAlias, cast

from sqlalchemy import ClauseElement, ColumnElement, Row, TypeDecorator
from sqlalchemy.dialects import sqlite
from sqlalchemy.types import TypeEngine

DIALECT = sqlite.dialect(paramstyle="qmark")

# There are some 60 of them, some with different columns given.
_MOST_KEPT = 512

_Process: TypeAlias = Callable[[Any], Any]


class Prepared:
    """The text of a statement, and how its values and those of its rows are converted.

    Args:
        statement: Its values are parameters, or constants.
        names: Of an insert: the columns that are given.
    """

    def __init__(self, statement: ClauseElement, names: Sequence[str] = ()) -> None:
        compiled: Any = statement.compile(dialect=DIALECT, column_keys=list(names) or None)
        self.text = str(compiled)
        self._names: Sequence[str] = compiled.positiontup or ()
        self._writers = {
            name: process
            for name in self._names
            if (process := bind_processor(compiled.binds[name].type)) is not None
        }
        self._constants = {
            name: self._written(name, bind.effective_value)
            for name, bind in compiled.binds.items()
            if not bind.required
        }
        columns = _columns_of(statement)
        self.returns_rows = bool(columns)
        row = namedtuple("_Row", [str(column.key) for column in columns])  # type: ignore[misc]
        # It has what is used of a row: its values, by the names of the columns.
        self._made: Callable[[list[Any]], Row[Any]] = cast(Any, row)._make
        self._readers = result_processors(columns)

    def parameters(self, values: Mapping[str, object]) -> list[object]:
        """The values in the order of the text, as SQLite takes them."""
        constants = self._constants
        return [
            self._written(name, values[name]) if name in values else constants[name]
            for name in self._names
        ]

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
def prepared(statement: ClauseElement, names: tuple[str, ...] = ()) -> Prepared:
    """A statement that is kept, made ready the first time.

    Args:
        statement: It is known by itself: one that is made anew is compiled anew.
        names: Of an insert: the columns that are given.
    """
    return Prepared(statement, names)


def bind_processor(kind: TypeEngine[Any]) -> _Process | None:
    """What makes one of our values one of SQLite's, if it is not one already."""
    return kind.dialect_impl(DIALECT).bind_processor(DIALECT)


def result_processors(columns: Sequence[ColumnElement[Any]]) -> list[tuple[int, _Process]]:
    """What makes a value of the database one of ours, by position, where it is not one already."""
    found = [(index, _result_processor(column)) for index, column in enumerate(columns)]
    return [(index, process) for index, process in found if process is not None]


def _result_processor(column: ColumnElement[Any]) -> _Process | None:
    kind = column.type
    if isinstance(kind, TypeDecorator):
        # All of ours are over types whose values need no work of their own.
        return partial(kind.process_result_value, dialect=DIALECT)
    return kind.dialect_impl(DIALECT).result_processor(DIALECT, None)


def _columns_of(statement: Any) -> Sequence[ColumnElement[Any]]:  # noqa: ANN401 - any statement
    columns = getattr(statement, "selected_columns", None)
    if columns is None:
        columns = getattr(statement, "_returning", ())
    return _flat(columns)


def _flat(columns: Any) -> list[ColumnElement[Any]]:  # noqa: ANN401 - columns, or tables of them
    found: list[ColumnElement[Any]] = []
    for each in columns:
        found += each.c if hasattr(each, "c") and not isinstance(each, ColumnElement) else [each]
    return found
