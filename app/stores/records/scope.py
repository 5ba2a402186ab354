"""The one place where statements get their project.

Repositories build every statement from a `ProjectScope`, never from a table, so that a query over
another project's rows cannot be written by forgetting something; a test holds the repositories to
it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Delete, Executable, Row, Select, Table, Update, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

# Far below what either database takes as parameters of one statement.
_ROWS_AT_ONCE = 500


class ProjectScope:
    """Statements over the rows of one project, on one connection."""

    def __init__(self, connection: AsyncConnection, project_id: str) -> None:
        self._connection = connection
        self.project_id = project_id
        # The two dialects spell ON CONFLICT alike, each in a class of its own.
        self._upsert = (
            postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        )

    def select(self, table: Table) -> Select[Any]:
        """All columns of the project's rows of a table."""
        return select(table).where(table.c.project_id == self.project_id)

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
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            batch = [
                {"project_id": self.project_id, **row}
                for row in rows[start : start + _ROWS_AT_ONCE]
            ]
            statement = self._upsert(table).values(batch)
            if touch:
                statement = statement.on_conflict_do_update(
                    index_elements=list(table.primary_key.columns),
                    set_={name: statement.excluded[name] for name in touch},
                )
            else:
                statement = statement.on_conflict_do_nothing()
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

    async def first(self, statement: Executable) -> Row[Any] | None:
        """The first row of a statement made by this scope, or `None`."""
        return (await self._connection.execute(statement)).first()

    async def all(self, statement: Executable) -> Sequence[Row[Any]]:
        """All rows of a statement made by this scope."""
        return (await self._connection.execute(statement)).all()

    async def run(self, statement: Update | Delete) -> int:
        """Run a change made by this scope; says how many rows it changed."""
        return (await self._connection.execute(statement)).rowcount
