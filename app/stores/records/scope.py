"""Execute statements within one project, and convert rows to frozen dataclasses.

Repositories build statements with the functions of `statements`, and a `ProjectScope` executes them
with its project, so no statement can read rows of another project by accident. A test checks that
repositories do not execute statements in other ways. `read_row` and `values_of` convert between
rows and dataclasses whose fields have the names of columns.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar, cast

from sqlalchemy import (
    Column,
    Connection,
    CursorResult,
    Executable,
    Insert,
    Integer,
    Row,
    Select,
    bindparam,
    func,
    select,
)
from sqlalchemy import Sequence as NumberSequence
from sqlalchemy.exc import OperationalError

from app.models.identity import utc_now
from app.stores.records.statements import (
    AnyTable,
    Lookup,
    Merge,
    insert,
    is_among,
    refuse_in_event_loop,
    scoped_select,
    upsert,
)

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", str, int)

# Far below the maximum number of parameters of a statement in both databases.
_ROWS_AT_ONCE = 500
_HASHED_PROJECT = func.hashtext(bindparam("in_project"))
_LOCK_SHARED, _LOCK_ALONE = (
    select(lock(bindparam("number"), _HASHED_PROJECT))
    for lock in (func.pg_advisory_xact_lock_shared, func.pg_advisory_xact_lock)
)
_SET_LOCK_TIMEOUT = select(func.set_config("lock_timeout", bindparam("timeout"), True))
_CLOCK = select(func.clock_timestamp())
# PostgreSQL's SQLSTATE for a lock that was not acquired within `lock_timeout`.
_LOCK_NOT_AVAILABLE = "55P03"


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row to insert. The project and the `seq` are added when it is inserted."""

    table: AnyTable
    values: dict[str, object]


def read_row(kind: Callable[..., _Item], row: Row[Any], /, **others: object) -> _Item:
    """Return a dataclass with the values of a row; `others` are the fields without a column."""
    columns = {name: getattr(row, name) for name in _field_names(kind) if name not in others}
    return kind(**columns, **others)


def values_of(item: object, **others: object) -> dict[str, object]:
    """Return the fields of a dataclass by name, for its row; `others` are further columns."""
    return {name: getattr(item, name) for name in _field_names(cast(Any, type(item)))} | others


def in_batches(values: Collection[_Key]) -> Iterator[list[_Key]]:
    """Yield sorted lists of up to 500 values, each for one `IN` condition."""
    ordered = sorted(values)
    for start in range(0, len(ordered), _ROWS_AT_ONCE):
        yield ordered[start : start + _ROWS_AT_ONCE]


@cache
def _field_names(kind: Hashable) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast(Any, kind)))


@cache
def _select_with(column: Column[Any]) -> Select[Any]:
    return scoped_select(column.table).where(is_among(column, "values"))


@cache
def _select_next_values(numbers: NumberSequence) -> Select[Any]:
    rows = func.generate_series(1, bindparam("count", type_=Integer()))
    return select(numbers.next_value()).select_from(rows)


class ProjectScope:
    """Executes statements over the rows of one project, on one connection.

    Args:
        connection: The connection.
        project_id: The project.
    """

    def __init__(self, connection: Connection, project_id: str) -> None:
        self._connection = connection
        self.project_id = project_id
        self.is_postgresql = connection.dialect.name == "postgresql"

    def execute(self, statement: Executable, **values: object) -> CursorResult[Any]:
        """Execute a statement that was built by the functions of `statements`."""
        refuse_in_event_loop(self._connection)
        return self._connection.execute(statement, {"in_project": self.project_id, **values})

    def all(self, statement: Executable, **values: object) -> Sequence[Row[Any]]:
        """Return all rows of a statement."""
        return self.execute(statement, **values).all()

    def first(self, statement: Executable, **values: object) -> Row[Any] | None:
        """Return the first row of a statement, or `None`."""
        return self.execute(statement, **values).first()

    def run(self, statement: Executable, **values: object) -> int:
        """Execute an update or a delete; return how many rows it changed."""
        return self.execute(statement, **values).rowcount

    def look_up(
        self, lookup: Lookup, *, is_short: bool = True, **values: object
    ) -> Sequence[Row[Any]]:
        """Return the rows of a lookup; see `Lookup.read`."""
        parameters = {"in_project": self.project_id, **values}
        return lookup.read(self._connection, parameters, is_short=is_short)

    def rows_with(self, column: Column[Any], values: Collection[_Key]) -> Iterator[Row[Any]]:
        """Yield the rows that have one of the values in a column; see `rows_in_batches`."""
        return self.rows_in_batches(_select_with(column), values)

    def rows_in_batches(
        self, statement: Select[Any], values: Collection[_Key]
    ) -> Iterator[Row[Any]]:
        """Yield the rows of a select, which is executed once for every 500 values.

        The select has a parameter `values` for an `IN` condition.
        """
        for batch in in_batches(values):
            yield from self.all(statement, values=batch)

    def insert_if_absent(self, table: AnyTable, **values: object) -> bool:
        """Insert one row unless its key is taken; return whether it was inserted."""
        # PostgreSQL's driver does not count the rows of an INSERT.
        return bool(self.insert_absent(table, [values], returning=["project_id"]))

    def insert_new(self, table: AnyTable, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert rows. The caller knows that no row has their keys.

        Virtual tables need this method, because they do not support ON CONFLICT.
        """
        if rows:
            self._insert(insert(table), rows)

    def insert_absent(
        self, table: AnyTable, rows: Sequence[Mapping[str, object]], *, returning: Sequence[str]
    ) -> Sequence[Row[Any]]:
        """Insert the rows whose keys no other row has; return columns of the inserted rows.

        If another transaction is inserting a row with one of the keys, this waits for the end of
        that transaction. Callers order rows by their keys, as for `merge_all`.
        """
        statement = upsert(table, None, *returning, is_postgresql=self.is_postgresql)
        return self._insert(statement, rows).all() if rows else []

    def copy(self, table: AnyTable, rows: Select[Any], **values: object) -> None:
        """Insert the rows of a select whose columns have the names of the table's columns."""
        self.execute(table.insert().from_select(rows.selected_columns.keys(), rows), **values)

    def merge_all(
        self, table: AnyTable, rows: Sequence[Mapping[str, object]], merge: Merge
    ) -> None:
        """Insert rows, or merge them into existing rows.

        All rows are locked until the end of the transaction. Callers order rows by their keys,
        because two transactions that lock in different orders block each other.

        Args:
            table: The table.
            rows: The rows, in the order of their keys.
            merge: Returns the columns to set in an existing row; see `overwrite`.
        """
        if rows:
            self._insert(upsert(table, merge, is_postgresql=self.is_postgresql), rows)

    def insert_or_merge(self, table: AnyTable, merge: Merge, **values: object) -> Row[Any]:
        """Insert one row, or merge it into the existing row, as `merge_all` does; return the row.

        The row is locked until the end of the transaction.
        """
        returned = table.c.keys()
        statement = upsert(table, merge, *returned, is_postgresql=self.is_postgresql)
        return self._insert(statement, [values]).one()

    def lock(self, number: int, *, shared: bool) -> None:
        """Acquire an advisory lock of the project, shared or exclusive, until the transaction ends.

        `number` distinguishes the locks of a project. On SQLite this does nothing, because SQLite
        has one writer at a time.
        """
        if self.is_postgresql:
            self.execute(_LOCK_SHARED if shared else _LOCK_ALONE, number=number)

    def lock_exclusively(self, number: int, *, wait_seconds: float) -> bool:
        """Acquire an exclusive lock, as `lock` does; return false after `wait_seconds`.

        The lock is granted in the order of requests, so later requests wait for this one.
        """
        if not self.is_postgresql:
            return True
        try:
            # A lock timeout aborts the transaction, or only the part behind a savepoint.
            with self._connection.begin_nested():
                self.execute(_SET_LOCK_TIMEOUT, timeout=f"{wait_seconds * 1000:.0f}ms")
                self.lock(number, shared=False)
        except OperationalError as exc:
            if getattr(exc.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
                raise
            return False
        return True

    def now(self) -> datetime:
        """Return the time, in UTC, of the clock that all processes of this database share."""
        if not self.is_postgresql:
            return utc_now()
        return cast(datetime, self.execute(_CLOCK).scalar_one()).astimezone(UTC)

    def reserve(self, numbers: NumberSequence, *, count: int) -> list[int]:
        """Take the next numbers of a sequence, in order. PostgreSQL only."""
        return sorted(self.execute(_select_next_values(numbers), count=count).scalars())

    def _insert(self, statement: Insert, rows: Sequence[Mapping[str, object]]) -> CursorResult[Any]:
        refuse_in_event_loop(self._connection)
        parameters = [{"project_id": self.project_id, **row} for row in rows]
        return self._connection.execute(statement, parameters)
