"""The change counter of a SQLite file: how one process sees that another has written."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
from sqlalchemy import Connection

from app.stores.records.database_errors import translated_errors
from app.stores.records.engine import Engines


class ChangeCounter:
    """Counts what other connections have committed, those of this process among them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def count(self) -> int:
        """A number that changes whenever the file does."""
        with translated_errors():
            return await anyio.to_thread.run_sync(self._count)

    def _count(self) -> int:
        count: int = self._connection.exec_driver_sql("PRAGMA data_version").scalar_one()
        return count


@asynccontextmanager
async def open_change_counter(engines: Engines) -> AsyncIterator[ChangeCounter]:
    """A counter with a connection of its own, for the count is one of the connection."""
    # None of the pool, which would be one short from then on.
    engine = engines.writer.execution_options(isolation_level="AUTOCOMMIT")
    with translated_errors():
        connection = await anyio.to_thread.run_sync(engine.connect)
    try:
        yield ChangeCounter(connection)
    finally:
        connection.close()
