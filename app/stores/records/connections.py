"""Connections for statements: of a pool, the one that writes, and that of the event loop.

All but the last are for a thread: they wait for the database, and for nothing else.
"""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from select import POLLIN, poll
from typing import Any, ClassVar, NoReturn, cast

import structlog
from sqlalchemy import Connection, CursorResult, Executable, Row
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from app.stores.records.prepared_statements import Lookup, Values, prepared

_log = structlog.get_logger(__name__)


class DriverConnection:
    """A connection whose kept statements are run by the driver itself.

    SQLAlchemy takes longer for a statement than the database does. Its own ones and those of the
    driver are in the same transaction, and fail with the same errors.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # The two drivers have what is used of them in common.
        self._driver: Any = connection.connection.driver_connection
        self._errors: type[Exception] = connection.dialect.loaded_dbapi.Error
        self.is_postgresql = connection.dialect.name == "postgresql"

    def execute(self, statement: Executable) -> CursorResult[Any]:
        """See `StatementConnection.execute`."""
        return self._connection.execute(statement)

    def rows(self, statement: Executable, values: Mapping[str, object]) -> Sequence[Row[Any]]:
        """See `StatementConnection.rows`."""
        ready = prepared(statement, tuple(values), is_postgresql=self.is_postgresql)
        try:
            cursor = self._driver.execute(ready.text, ready.parameters(values))
            # Read to the end: a statement with rows left keeps its savepoint open.
            found = cursor.fetchall() if cursor.description else ()
        except self._errors as exc:
            raise self._wrap_error(exc) from exc
        return [ready.row(each) for each in found]

    def run_many(self, statement: Executable, rows: Sequence[Mapping[str, object]]) -> None:
        """See `StatementConnection.run_many`."""
        ready = prepared(statement, tuple(rows[0]), is_postgresql=self.is_postgresql)
        values = [ready.parameters(each) for each in rows]
        try:
            if len(values) == 1:
                # Of many, PostgreSQL's driver makes a pipeline, which costs more than one does.
                self._driver.execute(ready.text, values[0])
            else:
                self._driver.cursor().executemany(ready.text, values)
        except self._errors as exc:
            raise self._wrap_error(exc) from exc

    def look_up(self, lookup: Lookup, values: Values, *, is_short: bool) -> Sequence[Row[Any]]:
        """See `StatementConnection.look_up`."""
        del is_short  # Here everything may take its time.
        return self.rows(lookup.statement, values)

    def begin_nested(self) -> AbstractContextManager[object]:
        """See `StatementConnection.begin_nested`."""
        return self._connection.begin_nested()

    def _wrap_error(self, error: Exception) -> DBAPIError:
        """Return a driver's error as SQLAlchemy has it, without values: it ends up in a log."""
        wrapped = DBAPIError.instance(
            None, None, error, self._errors, dialect=self._connection.dialect
        )
        return cast(DBAPIError, wrapped)


class WritingConnection(DriverConnection):
    """The connection of a thread that writes: its transactions are begun and ended by statements.

    Args:
        connection: Its mode is AUTOCOMMIT.
    """

    _sync_commits = "PRAGMA synchronous=FULL"
    _do_not_sync_commits = "PRAGMA synchronous=NORMAL"
    # What the connection was told last; it is opened with what syncs every commit.
    _is_durable = True
    # What the driver is told of a statement that begins, divides or ends a transaction.
    _options: ClassVar[Mapping[str, bool]] = {}

    def set_durable(self, *, is_durable: bool) -> None:
        """Sync the commits from here on, or leave them to the next one that is synced.

        Called outside of transactions.
        """
        if is_durable != self._is_durable:
            self.run(self._sync_commits if is_durable else self._do_not_sync_commits)
            self._is_durable = is_durable

    def begin(self, *, patience_ms: int) -> None:
        """Begin a transaction, in which nobody who holds a lock is waited for longer than this.

        SQLite has one lock, which is taken at once: a read that turned into a write later would
        fail. It is waited for as long as the connection was told to.
        """
        del patience_ms
        self.run("BEGIN IMMEDIATE")

    def run(self, text: str) -> None:
        """Run a statement that begins, divides or ends a transaction."""
        try:
            self._driver.execute(text, **self._options)
        except self._errors as exc:
            raise self._wrap_error(exc) from exc

    def set_patience(self, patience_ms: int) -> None:
        """Set how long to wait, from here on, for whoever holds a lock."""

    def commit(self) -> None:
        """End the transaction; what was written is on the disk."""
        self.run("COMMIT")
        if self._connection.in_transaction():
            # What SQLAlchemy takes for one is over; the driver has none to roll back.
            self._connection.rollback()

    @property
    def is_in_transaction(self) -> bool:
        """True while the transaction is open; some errors of the database end it."""
        return bool(self._driver.in_transaction)

    def is_there(self) -> bool:
        """Return whether the database has not ended the connection; asked outside transactions."""
        return True

    def close(self) -> None:
        """Close it; what was not committed is rolled back. Does not fail."""
        try:
            self._connection.invalidate()
            self._driver.close()
        except (SQLAlchemyError, self._errors) as exc:
            _log.warning("connection not closed", error=type(exc).__name__)


class PostgresWritingConnection(WritingConnection):
    """The same to PostgreSQL, where locks are those of rows, and of other processes."""

    # Whatever the server's default is, which may be to wait for a replica as well.
    _sync_commits = "RESET synchronous_commit"
    _do_not_sync_commits = "SET synchronous_commit = off"
    _options: ClassVar[Mapping[str, bool]] = {"prepare": False}

    def begin(self, *, patience_ms: int) -> None:
        """See `WritingConnection.begin`."""
        # In one message. Whatever the server's default is: who has waited for a lock has to see
        # what was written while it waited.
        self.run(f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {patience_ms}")

    def set_patience(self, patience_ms: int) -> None:
        """See `WritingConnection.set_patience`."""
        self.run(f"SET LOCAL lock_timeout = {patience_ms}")

    def commit(self) -> None:
        """See `WritingConnection.commit`."""
        if self._status == "INERROR":
            # The server would answer that it has ended it, by a rollback.
            msg = "a statement had failed, and the transaction with it"
            raise RuntimeError(msg)
        super().commit()

    @property
    def is_in_transaction(self) -> bool:
        """See `WritingConnection.is_in_transaction`."""
        return self._status in {"ACTIVE", "INTRANS", "INERROR"}

    @property
    def _status(self) -> str:
        return str(self._driver.info.transaction_status.name)

    def is_there(self) -> bool:
        """See `WritingConnection.is_there`."""
        return is_there(self._driver)


def is_there(driver: Any) -> bool:  # noqa: ANN401 - a connection of PostgreSQL's driver
    """Return whether the server has not ended a connection awaiting no answer; asks nobody."""
    if driver.closed:
        return False
    # What the server has sent meanwhile, such as its farewell, has arrived, but was not read.
    socket = poll()
    socket.register(driver.fileno(), POLLIN)
    return not socket.poll(0)


class NotAtOnceError(Exception):
    """The event loop cannot be told this without being kept."""


class LoopConnection:
    """A connection of the event loop's own to a SQLite file; opened by the first lookup.

    For lookups alone: everything else is a NotAtOnceError. Nothing there
    may wait: it only reads, does not wait for a lock, and leaves a value of more than 64 KiB where
    it is. Whatever it cannot tell at once is asked of the pool, as everything is on PostgreSQL.

    All that is looked up in one turn of the loop is read in one transaction, for asking for the
    file's lock takes as long as finding a row. It is over with the next turn, before anything that
    was received or committed meanwhile is worked on: who asks sees all that was acknowledged
    before.

    Args:
        path: The file, which is there.
    """

    is_postgresql = False

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._is_reading = False

    def look_up(self, lookup: Lookup, values: Values, *, is_short: bool) -> Sequence[Row[Any]]:
        """See `StatementConnection.look_up`."""
        if not is_short:
            raise NotAtOnceError
        try:
            connection = self._connection or self._open()
            if not self._is_reading:
                connection.execute("BEGIN")
                self._is_reading = True
                # First in, first out: it runs before whatever is scheduled from now on.
                asyncio.get_running_loop().call_soon(self._end)
            rows = lookup.read(connection, values)
        except sqlite3.OperationalError as exc:
            # A lock, or a fault. The pool waits for the one, and says what the other is.
            raise NotAtOnceError from exc
        if rows is None:
            raise NotAtOnceError
        return rows

    def close(self) -> None:
        """Close it; another lookup would open it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._is_reading = False

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:  # noqa: ANN401 - whatever is given
        raise NotAtOnceError

    # See `StatementConnection`.
    execute = rows = run_many = begin_nested = _refuse

    def _end(self) -> None:
        self._is_reading = False
        if self._connection is not None:
            self._connection.rollback()

    def _open(self) -> sqlite3.Connection:
        self._connection = sqlite3.connect(
            self._path, timeout=0, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA query_only=ON")
        return self._connection
