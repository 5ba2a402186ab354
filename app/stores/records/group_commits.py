"""The thread that writes, and commits what waits in one visit to the disk.

SQLite has one writer at a time, on PostgreSQL those who number events of a project take turns, and
each commit waits for the disk. Whoever wants to write while another one commits has to wait anyway;
those who wait are then written one after the other in one transaction, and are told together that
it is committed:

    A  begin  …changes…  commit
    B            (waits)          begin  …changes…
    C               (waits)                         …changes…  events of B and C  commit
                                                                                 B and C return

Where one of them gives up, all is rolled back and made again, each behind a savepoint of its own,
so that it leaves the others as they are. Otherwise there is no savepoint: on PostgreSQL each is an
answer to be waited for. What fails for the transaction as a whole fails for all of them: nobody was
told of anything before.

On PostgreSQL a row may be held by another transaction. Nobody in a group waits for it: after a
moment that one change is rolled back, and made in a transaction of its own, where it may wait.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, cast

from sqlalchemy.exc import OperationalError

from app.crash_points import CrashPoint, reached
from app.errors import StoreUnavailableError
from app.models.event import NewEvent
from app.stores.records.connections import WritingConnection
from app.stores.records.database import StatementConnection, Work, Written
from app.stores.records.database_errors import (
    database_error,
    is_fault,
    unavailable,
    unconfirmed,
)
from app.stores.records.database_threads import WorkerThreads
from app.stores.records.events import EventRecords
from app.stores.records.unit_of_work import UnitOfWork

# So that nobody waits for long, and who wants a transaction alone comes to it.
_MOST_TOGETHER = 32
# How long a group waits for somebody else's lock; far below what PostgreSQL takes for a deadlock.
_PATIENCE_MS = 50
# The same once one of the group has waited for so long.
_NO_PATIENCE_MS = 1
# Locks that were not to be had in time, and deadlocks.
_CONTENTION = frozenset({"55P03", "40P01"})
_Result = TypeVar("_Result")


class ContendedError(Exception):
    """Somebody else has what a change needs: it is to be made in a transaction of its own."""


class _LostError(Exception):
    """The transaction is gone, with what all of a group wrote in it."""


class _UnconfirmedError(Exception):
    """Nobody knows what has become of a commit."""


@dataclass(eq=False)
class _Change(Generic[_Result]):
    """The changes of one caller, and what became of them."""

    work: Work[_Result]
    is_alone: bool
    is_durable: bool
    over: asyncio.Future[None]
    written: Written[_Result] | None = None
    last_event: int | None = None
    error: BaseException | None = None
    is_committed: bool = False

    def outcome(self) -> tuple[_Result, int | None]:
        """Return what the work returned, and the project's newest event, if it noted any."""
        if self.error is not None:
            raise self.error
        if not self.is_committed:
            raise StoreUnavailableError("database")
        return cast(Written[_Result], self.written).result, self.last_event


class GroupCommits:
    """Writes over one connection, for one event loop: first come, first served.

    Args:
        connect: Opens the connection; called in the thread that writes.
        timeout_seconds: How long a turn is waited for.
    """

    def __init__(self, connect: Callable[[], WritingConnection], timeout_seconds: float) -> None:
        self._connect = connect
        self._timeout_seconds = timeout_seconds
        self._waiting: deque[_Change[Any]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._thread = WorkerThreads(1, "writes")
        self._connection: WritingConnection | None = None
        self._is_closed = False
        # Whether something failed in the last group, as it then may in the next one.
        self._is_careful = False

    async def run(
        self, work: Work[_Result], *, is_alone: bool = False, is_durable: bool = True
    ) -> tuple[_Result, int | None]:
        """Do some work in a transaction; it is committed when this returns.

        If it raises, what it has written is rolled back. Either way this ends with the
        transaction, so that what was read in it is there as well. If the caller is cancelled, what
        has begun is written all the same.

        Args:
            work: What to do.
            is_alone: It takes so long that nobody else's changes are to wait for its commit.
            is_durable: It survives a power loss when this returns; else it does from the next
                commit on that is to.

        Returns:
            What the work returned, and the number of the project's newest event, if it noted any.

        Raises:
            ContendedError: Somebody else has what it needs; nothing was changed.
            StoreUnavailableError: The turn did not come, or the transaction was lost.
        """
        if self._is_closed:
            raise StoreUnavailableError("database")
        loop = asyncio.get_running_loop()
        change = _Change(work, is_alone, is_durable, loop.create_future())
        self._waiting.append(change)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._write())
        patience = loop.call_later(self._timeout_seconds, self._give_up, change)
        try:
            await change.over
        finally:
            patience.cancel()
            self._give_up(change)
        return change.outcome()

    def _give_up(self, change: _Change[Any]) -> None:
        """Refuse a change whose turn has not come."""
        if change in self._waiting:
            self._waiting.remove(change)
            _tell([change], unavailable("busy"))

    async def close(self) -> None:
        """Close the connection, behind what is being written, unless that takes too long.

        What still waits then is refused.
        """
        if self._is_closed:
            return
        self._is_closed = True
        _tell(self._waiting, StoreUnavailableError("database"))
        self._waiting.clear()
        _ = self._thread.begin(self._close)
        await self._thread.close(self._timeout_seconds)

    async def _write(self) -> None:
        """Write until nobody waits any more."""
        while self._waiting:
            changes = self._next()
            try:
                written = self._thread.begin(partial(self._written, changes))
            except BaseException:
                # There is no thread to be had.
                _tell(changes, StoreUnavailableError("database"))
                raise
            # They are told even if this is ended, as it is where the process ends.
            written.add_done_callback(partial(_tell_over, changes))
            await asyncio.shield(written)

    def _next(self) -> list[_Change[Any]]:
        """Take those who write in the next transaction."""
        changes = [self._waiting.popleft()]
        while (
            self._waiting
            and len(changes) < _MOST_TOGETHER
            and not (changes[0].is_alone or self._waiting[0].is_alone)
        ):
            changes.append(self._waiting.popleft())
        return changes

    def _written(self, changes: Sequence[_Change[Any]]) -> None:
        """Write changes in one transaction, and commit it."""
        try:
            connection = self._connected()
            connection.set_durable(is_durable=any(change.is_durable for change in changes))
            self._make_all(changes, connection)
            made = [change for change in changes if change.error is None]
            self._write_events(made, connection)
            reached(CrashPoint.SHARED_ROWS_WRITTEN)
            if made or connection.is_in_transaction:
                _commit(connection)
            for change in made:
                change.is_committed = True
            reached(CrashPoint.SHARED_COMMITTED)
        except BaseException as exc:  # noqa: BLE001 - it is raised to every caller
            for change in changes:
                # Also of who was refused: that may be for what others wrote, which is not there. An
                # error of his own for each, for callers add to what they are told.
                if not isinstance(change.error, ContendedError):
                    change.error = _fault(exc)
            # Nobody knows what state it is in.
            self._close()

    def _make_all(self, changes: Sequence[_Change[Any]], connection: WritingConnection) -> None:
        """Make changes in one transaction; those that fail are taken back, and noted as failed.

        Raises:
            _LostError: All of the transaction was rolled back.
        """
        patience_ms, left = _PATIENCE_MS, list(changes)
        if not self._is_careful:
            connection.begin(patience_ms=patience_ms)
            failed = next((each for each in left if not _is_made(each, connection)), None)
            if failed is None:
                return
            connection.run("ROLLBACK")
            is_contended = isinstance(failed.error, ContendedError)
            patience_ms = _NO_PATIENCE_MS if is_contended else _PATIENCE_MS
            if is_contended or failed is left[0]:
                # The first has failed for nothing that another one wrote.
                left.remove(failed)
            else:
                failed.error = None
        for change in left:
            _make_apart(change, connection, patience_ms=patience_ms)
            if isinstance(change.error, ContendedError) and patience_ms > _NO_PATIENCE_MS:
                patience_ms = _NO_PATIENCE_MS
                if connection.is_in_transaction:
                    connection.set_patience(patience_ms)
        if len(changes) > 1:
            self._is_careful = any(change.error is not None for change in left)

    def _connected(self) -> WritingConnection:
        """Return the connection, opened anew if ended, as by a server that is started again."""
        if self._connection is not None and not self._connection.is_there():
            self._close()
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _write_events(self, changes: Iterable[_Change[Any]], connection: WritingConnection) -> None:
        """Write the events of those who have changed something, project by project."""
        noted: dict[str, list[_Change[Any]]] = {}
        for change in changes:
            if change.written is not None and change.written.events:
                noted.setdefault(change.written.project_id, []).append(change)
        patience_ms = int(self._timeout_seconds * 1_000)
        # Last, for the number of an event holds up everybody else's until the commit. There is an
        # order to it, so that there are no deadlocks.
        for project_id in sorted(noted):
            told = noted[project_id]
            events = [event for each in told if each.written for event in each.written.events]
            last_event = write_events(connection, project_id, events, patience_ms)
            for change in told:
                change.last_event = last_event

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _make_apart(change: _Change[Any], connection: WritingConnection, *, patience_ms: int) -> None:
    """Make the changes of one caller; if they fail, they are taken back, and noted as failed."""
    # The first has none before it who would lose theirs.
    is_first = not connection.is_in_transaction
    if is_first:
        connection.begin(patience_ms=patience_ms)
    else:
        connection.run("SAVEPOINT own")
    if not _is_made(change, connection):
        connection.run("ROLLBACK" if is_first else "ROLLBACK TO own")
    if not is_first:
        connection.run("RELEASE own")


def _is_made(change: _Change[Any], connection: WritingConnection) -> bool:
    """Make the changes of one caller, or note that they have failed; says which of these.

    Raises:
        _LostError: All of the transaction was rolled back.
    """
    try:
        change.written = change.work(connection)
        return True
    except BaseException as exc:
        if not connection.is_in_transaction:
            # The disk is full, or does not answer.
            raise _LostError from exc
        change.error = _fault(exc)
        return False


def write_events(
    connection: StatementConnection, project_id: str, events: Iterable[NewEvent], patience_ms: int
) -> int | None:
    """Write events, the last before a commit, as `EventRecords.flush` does."""
    unit = UnitOfWork(connection, project_id, {})
    unit.new_events.extend(events)
    last_event = unit[EventRecords].flush(patience_ms=patience_ms)
    reached(CrashPoint.ROWS_WRITTEN)
    return last_event


def _commit(connection: WritingConnection) -> None:
    try:
        connection.commit()
    except Exception as exc:
        raise _UnconfirmedError from exc


def _fault(error: BaseException) -> BaseException:
    """Return what a caller is told of an error: of a database fault what it comes to, for us."""
    if isinstance(error, OperationalError) and getattr(error.orig, "sqlstate", None) in _CONTENTION:
        return ContendedError(error)
    if isinstance(error, _UnconfirmedError):
        return unconfirmed(database_error(error.__cause__ or error))
    if isinstance(error, _LostError):
        return database_error(error.__cause__ or error)
    return database_error(error) if is_fault(error) else error


def _tell(changes: Iterable[_Change[Any]], error: Exception | None = None) -> None:
    for change in changes:
        change.error = error or change.error
        # Whoever was cancelled does not wait any more.
        if not change.over.done():
            change.over.set_result(None)


def _tell_over(changes: Iterable[_Change[Any]], _: asyncio.Future[None]) -> None:
    _tell(changes)
