"""The one place where statements get their project.

Repositories build every statement from a `ProjectScope`, never from a table, so that a query over
another project's rows cannot be written by forgetting something; a test holds the repositories to
it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

from sqlalchemy import (
    ColumnElement,
    Delete,
    Executable,
    Row,
    Select,
    Subquery,
    Table,
    Update,
    delete,
    func,
    select,
    update,
)
from sqlalchemy import Sequence as NumberSequence
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.elements import KeyedColumnElement

from app.models.identity import utc_now

AnyTable: TypeAlias = Table
"""A table as an argument; statements over it are made by a scope."""

Offered: TypeAlias = ReadOnlyColumnCollection[str, KeyedColumnElement[Any]]
"""The columns of a row that an upsert offers."""

# Far below what either database takes as parameters of one statement.
_ROWS_AT_ONCE = 500
# PostgreSQL's SQLSTATE for a lock that was not to be had within `lock_timeout`.
_LOCK_NOT_AVAILABLE = "55P03"


class ProjectScope:
    """Statements over the rows of one project, on one connection."""

    def __init__(self, connection: AsyncConnection, project_id: str) -> None:
        self._connection = connection
        self.project_id = project_id
        self.is_postgresql = connection.dialect.name == "postgresql"
        # The two dialects spell ON CONFLICT alike, each in a class of its own.
        self._upsert = postgresql.insert if self.is_postgresql else sqlite.insert

    def select(self, table: Table) -> Select[Any]:
        """All columns of the project's rows of a table."""
        return select(table).where(table.c.project_id == self.project_id)

    def select_from(self, scoped: Subquery, *columns: ColumnElement[Any]) -> Select[Any]:
        """Columns over rows that a statement made by this scope has selected."""
        return select(*columns).select_from(scoped)

    def update(self, table: Table) -> Update:
        """An update of the project's rows of a table."""
        return update(table).where(table.c.project_id == self.project_id)

    def delete(self, table: Table) -> Delete:
        """A delete of the project's rows of a table."""
        return delete(table).where(table.c.project_id == self.project_id)

    async def insert(self, table: Table, **values: object) -> None:
        """Insert one row of the project."""
        await self._connection.execute(table.insert().values(project_id=self.project_id, **values))

    async def insert_if_absent(self, table: Table, **values: object) -> bool:
        """Insert one row of the project unless its key is taken; says whether it was inserted."""
        statement = self._upsert(table).values(project_id=self.project_id, **values)
        # Counting rows would not do: PostgreSQL's driver does not count those of an INSERT.
        inserted = statement.on_conflict_do_nothing().returning(table.c.project_id)
        return (await self._connection.execute(inserted)).first() is not None

    async def insert_all(
        self, table: Table, rows: Sequence[Mapping[str, object]], *, touch: Sequence[str] = ()
    ) -> None:
        """Insert rows of the project; of those whose key is taken, only set the columns `touch`.

        With `touch`, all rows are locked until the end of the transaction. Callers give rows in
        the order of their keys: two transactions that lock in different orders block each other.
        """
        for batch in self._batches(rows):
            statement = self._upsert(table).values(batch)
            if touch:
                statement = statement.on_conflict_do_update(
                    index_elements=list(table.primary_key.columns),
                    set_={name: statement.excluded[name] for name in touch},
                )
            else:
                statement = statement.on_conflict_do_nothing()
            await self._connection.execute(statement)

    async def insert_new(self, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert rows of the project whose keys are known to be free.

        The only way into a virtual table, which cannot do anything about a key that is taken.
        """
        # As one statement with many sets of parameters, which is made ready once.
        for batch in self._batches(rows):
            await self._connection.execute(table.insert(), batch)

    async def insert_absent(
        self, table: Table, rows: Sequence[Mapping[str, object]], *, returning: Sequence[str]
    ) -> list[Row[Any]]:
        """Insert those rows of the project whose keys are free; returns columns of just these.

        A key that another transaction is taking is waited for. Callers order rows as for
        `insert_all`.
        """
        inserted: list[Row[Any]] = []
        for batch in self._batches(rows):
            statement = self._upsert(table).values(batch).on_conflict_do_nothing()
            columns = [table.c[name] for name in returning]
            inserted += (await self._connection.execute(statement.returning(*columns))).all()
        return inserted

    async def merge_all(
        self,
        table: Table,
        rows: Sequence[Mapping[str, object]],
        merge: Callable[[Offered], Mapping[str, ColumnElement[Any]]],
    ) -> None:
        """Insert rows of the project, or merge them into those that are there.

        Args:
            table: The table.
            rows: The rows, in the order of their keys.
            merge: From the columns of the offered row, what to set in the one that is there.
        """
        for batch in self._batches(rows):
            statement = self._upsert(table).values(batch)
            statement = statement.on_conflict_do_update(
                index_elements=list(table.primary_key.columns), set_=merge(statement.excluded)
            )
            await self._connection.execute(statement)

    async def insert_or_touch(
        self, table: Table, touch: Sequence[str], **values: object
    ) -> Row[Any]:
        """Insert one row of the project, or set the columns `touch` of the one that is there.

        Either way the row is locked until the end of the transaction, and returned as it now is.
        """
        statement = self._upsert(table).values(project_id=self.project_id, **values)
        statement = statement.on_conflict_do_update(
            index_elements=list(table.primary_key.columns),
            set_={name: statement.excluded[name] for name in touch},
        )
        row: Row[Any] = (await self._connection.execute(statement.returning(table))).one()
        return row

    async def insert_or_merge(
        self,
        table: Table,
        merge: Callable[[Offered], Mapping[str, ColumnElement[Any]]],
        **values: object,
    ) -> Row[Any]:
        """As `insert_or_touch`, with what to set worked out as in `merge_all`."""
        statement = self._upsert(table).values(project_id=self.project_id, **values)
        statement = statement.on_conflict_do_update(
            index_elements=list(table.primary_key.columns), set_=merge(statement.excluded)
        )
        row: Row[Any] = (await self._connection.execute(statement.returning(table))).one()
        return row

    async def lock(self, number: int, *, shared: bool) -> None:
        """Hold one of the project's locks until the transaction ends, with others or alone.

        SQLite has one writer at a time, which is as good as any lock.
        """
        if self.is_postgresql:
            take = func.pg_advisory_xact_lock_shared if shared else func.pg_advisory_xact_lock
            await self._connection.execute(select(take(number, func.hashtext(self.project_id))))

    async def lock_alone(self, number: int, *, wait_seconds: float) -> bool:
        """As `lock` alone; says whether it was to be had in this time.

        Whoever asks for the lock meanwhile waits as well: first come, first served.
        """
        if not self.is_postgresql:
            return True
        try:
            # A wait that is given up ends a transaction, or as much of it as a savepoint holds.
            async with self._connection.begin_nested():
                timeout = f"{wait_seconds * 1000:.0f}ms"
                await self._connection.execute(
                    select(func.set_config("lock_timeout", timeout, True))
                )
                await self.lock(number, shared=False)
        except OperationalError as exc:
            if getattr(exc.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
                raise
            return False
        return True

    async def now(self) -> datetime:
        """The moment by the one clock that all processes over this database share, in UTC."""
        if not self.is_postgresql:
            return utc_now()
        moment = (await self._connection.execute(select(func.clock_timestamp()))).scalar_one()
        return cast(datetime, moment).astimezone(UTC)

    async def reserve(self, numbers: NumberSequence, *, count: int) -> list[int]:
        """The next numbers of a sequence, in order; nobody else gets them. PostgreSQL only."""
        rows = func.generate_series(1, count)
        taken = await self._connection.execute(select(numbers.next_value()).select_from(rows))
        return sorted(taken.scalars())

    async def first(self, statement: Executable) -> Row[Any] | None:
        """The first row of a statement made by this scope, or `None`."""
        return (await self._connection.execute(statement)).first()

    async def all(self, statement: Executable) -> Sequence[Row[Any]]:
        """All rows of a statement made by this scope."""
        return (await self._connection.execute(statement)).all()

    async def run(self, statement: Update | Delete) -> int:
        """Run a change made by this scope; says how many rows it changed."""
        return (await self._connection.execute(statement)).rowcount

    def _batches(self, rows: Sequence[Mapping[str, object]]) -> Iterator[list[dict[str, object]]]:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            batch = rows[start : start + _ROWS_AT_ONCE]
            yield [{"project_id": self.project_id, **row} for row in batch]
