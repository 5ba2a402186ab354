"""The change counter of a SQLite file: how one process sees that another has written."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncConnection

from app.stores.records.database_errors import translated_errors
from app.stores.records.engine import Engines


class ChangeCounter:
    """Counts what other connections have committed, those of this process among them."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def count(self) -> int:
        """A number that changes whenever the file does."""
        with translated_errors():
            found = await self._connection.exec_driver_sql("PRAGMA data_version")
            count: int = found.scalar_one()
        return count


@asynccontextmanager
async def open_change_counter(engines: Engines) -> AsyncIterator[ChangeCounter]:
    """A counter with a connection of its own, for the count is one of the connection."""
    with translated_errors():
        connection = await engines.reader.connect()
    try:
        yield ChangeCounter(connection)
    finally:
        await connection.close()
