"""Functions that build statements over the rows of one project.

The project is the parameter `in_project`, which `ProjectScope` sets when it executes a statement.
Modules build their statements once, as constants.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from sqlalchemy import (
    CTE,
    ColumnElement,
    Connection,
    Delete,
    FromClause,
    Insert,
    Row,
    Select,
    String,
    Subquery,
    Table,
    Update,
    bindparam,
    case,
    delete,
    func,
    literal_column,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.elements import KeyedColumnElement

AnyTable: TypeAlias = Table
"""A table as an argument, for modules that must not import SQLAlchemy's `Table`."""

# The size of the largest row that a lookup reads in the event loop.
_MAX_BYTES = 65_536
_PROJECT = bindparam("in_project", type_=String())


class WouldBlockError(Exception):
    """A statement would block the event loop."""


def refuse_in_event_loop(connection: Connection) -> None:
    """Raise WouldBlockError if the connection belongs to a `LoopReader`."""
    if _is_of_event_loop(connection):
        raise WouldBlockError


def _is_of_event_loop(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get("is_event_loop"))


def scoped_select(
    table: Table, *columns: ColumnElement[Any], by: Sequence[str] = ()
) -> Select[Any]:
    """Select columns, by default all, of a project's rows of a table.

    Each column in `by` is compared with a parameter of the same name.
    """
    # The cache key of a table, hashed at each execution, is shorter than that of its columns.
    selected = select(*columns).select_from(table) if columns else select(table)
    return selected.where(table.c.project_id == _PROJECT, *_equals_parameters(table, by))


def scoped_update(table: Table, *, by: Mapping[str, str] | None = None) -> Update:
    """Update a project's rows of a table.

    `by` maps columns to the parameters that they are compared with. When the statement is executed,
    a parameter with the name of a column sets this column.
    """
    conditions = (table.c[name] == bindparam(value) for name, value in (by or {}).items())
    return update(table).where(table.c.project_id == _PROJECT, *conditions)


def scoped_delete(table: Table, *, by: Sequence[str] = ()) -> Delete:
    """Delete a project's rows of a table; `by` is as in `scoped_select`."""
    return delete(table).where(table.c.project_id == _PROJECT, *_equals_parameters(table, by))


def scoped_from(scoped: Subquery, *columns: ColumnElement[Any]) -> Select[Any]:
    """Select columns of a subquery that was built by `scoped_select`."""
    return select(*columns).select_from(scoped)


def scoped_exists(selects: Iterable[Select[Any]]) -> Select[Any]:
    """Select `row_exists`: true if one of the selects, built by `scoped_select`, finds a row."""
    return select(or_(*(item.exists() for item in selects)).label("row_exists"))


def count_rows(table: Table, *conditions: ColumnElement[bool]) -> Select[Any]:
    """Select `rows`: the number of a project's rows of a table that meet conditions."""
    return scoped_select(table, func.count().label("rows")).where(*conditions)


def with_inserts(
    changed: CTE,
    inserts: Iterable[tuple[Table, Mapping[str, ColumnElement[Any]]]],
    *,
    rows: FromClause | None = None,
) -> Select[Any]:
    """Update rows and insert others in one statement, and select the updated rows. PostgreSQL only.

    Args:
        changed: The `scoped_update`, with RETURNING.
        inserts: Tables, with the values of their columns from the update and from `rows`.
        rows: The rows to insert; by default one for each updated row.
    """
    source = changed if rows is None else changed.join(rows, true())
    insert_ctes = [
        table.insert()
        .from_select(
            ["project_id", *columns], select(_PROJECT, *columns.values()).select_from(source)
        )
        .cte(f"inserted_{index}")
        for index, (table, columns) in enumerate(inserts)
    ]
    return select(changed).add_cte(*insert_ctes)


def is_among(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Return the condition that a column has one of the values of a parameter."""
    return column.in_(bindparam(name, expanding=True))


def _equals_parameters(table: Table, names: Sequence[str]) -> Iterable[ColumnElement[bool]]:
    return (table.c[name] == bindparam(name) for name in names)


class Lookup:
    """A select of a few rows by their keys, which can be executed in the event loop.

    `LoopReader` executes lookups on SQLite. There, a row with large values raises WouldBlockError.

    Args:
        statement: The select.
        large: The columns that may have large values. For each row, the sum of their sizes counts.
    """

    def __init__(
        self, statement: Select[Any], *, large: Sequence[ColumnElement[bytes]] = ()
    ) -> None:
        self.statement = statement
        self.short_statement = _without_large_values(statement, large) if large else statement
        self._has_large = bool(large)

    def read(
        self, connection: Connection, values: Mapping[str, Any], *, is_short: bool = True
    ) -> Sequence[Row[Any]]:
        """Return the rows.

        Args:
            connection: The connection.
            values: The values of the parameters.
            is_short: False if the caller expects this to take long.

        Raises:
            WouldBlockError: The event loop would be blocked.
        """
        if not _is_of_event_loop(connection):
            return connection.execute(self.statement, values).all()
        if not is_short:
            raise WouldBlockError
        rows = connection.execute(self.short_statement, values).all()
        if self._has_large and not all(row.is_short for row in rows):
            raise WouldBlockError
        return rows


def _without_large_values(
    statement: Select[Any], large: Sequence[ColumnElement[bytes]]
) -> Select[Any]:
    """Return the select with NULL for large values, and a last column `is_short`."""
    # Both databases return the length of a blob without reading it.
    sizes = [func.coalesce(func.length(column), literal_column("0")) for column in large]
    is_short = sum(sizes, start=literal_column("0")) <= literal_column(str(_MAX_BYTES))
    columns = [
        case((is_short, column), else_=None).label(str(column.key))
        if any(column is item for item in large)
        else column
        for column in statement.selected_columns
    ]
    return statement.with_only_columns(*columns, is_short.label("is_short"))


Excluded: TypeAlias = ReadOnlyColumnCollection[str, KeyedColumnElement[Any]]
"""The columns of the row that an upsert would insert: `excluded` in SQL."""
Merge: TypeAlias = Callable[[Excluded], Mapping[str, ColumnElement[Any]]]
"""Returns the columns to set in the existing row, from the row that an upsert would insert.

`upsert` caches statements by their merge. So a merge is a module-level function, or a function that
`overwrite` returns, but not a new lambda for each call.
"""


@cache
def overwrite(*names: str) -> Merge:
    """Return the merge that sets these columns of the existing row, and no others."""
    return lambda excluded: {name: excluded[name] for name in names}


@cache
def insert(table: Table) -> Insert:
    """Insert rows of any project; `ProjectScope` adds the project to each row."""
    return table.insert()


@cache
def upsert(table: Table, merge: Merge | None, *returned: str, is_postgresql: bool) -> Insert:
    """Insert rows; if the key of a row exists, change the existing row instead.

    Args:
        table: The table.
        merge: Returns the columns to set in an existing row; `None` to leave it unchanged.
        returned: The columns to return of inserted and merged rows.
        is_postgresql: True for PostgreSQL, false for SQLite.
    """
    # Each dialect has its own class with ON CONFLICT.
    statement = postgresql.insert(table) if is_postgresql else sqlite.insert(table)
    if merge is None:
        statement = statement.on_conflict_do_nothing()
    else:
        statement = statement.on_conflict_do_update(
            index_elements=list(table.primary_key.columns), set_=merge(statement.excluded)
        )
    return statement.returning(*(table.c[name] for name in returned)) if returned else statement
