"""Statements that insert rows, each made once: making one takes longer than running it.

All their values are parameters.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Insert, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.dml import ReturningInsert
from sqlalchemy.sql.elements import KeyedColumnElement

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
