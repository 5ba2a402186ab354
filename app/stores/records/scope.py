"""The one place where statements get their project, and rows become frozen dataclasses.

Repositories build every statement from a `ProjectScope`, never from a table, so that a query over
another project's rows cannot be written by forgetting something; a test holds the repositories to
it. The fields of dataclasses have the names of columns.
"""

from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

from sqlalchemy import (
    CTE,
    Column,
    ColumnElement,
    Delete,
    Executable,
    Insert,
    Row,
    Select,
    String,
    Subquery,
    Table,
    Update,
    bindparam,
    delete,
    func,
    or_,
    select,
    update,
)
from sqlalchemy import Sequence as NumberSequence
from sqlalchemy.exc import OperationalError
from sqlalchemy.sql.dml import ReturningUpdate

from app.models.identity import utc_now
from app.stores.records.database import StatementConnection
from app.stores.records.prepared_statements import (
    IsAmong,
    Lookup,
    Merge,
    Value,
    Values,
    inserting,
    upserting,
)

_Value = TypeVar("_Value")
_Item = TypeVar("_Item")
_Key = TypeVar("_Key", str, int)
AnyTable: TypeAlias = Table
"""A table as an argument; statements over it are made by a scope."""

# Far below what either database takes as parameters of one statement.
_ROWS_AT_ONCE = 500
_HASHED = func.hashtext(bindparam("project_id"))
_LOCK_SHARED, _LOCK_ALONE = (
    select(take(bindparam("number"), _HASHED).label("taken"))
    for take in (func.pg_advisory_xact_lock_shared, func.pg_advisory_xact_lock)
)
# PostgreSQL's SQLSTATE for a lock that was not to be had within `lock_timeout`.
_LOCK_NOT_AVAILABLE = "55P03"


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row to be inserted, but for the project; and for its `seq`, which it gets there."""

    table: AnyTable
    values: dict[str, object]


def read_row(kind: Callable[..., _Item], row: Row[Any], /, **others: object) -> _Item:
    """Return a dataclass made of the columns of a row; `others` are fields that are none."""
    columns = {name: getattr(row, name) for name in _names(kind) if name not in others}
    return kind(**columns, **others)


def values_of(item: object, **others: object) -> dict[str, object]:
    """Return the fields of a dataclass by name, as columns of its row, and others beside them."""
    return {name: getattr(item, name) for name in _names(cast(Any, type(item)))} | others


def in_batches(values: Collection[_Key]) -> Iterator[list[_Key]]:
    """Yield values in order, up to 500 at once, for a condition that names them all."""
    ordered = sorted(values)
    for start in range(0, len(ordered), _ROWS_AT_ONCE):
        yield ordered[start : start + _ROWS_AT_ONCE]


@cache
def _with_any(column: Column[Any]) -> Select[Any]:
    """Select all columns of the rows whose column has one of some values."""
    return scoped_select(column.table).where(IsAmong(column, "values"))


@cache
def _names(kind: Hashable) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast(Any, kind)))


def scoped_select(
    table: Table, *columns: ColumnElement[Any], by: Sequence[str] = ()
) -> Select[Any]:
    """Select columns, by default all, of a project's rows of a table, for a `Lookup`.

    A scope says which project. The columns that are named in `by` have the values of parameters of
    the same names.
    """
    given = (table.c[name] == bindparam(name) for name in ("project_id", *by))
    return select(*(columns or table.c)).where(*given)


def scoped_from(scoped: Subquery, *columns: ColumnElement[Any]) -> Select[Any]:
    """Select columns over rows that a `scoped_select`, or a scope, has selected."""
    return select(*columns).select_from(scoped)


def scoped_update(table: Table) -> Update:
    """Return an update of a project's rows of a table, to be kept: a scope says of which project.

    Its parameters must not have the names of columns, which would be set to them.
    """
    return update(table).where(table.c.project_id == bindparam("in_project"))


def scoped_any(selects: Iterable[Select[Any]]) -> Select[Any]:
    """Return a select of whether one of several of `scoped_select` finds a row: `is_any`."""
    return select(or_(*(each.exists() for each in selects)).label("is_any"))


def with_inserts(
    changed: CTE, inserts: Iterable[tuple[Table, Mapping[str, ColumnElement[Any]]]]
) -> Select[Any]:
    """Select what a `scoped_update` returns, and insert rows with it. PostgreSQL only."""
    project = bindparam("in_project", type_=String())
    made = [
        table.insert()
        .from_select(["project_id", *columns], select(project, *columns.values()))
        .cte(f"inserted_{index}")
        for index, (table, columns) in enumerate(inserts)
    ]
    return select(changed).add_cte(*made)


class ProjectScope:
    """Statements over the rows of one project, on one connection.

    Args:
        connection: What the statements run on.
        project_id: The project.
    """

    def __init__(self, connection: StatementConnection, project_id: str) -> None:
        self._connection = connection
        self.project_id = project_id
        self.is_postgresql = connection.is_postgresql

    def look_up(
        self, lookup: Lookup, *, is_short: bool = True, **values: Value
    ) -> Sequence[Row[Any]]:
        """Return the project's rows that a lookup finds; of a `scoped_select`, it finds no others.

        `is_short` is what the caller knows: what takes longer is no work for the event loop.
        """
        given: Values = {"project_id": self.project_id, **values}
        return self._connection.look_up(lookup, given, is_short=is_short)

    def select(
        self,
        table: Table,
        *conditions: ColumnElement[bool],
        columns: Sequence[ColumnElement[Any]] = (),
    ) -> Select[Any]:
        """Select columns, by default all, of the project's rows of a table that meet conditions."""
        statement = select(*columns) if columns else select(table)
        return statement.select_from(table).where(
            table.c.project_id == self.project_id, *conditions
        )

    def count(self, table: Table, *conditions: ColumnElement[bool]) -> int:
        """Count the project's rows of a table that meet conditions."""
        (row,) = self.all(self.select(table, *conditions, columns=[func.count().label("rows")]))
        return int(row.rows)

    def rows_with(
        self, column: Column[Any], values: Collection[_Key], statement: Select[Any] | None = None
    ) -> Iterator[Row[Any]]:
        """Yield the project's rows whose column has one of some values, however many these are.

        Of `statement`, if it is given, which was made by this scope; else all columns.
        """
        for batch in in_batches(values):
            if statement is not None:
                yield from self.all(statement.where(column.in_(batch)))
            else:
                yield from self.kept(_with_any(column), values=batch)

    def column(self, column: Column[_Value], *conditions: ColumnElement[bool]) -> set[_Value]:
        """Return the values of a column among the project's rows that meet conditions."""
        of_project = column.table.c.project_id == self.project_id
        return set(
            self._connection.execute(select(column).where(of_project, *conditions)).scalars()
        )

    def update(self, table: Table) -> Update:
        """Return an update of the project's rows of a table."""
        return update(table).where(table.c.project_id == self.project_id)

    def delete(self, table: Table) -> Delete:
        """Return a delete of the project's rows of a table."""
        return delete(table).where(table.c.project_id == self.project_id)

    def insert_if_absent(self, table: Table, **values: object) -> bool:
        """Insert one row of the project unless its key is taken; says whether it was inserted."""
        # Counting rows would not do: PostgreSQL's driver does not count those of an INSERT.
        return bool(self.insert_absent(table, [values], returning=["project_id"]))

    def insert_new(self, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert rows of the project whose keys are known to be free.

        The only way into a virtual table, which cannot do anything about a key that is taken.
        """
        self._execute_all(inserting(table), rows)

    def insert_absent(
        self, table: Table, rows: Sequence[Mapping[str, object]], *, returning: Sequence[str]
    ) -> list[Row[Any]]:
        """Insert those rows of the project whose keys are free; returns columns of just these.

        A key that another transaction is taking is waited for. Callers order rows as for
        `merge_all`.
        """
        statement = upserting(table, None, *returning, is_postgresql=self.is_postgresql)
        if len(rows) == 1:
            return [*self._connection.rows(statement, self._row(rows[0]))]
        batches = self._batches(rows)
        return [row for batch in batches for row in self.all(statement.values(batch))]

    def copy(self, table: Table, rows: Select[Any]) -> None:
        """Insert the rows of a select of this scope, whose columns are named as the table's."""
        self._connection.execute(table.insert().from_select(rows.selected_columns.keys(), rows))

    def merge_all(self, table: Table, rows: Sequence[Mapping[str, object]], merge: Merge) -> None:
        """Insert rows of the project, or merge them into those that are there.

        All rows are locked until the end of the transaction. Callers give rows in the order of
        their keys: two transactions that lock in different orders block each other.

        Args:
            table: The table.
            rows: The rows, in the order of their keys.
            merge: From the columns of the offered row, what to set in the one that is there; see
                `touch`.
        """
        self._execute_all(upserting(table, merge, is_postgresql=self.is_postgresql), rows)

    def insert_or_merge(self, table: Table, merge: Merge, **values: object) -> Row[Any]:
        """Insert one row of the project, or merge it into the one that is there, as `merge_all`.

        Either way the row is locked until the end of the transaction, and returned as it now is.
        """
        returned = table.c.keys()
        statement = upserting(table, merge, *returned, is_postgresql=self.is_postgresql)
        return self._connection.rows(statement, self._row(values))[0]

    def lock(self, number: int, *, shared: bool) -> None:
        """Hold one of the project's locks until the transaction ends, with others or alone.

        SQLite has one writer at a time, which is as good as any lock.
        """
        if self.is_postgresql:
            taken = _LOCK_SHARED if shared else _LOCK_ALONE
            self._connection.rows(taken, {"number": number, "project_id": self.project_id})

    def lock_alone(self, number: int, *, wait_seconds: float) -> bool:
        """Hold a lock as `lock` does, alone; says whether it was to be had in this time.

        Whoever asks for the lock meanwhile waits as well: first come, first served.
        """
        if not self.is_postgresql:
            return True
        try:
            # A wait that is given up ends a transaction, or as much of it as a savepoint holds.
            with self._connection.begin_nested():
                timeout = f"{wait_seconds * 1000:.0f}ms"
                self._connection.execute(select(func.set_config("lock_timeout", timeout, True)))
                self.lock(number, shared=False)
        except OperationalError as exc:
            if getattr(exc.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
                raise
            return False
        return True

    def now(self) -> datetime:
        """Return the moment, in UTC, by the one clock of all processes over this database."""
        if not self.is_postgresql:
            return utc_now()
        moment = self._connection.execute(select(func.clock_timestamp())).scalar_one()
        return cast(datetime, moment).astimezone(UTC)

    def reserve(self, numbers: NumberSequence, *, count: int) -> list[int]:
        """Take the next numbers of a sequence, in order; nobody else gets them. PostgreSQL only."""
        rows = func.generate_series(1, count)
        taken = self._connection.execute(select(numbers.next_value()).select_from(rows))
        return sorted(taken.scalars())

    def first(self, statement: Executable) -> Row[Any] | None:
        """Return the first row of a statement made by this scope, or `None`."""
        return self._connection.execute(statement).first()

    def find(self, table: Table, **key: object) -> Row[Any] | None:
        """Return the project's row of a table that has these values, or `None`."""
        return self.first(self.select(table, *(table.c[name] == key[name] for name in key)))

    def change(
        self, statement: ReturningUpdate[Any] | Select[Any], **values: object
    ) -> Row[Any] | None:
        """Return the one row that a statement made of `scoped_update` has changed, or `None`."""
        rows = self._connection.rows(statement, {"in_project": self.project_id, **values})
        return rows[0] if rows else None

    def kept(self, statement: Select[Any], **values: object) -> Sequence[Row[Any]]:
        """Return all rows of a statement that is kept, made of `scoped_select`."""
        return self._connection.rows(statement, {"project_id": self.project_id, **values})

    def all(self, statement: Executable) -> Sequence[Row[Any]]:
        """Return all rows of a statement made by this scope."""
        return self._connection.execute(statement).all()

    def run(self, statement: Update | Delete) -> int:
        """Run a change made by this scope; says how many rows it changed."""
        return self._connection.execute(statement).rowcount

    def set_values(self, table: Table, *conditions: ColumnElement[bool], **values: object) -> int:
        """Set columns of the rows that meet conditions; says how many these are."""
        return self.run(self.update(table).where(*conditions).values(**values))

    def remove(self, table: Table, *conditions: ColumnElement[bool]) -> int:
        """Remove the rows that meet conditions; says how many these were."""
        return self.run(self.delete(table).where(*conditions))

    def _execute_all(self, statement: Insert, rows: Sequence[Mapping[str, object]]) -> None:
        # As one statement with many sets of parameters.
        for batch in self._batches(rows):
            self._connection.run_many(statement, batch)

    def _row(self, values: Mapping[str, object]) -> dict[str, object]:
        return {"project_id": self.project_id, **values}

    def _batches(self, rows: Sequence[Mapping[str, object]]) -> Iterator[list[dict[str, object]]]:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            yield [self._row(row) for row in rows[start : start + _ROWS_AT_ONCE]]
