"""The thread that writes: it makes all waiting changes, and commits them in one transaction.

Each commit waits for the disk. SQLite has one writer at a time, and on PostgreSQL the numbering of
a project's events is serialised. So changes that wait for a commit are made one after the other in
the next transaction, and all their calls return after its commit:

    A  begin  …changes…  commit
    B            (waits)          begin  …changes…
    C               (waits)                         …changes…  events of B and C  commit
                                                                                 B and C return

If a change fails, all changes are rolled back and made again, each behind a savepoint, so that only
the failing change is undone. Normally there are no savepoints, because each is a round trip to
PostgreSQL. An error of the whole transaction is raised to all callers.

On PostgreSQL another transaction may have locked a row. A group waits 50 ms for the lock. Then the
change is rolled back, and made in a separate transaction, which waits longer.
"""

from collections.abc import Sequence
from contextlib import suppress
from queue import Empty
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from app.crash_points import CrashPoint, reach_crash_point
from app.errors import StoreUnavailableError
from app.stores.records.database import Work, WriteResult
from app.stores.records.database_errors import (
    database_error,
    is_connection_lost,
    is_database_failure,
    run_and_reconnect,
    translate_errors,
    unconfirmed_error,
)
from app.stores.records.database_threads import DatabaseThreads, Job
from app.stores.records.events import EventRecords
from app.stores.records.unit_of_work import UnitOfWork

# More changes in a transaction would make each of them wait longer.
_MAX_CHANGES = 32
# The time that a group waits for a lock; far below PostgreSQL's `deadlock_timeout`.
_LOCK_TIMEOUT_MS = 50
# The time behind savepoints, where several changes may wait for locks one after the other.
_SHORT_LOCK_TIMEOUT_MS = 1
# The SQLSTATEs of a lock that was not acquired in time, and of a deadlock.
CONTENTION = frozenset({"55P03", "40P01"})
_Result = TypeVar("_Result")


class ContendedError(Exception):
    """A change has to be made in a separate transaction.

    Another transaction has locked one of its rows, or the connection was lost before the commit.
    """


class UnconfirmedError(Exception):
    """The outcome of a commit is unknown; the cause is the error of the database."""


class Change(Job[tuple[_Result, int | None]]):
    """The function of one caller. Its outcome is the result, and the number of its last event."""

    def __init__(
        self, work: Work[_Result], *, is_alone: bool = False, is_durable: bool = True
    ) -> None:
        super().__init__(work)
        self.is_alone = is_alone
        self.is_durable = is_durable
        self.written: WriteResult[_Result] | None = None
        self.last_event: int | None = None
        self.error: BaseException | None = None

    def make(self, connection: Connection) -> BaseException | None:
        """Run the function; return its error. `outcome` raises the translated error."""
        self.error = None
        try:
            self.written = self._work(connection)
        except BaseException as exc:  # noqa: BLE001 - the caller raises it
            self.error = _translate(exc)
            return exc
        return None

    def outcome(self) -> tuple[_Result, int | None]:
        """Return or raise the outcome of the transaction, which has ended."""
        if self.error is not None or self.written is None:
            raise self.error or StoreUnavailableError("database")
        return self.written.result, self.last_event


class GroupCommits(DatabaseThreads):
    """A thread that writes over one connection, in the order of the calls.

    Args:
        engine: Opens the connection.
        timeout_seconds: How long a change waits until the thread begins it.
    """

    def __init__(self, engine: Engine, timeout_seconds: float) -> None:
        super().__init__(1, timeout_seconds)
        self.engine = engine
        # A change that was taken from the queue, but has to be in the next transaction.
        self._next: Change[Any] | None = None
        # True if a change of the last group has failed, because failures often follow each other.
        self._uses_savepoints = False

    async def write(
        self, work: Work[_Result], *, is_alone: bool = False, is_durable: bool = True
    ) -> tuple[_Result, int | None]:
        """Run a function in a transaction, as `Database.write` does.

        Even if the function raises, this returns after the transaction has ended, so everything
        that the function has read is committed.

        Raises:
            ContendedError: The change has to be made alone; nothing was changed.
            StoreUnavailableError: The thread was busy for too long, or the transaction failed.
        """
        return await self._submit(Change(work, is_alone=is_alone, is_durable=is_durable))

    async def close(self) -> None:
        """Refuse waiting changes, and close the connection after the running transaction."""
        await super().close()
        self.engine.dispose()

    def _take_jobs(self) -> Sequence[Change[Any]]:
        """Wait for changes, and return those of the next transaction."""
        first, self._next = self._next or self._queue.get(), None
        changes = [] if first is None else [first]
        with suppress(Empty):
            while changes and len(changes) < _MAX_CHANGES and not first.is_alone:
                change = self._queue.get_nowait()
                if change is None:
                    self._queue.put(None)
                    break
                if change.is_alone:
                    self._next = change
                    break
                changes.append(change)
        return changes

    def _run_jobs(self, jobs: Sequence[Change[Any]]) -> None:
        try:
            self._commit(jobs)
        except Exception as exc:  # noqa: BLE001 - every caller raises it, and the thread goes on
            for change in jobs:
                change.error = exc
        super()._run_jobs(jobs)

    def _commit(self, changes: Sequence[Change[Any]]) -> None:
        """Make changes in one transaction, and again behind savepoints if one of them fails."""
        pending, events_timeout_ms = list(changes), int(self._timeout_seconds * 1_000)
        # A single change needs no savepoint.
        if len(changes) == 1 or not self._uses_savepoints:
            failed = commit_changes(self.engine, changes, _LOCK_TIMEOUT_MS, events_timeout_ms)
            if failed is None:
                pending = []
            elif failed is pending[0] or isinstance(failed.error, ContendedError):
                # This change would fail without the other changes as well.
                pending.remove(failed)
        if pending:
            commit_changes(
                self.engine,
                pending,
                _SHORT_LOCK_TIMEOUT_MS,
                events_timeout_ms,
                has_savepoints=True,
            )
            self._uses_savepoints = any(change.error is not None for change in pending)


def commit_alone(
    engine: Engine, work: Work[_Result], timeout_ms: int, *, is_durable: bool
) -> tuple[_Result, int | None]:
    """Make a change in a separate transaction, which waits for locks.

    Raises:
        StoreUnavailableError: A lock was not acquired in time, or the transaction failed.
    """
    change = Change(work, is_durable=is_durable)

    def commit_change() -> tuple[_Result, int | None]:
        commit_changes(engine, [change], timeout_ms, timeout_ms)
        if isinstance(change.error, ContendedError):
            # The error of the database, which is translated below.
            raise change.error.args[0]
        return change.outcome()

    with translate_errors():
        return run_and_reconnect(commit_change)


def commit_changes(
    engine: Engine,
    changes: Sequence[Change[Any]],
    lock_timeout_ms: int,
    events_timeout_ms: int,
    *,
    has_savepoints: bool = False,
) -> Change[Any] | None:
    """Make changes in one transaction, and commit it; each change then has its outcome.

    If a change fails without savepoints, nothing is committed, and the failed change is returned.
    If the transaction fails, all changes have its error.

    Args:
        engine: Opens the connection.
        changes: The changes, in the order in which they are made.
        lock_timeout_ms: The maximum wait of a change for a lock.
        events_timeout_ms: The maximum wait for the lock that numbers the events of a project.
        has_savepoints: True to undo only the changes that fail, and to commit the others.
    """
    try:
        with engine.connect() as connection:
            try:
                is_durable = any(change.is_durable for change in changes)
                begin(connection, is_durable=is_durable, lock_timeout_ms=lock_timeout_ms)
                for change in changes:
                    if has_savepoints:
                        _make_in_savepoint(change, connection)
                    elif change.make(connection) is not None:
                        return change
                _write_events(changes, connection, events_timeout_ms)
                reach_crash_point(CrashPoint.SHARED_ROWS_WRITTEN)
                commit(connection)
            except BaseException:
                # The state of the connection is unknown.
                connection.invalidate()
                raise
        reach_crash_point(CrashPoint.SHARED_COMMITTED)
    except BaseException as exc:  # noqa: BLE001 - every caller raises it
        for change in changes:
            # The error of a change may be a consequence of other changes that are now rolled back,
            # so it is replaced. Callers add notes to their error, so each gets a separate object.
            if not isinstance(change.error, ContendedError):
                change.error = _translate(exc)
    return None


def _make_in_savepoint(change: Change[Any], connection: Connection) -> None:
    """Make a change; if it fails, undo it.

    Raises:
        SQLAlchemyError: The database has ended the transaction, and with it all other changes.
    """
    savepoint = connection.begin_nested()
    error = change.make(connection)
    if error is None:
        savepoint.commit()
        return
    try:
        savepoint.rollback()
    except SQLAlchemyError as rollback_error:
        raise (error if is_database_failure(error) else rollback_error) from rollback_error


def _write_events(
    changes: Sequence[Change[Any]], connection: Connection, lock_timeout_ms: int
) -> None:
    """Write the events of changes, project by project, as the last statements before the commit.

    They are last, because numbering the events of a project blocks other writers of the project
    until the commit. All transactions lock projects in one order, so there are no deadlocks.
    """
    by_project: dict[str, list[Change[Any]]] = {}
    for change in changes:
        if change.error is None and change.written is not None and change.written.events:
            by_project.setdefault(change.written.project_id, []).append(change)
    for project_id, project_changes in sorted(by_project.items()):
        unit = UnitOfWork(connection, project_id, {})
        unit.new_events.extend(
            event for change in project_changes if change.written for event in change.written.events
        )
        last_event = unit[EventRecords].flush(lock_timeout_ms=lock_timeout_ms)
        for change in project_changes:
            change.last_event = last_event
        reach_crash_point(CrashPoint.ROWS_WRITTEN)


def begin(
    connection: Connection, *, is_durable: bool = True, lock_timeout_ms: int | None = None
) -> None:
    """Begin a transaction.

    Args:
        connection: The connection.
        is_durable: True if its commit is synced to the disk.
        lock_timeout_ms: The maximum wait for each lock on PostgreSQL. SQLite has one lock, which is
            acquired here.
    """
    connection.begin()
    if connection.dialect.name == "postgresql":
        # The default level of the server may be higher. With READ COMMITTED, a transaction that has
        # waited for a lock sees what was committed meanwhile. All statements are one round trip.
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
    # A transaction that begins with a read lock does not wait when it writes: if another process
    # has written since, it fails.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def commit(connection: Connection) -> None:
    """Commit a transaction.

    Raises:
        UnconfirmedError: The transaction may be committed or not.
        RuntimeError: A statement has failed, and its error was ignored.
    """
    driver: Any = connection.connection.dbapi_connection
    if connection.dialect.name == "postgresql" and driver.info.transaction_status.name == "INERROR":
        # The server would roll back instead, without an error.
        raise RuntimeError("a statement had failed, and the transaction with it")
    try:
        connection.commit()
    except SQLAlchemyError as exc:
        connection.invalidate()
        raise UnconfirmedError from exc


def _translate(error: BaseException) -> BaseException:
    """Return the error for the caller; failures of the database are translated."""
    is_locked = getattr(getattr(error, "orig", None), "sqlstate", None) in CONTENTION
    if is_locked or is_connection_lost(error):
        return ContendedError(error)
    if isinstance(error, UnconfirmedError):
        return unconfirmed_error(database_error(error.__cause__ or error))
    return database_error(error) if is_database_failure(error) else error
