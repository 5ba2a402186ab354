"""The thread that writes, and commits waiting changes in one transaction.

SQLite has one writer at a time, on PostgreSQL the numbering of a project's events is serialised,
and each commit waits for the disk. Writers that wait for a commit are therefore written one after
the other in the next transaction, and all of them return after its commit:

    A  begin  …changes…  commit
    B            (waits)          begin  …changes…
    C               (waits)                         …changes…  events of B and C  commit
                                                                                 B and C return

If one of them fails, all are rolled back and made again, each behind a savepoint, so that only the
one that fails is undone. Otherwise there is no savepoint, because each is a round trip to
PostgreSQL. An error of the transaction as a whole is raised to all of them: none had returned.

On PostgreSQL a row may be locked by another transaction. A group waits only a moment for it. Then
this change is rolled back, and made in a transaction of its own, which waits longer.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from app.crash_points import CrashPoint, reached
from app.errors import StoreUnavailableError
from app.models.event import NewEvent
from app.stores.records.database import Work, Written
from app.stores.records.database_errors import (
    database_error,
    is_fault,
    is_lost,
    unavailable,
    unconfirmed,
)
from app.stores.records.database_threads import DatabaseThreads
from app.stores.records.events import EventRecords
from app.stores.records.unit_of_work import UnitOfWork

# Bounds how long a change waits for the commit of others, and for its turn to be made alone.
_MAX_TOGETHER = 32
# How long a group waits for a lock; far below what PostgreSQL takes for a deadlock.
_LOCK_TIMEOUT_MS = 50
# The same once one of the group has waited for so long.
_NO_LOCK_TIMEOUT_MS = 1
# The SQLSTATEs of a lock that was not acquired in time, and of a deadlock.
_CONTENTION = frozenset({"55P03", "40P01"})
_Result = TypeVar("_Result")


class ContendedError(Exception):
    """A change has to be made alone.

    Another transaction has locked a row of it, or the connection was lost before the commit.
    """


class UnconfirmedError(Exception):
    """The outcome of a commit is unknown; the cause is the error of the database."""


@dataclass(eq=False)
class _Change(Generic[_Result]):
    """The work of one caller, and its outcome."""

    work: Work[_Result]
    is_alone: bool
    is_durable: bool
    future: asyncio.Future[tuple[_Result, int | None]]
    written: Written[_Result] | None = None
    last_event: int | None = None
    error: BaseException | None = None

    def complete(self) -> None:
        """Return or raise the outcome to the caller, unless it was cancelled."""
        if self.future.done():
            return
        if self.error is not None or self.written is None:
            self.future.set_exception(self.error or StoreUnavailableError("database"))
        else:
            self.future.set_result((self.written.result, self.last_event))


class GroupCommits:
    """Writes over one connection, for one event loop, in the order of the calls.

    Args:
        engine: Opens the connection.
        timeout_seconds: How long a change waits for its turn.
    """

    def __init__(self, engine: Engine, timeout_seconds: float) -> None:
        self.engine = engine
        self._timeout_seconds = timeout_seconds
        self._waiting: deque[_Change[Any]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._thread = DatabaseThreads(1, timeout_seconds)
        self._is_closed = False
        # True if something failed in the last group, as it then may in the next one.
        self._uses_savepoints = False

    @property
    def waiting(self) -> int:
        """The number of changes that wait for their transaction to begin."""
        return len(self._waiting)

    async def run(
        self, work: Work[_Result], *, is_alone: bool = False, is_durable: bool = True
    ) -> tuple[_Result, int | None]:
        """Run a function in a transaction, as `Database.write` does.

        Even if the function raises, this returns after the transaction, so all that the function
        has read is committed.

        Raises:
            ContendedError: It has to be made alone; nothing was changed.
            StoreUnavailableError: It had no turn in time, or the transaction failed.
        """
        if self._is_closed:
            raise StoreUnavailableError("database")
        loop = asyncio.get_running_loop()
        change = _Change(work, is_alone, is_durable, loop.create_future())
        self._waiting.append(change)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._commit_groups())
        timer = loop.call_later(self._timeout_seconds, self._give_up, change)
        try:
            return await change.future
        finally:
            timer.cancel()
            self._give_up(change)

    def _give_up(self, change: _Change[Any]) -> None:
        """Refuse a change that is still waiting."""
        if change in self._waiting:
            self._waiting.remove(change)
            change.error = unavailable("busy")
            change.complete()

    async def close(self) -> None:
        """Refuse waiting changes, and close the connection after the running transaction."""
        self._is_closed = True
        while self._waiting:
            self._waiting.popleft().complete()
        await self._thread.close()
        self.engine.dispose()

    async def _commit_groups(self) -> None:
        while self._waiting:
            changes = self._next_group()
            try:
                committed = self._thread.start(partial(self._commit_group, changes))
            except BaseException:
                _complete_all(changes)
                raise
            # A callback completes them even if this task is cancelled when the process ends.
            committed.add_done_callback(partial(_complete_all, changes))
            await asyncio.shield(committed)

    def _next_group(self) -> list[_Change[Any]]:
        changes = [self._waiting.popleft()]
        while (
            self._waiting
            and len(changes) < _MAX_TOGETHER
            and not (changes[0].is_alone or self._waiting[0].is_alone)
        ):
            changes.append(self._waiting.popleft())
        return changes

    def _commit_group(self, changes: Sequence[_Change[Any]]) -> None:
        """Make changes in one transaction, and commit it. Sets the errors of those that fail."""
        try:
            with self.engine.connect() as connection:
                try:
                    self._make_all(changes, connection)
                    made = [change for change in changes if change.error is None]
                    self._write_events(made, connection)
                    reached(CrashPoint.SHARED_ROWS_WRITTEN)
                    commit(connection)
                except BaseException:
                    # Its state is unknown.
                    connection.invalidate()
                    raise
            reached(CrashPoint.SHARED_COMMITTED)
        except BaseException as exc:  # noqa: BLE001 - every caller raises it
            for change in changes:
                # Changes that failed before may have failed because of others that are now lost.
                # Callers add to their error, so each gets one of its own.
                if not isinstance(change.error, ContendedError):
                    change.error = _translate(exc)

    def _make_all(self, changes: Sequence[_Change[Any]], connection: Connection) -> None:
        """Make changes in a transaction, and undo those that fail."""
        is_durable = any(change.is_durable for change in changes)
        begin_group = partial(begin, connection, is_durable=is_durable)
        pending, timeout_ms = list(changes), _LOCK_TIMEOUT_MS
        if not self._uses_savepoints:
            begin_group(lock_timeout_ms=timeout_ms)
            failed = _make_together(pending, connection)
            if failed is None:
                return
            connection.rollback()
            is_contended = isinstance(failed.error, ContendedError)
            timeout_ms = _NO_LOCK_TIMEOUT_MS if is_contended else timeout_ms
            if is_contended or failed is pending[0]:
                # It has not failed because of others.
                pending.remove(failed)
            else:
                failed.error = None
        if pending:
            begin_group(lock_timeout_ms=timeout_ms)
        for change in pending:
            _make_behind_savepoint(change, connection)
            if isinstance(change.error, ContendedError):
                _set_lock_timeout(connection, _NO_LOCK_TIMEOUT_MS)
        if len(changes) > 1:
            self._uses_savepoints = any(change.error is not None for change in pending)

    def _write_events(self, changes: Iterable[_Change[Any]], connection: Connection) -> None:
        """Write the events of changes, project by project."""
        by_project: dict[str, list[_Change[Any]]] = {}
        for change in changes:
            if change.written is not None and change.written.events:
                by_project.setdefault(change.written.project_id, []).append(change)
        timeout_ms = int(self._timeout_seconds * 1_000)
        # Last, because the number of an event locks out other writers until the commit; and in one
        # order, so that there are no deadlocks.
        for project_id, in_project in sorted(by_project.items()):
            events = [event for item in in_project if item.written for event in item.written.events]
            last_event = write_events(connection, project_id, events, timeout_ms)
            for change in in_project:
                change.last_event = last_event


def _make_together(changes: Sequence[_Change[Any]], connection: Connection) -> _Change[Any] | None:
    """Make changes, up to one that fails; return that one."""
    for change in changes:
        try:
            change.written = change.work(connection)
        except BaseException as exc:  # noqa: BLE001 - the caller raises it
            change.error = _translate(exc)
            return change
    return None


def _make_behind_savepoint(change: _Change[Any], connection: Connection) -> None:
    """Make a change; if it fails, undo it and set its error.

    Raises:
        SQLAlchemyError: The database has ended the transaction, and with it all other changes.
    """
    savepoint = connection.begin_nested()
    try:
        change.written = change.work(connection)
    except BaseException as exc:  # noqa: BLE001 - the caller raises it
        change.error = _translate(exc)
        try:
            savepoint.rollback()
        except SQLAlchemyError as lost:
            raise (exc if is_fault(exc) else lost) from lost
    else:
        savepoint.commit()


def write_events(
    connection: Connection, project_id: str, events: Iterable[NewEvent], lock_timeout_ms: int
) -> int | None:
    """Write events as the last statements before a commit; see `EventRecords.flush`."""
    unit = UnitOfWork(connection, project_id, {})
    unit.new_events.extend(events)
    last_event = unit[EventRecords].flush(lock_timeout_ms=lock_timeout_ms)
    reached(CrashPoint.ROWS_WRITTEN)
    return last_event


def begin(
    connection: Connection, *, is_durable: bool = True, lock_timeout_ms: int | None = None
) -> None:
    """Begin a transaction.

    Args:
        connection: The connection.
        is_durable: Its commit is synced to the disk.
        lock_timeout_ms: How long it waits for a lock. SQLite has one, which is acquired here.
    """
    connection.begin()
    if connection.dialect.name == "postgresql":
        # Whatever the server's default is: after waiting for a lock, a transaction has to see what
        # was committed meanwhile. All in one round trip.
        statements = ["BEGIN ISOLATION LEVEL READ COMMITTED"]
        if lock_timeout_ms is not None:
            statements.append(f"SET LOCAL lock_timeout = {lock_timeout_ms}")
        if not is_durable:
            statements.append("SET LOCAL synchronous_commit = off")
        connection.exec_driver_sql("; ".join(statements))
        return
    if connection.info.get("is_durable", True) != is_durable:
        connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if is_durable else 'NORMAL'}")
        connection.info["is_durable"] = is_durable
    # A read lock that becomes a write lock later would fail, instead of waiting, if another process
    # has written in between.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _set_lock_timeout(connection: Connection, timeout_ms: int) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {timeout_ms}")


def commit(connection: Connection) -> None:
    """Commit a transaction.

    Raises:
        UnconfirmedError: It may be committed or not.
        RuntimeError: A statement has failed, and its error was ignored.
    """
    driver: Any = connection.connection.dbapi_connection
    if connection.dialect.name == "postgresql" and driver.info.transaction_status.name == "INERROR":
        # The server would answer the commit with a rollback, and no error.
        raise RuntimeError("a statement had failed, and the transaction with it")
    try:
        connection.commit()
    except SQLAlchemyError as exc:
        connection.invalidate()
        raise UnconfirmedError from exc


def _translate(error: BaseException) -> BaseException:
    """Return the error that a caller gets: for a fault of the database, one of ours."""
    is_locked = getattr(getattr(error, "orig", None), "sqlstate", None) in _CONTENTION
    if is_locked or is_lost(error):
        return ContendedError(error)
    if isinstance(error, UnconfirmedError):
        return unconfirmed(database_error(error.__cause__ or error))
    if isinstance(error, StopIteration | asyncio.CancelledError):
        # A future does not raise these as they are.
        return RuntimeError(repr(error))
    return database_error(error) if is_fault(error) else error


def _complete_all(changes: Iterable[_Change[Any]], _: object = None) -> None:
    for change in changes:
        change.complete()
