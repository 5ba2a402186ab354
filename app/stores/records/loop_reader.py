"""Lookups in the event loop: the connection to a SQLite file that is used without a thread.

SQLite finds a row by its key in a few microseconds. Running the function in a thread takes longer.
"""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from app.stores.records.statements import WouldBlockError

_Result = TypeVar("_Result")


class LoopReader:
    """Runs functions in the event loop, if all their statements are lookups (see `Lookup`).

    Lookups do not block: they only read, do not wait for locks, and skip large values. Any other
    statement raises WouldBlockError, and the caller runs the function again in a thread.

    Args:
        engine: Opens a connection that does not wait for locks. This object disposes of it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None

    def read(self, work: Callable[[Connection], _Result]) -> _Result:
        """Run a function; each statement sees what is committed when it runs.

        Raises:
            WouldBlockError: The function has to be run in a thread. This is also raised for an
                error of the database: in the thread, the error occurs again and is translated.
        """
        try:
            if self._connection is None:
                connection = self._engine.connect()
                self._connection = connection.execution_options(is_event_loop=True)
            return work(self._connection)
        except OperationalError as exc:
            raise WouldBlockError from exc

    def close(self) -> None:
        """Close the connection. The next read opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._engine.dispose()
