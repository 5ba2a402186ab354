"""The thread that writes to a SQLite file, and commits what waits in one visit to the disk.

SQLite has one writer at a time, and each commit waits for the disk. Whoever wants to write while
another one commits has to wait anyway; those who wait are then written one after the other in one
transaction, each behind a savepoint of its own, and are told together that it is committed:

    A  begin  …changes…  commit
    B            (waits)          begin  …changes…
    C               (waits)                         …changes…  events of B and C  commit
                                                                                 B and C return

What one of them gives up is rolled back to its savepoint, and leaves the others as they are. What
fails for the transaction as a whole fails for all of them: nobody was told of anything before.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, cast

import anyio

from app.crash_points import CrashPoint, reached
from app.errors import StoreUnavailableError
from app.models.event import NewEvent
from app.stores.records.connections import WritingConnection
from app.stores.records.database_errors import is_of_database, translated, unconfirmed
from app.stores.records.events import EventRecords
from app.stores.records.scope import ProjectScope

# So that nobody waits for long, and who wants a transaction alone comes to it.
_MOST_TOGETHER = 32
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Written(Generic[_Result]):
    """What some work returned, and the events it noted."""

    result: _Result
    project_id: str
    events: Sequence[NewEvent]


Work: TypeAlias = Callable[[WritingConnection], Coroutine[Any, Any, Written[_Result]]]
"""What is written over a connection; it awaits nothing but statements on it."""


class _Change(Generic[_Result]):
    """The changes of one caller, and what became of them."""

    def __init__(self, work: Work[_Result]) -> None:
        self.work = work
        self.written: Written[_Result] | None = None
        self.last_event: int | None = None
        self.error: BaseException | None = None
        self.over = anyio.Event()

    def outcome(self) -> tuple[_Result, int | None]:
        """What the work returned, and the project's newest event, if it noted any."""
        if self.error is not None:
            raise self.error
        return cast(Written[_Result], self.written).result, self.last_event


class GroupCommits:
    """Writes to a SQLite file, for one event loop.

    Args:
        connect: Opens the connection; called in the thread that writes.
        timeout_seconds: How long a turn is waited for.
    """

    def __init__(self, connect: Callable[[], WritingConnection], timeout_seconds: float) -> None:
        self._connect = connect
        self._turn = anyio.Lock()
        self._timeout_seconds = timeout_seconds
        self._waiting: deque[_Change[Any]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "writes")
        self._connection: WritingConnection | None = None
        self._is_closed = False

    async def run(self, work: Work[_Result]) -> tuple[_Result, int | None]:
        """Do some work in a transaction; it is committed when this returns.

        If it raises, what it has written is rolled back. Either way this ends with the
        transaction, so that what was read in it is there as well. If the caller is cancelled, what
        has begun is written all the same.

        Returns:
            What the work returned, and the number of the project's newest event, if it noted any.

        Raises:
            StoreUnavailableError: The turn did not come, or the transaction was lost.
        """
        if self._is_closed:
            raise StoreUnavailableError("database")
        change = _Change(work)
        self._waiting.append(change)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write())
        try:
            with anyio.move_on_after(self._timeout_seconds):
                await change.over.wait()
        finally:
            has_begun = change not in self._waiting
            if not has_begun:
                self._waiting.remove(change)
        if not has_begun:
            raise StoreUnavailableError("database")
        await change.over.wait()
        return change.outcome()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Keep this from writing for the length of the block, in which another connection writes.

        First come, first served.

        Raises:
            StoreUnavailableError: The turn did not come.
        """
        try:
            with anyio.fail_after(self._timeout_seconds):
                await self._turn.acquire()
        except TimeoutError as exc:
            raise StoreUnavailableError("database") from exc
        try:
            yield
        finally:
            self._turn.release()

    async def close(self) -> None:
        """Close the connection, behind what is being written, unless that takes too long.

        What still waits then is refused.
        """
        if self._is_closed:
            return
        self._is_closed = True
        with suppress(StoreUnavailableError):
            async with self.turn():
                await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        _tell(self._waiting, StoreUnavailableError("database"))
        self._waiting.clear()
        self._thread.shutdown(wait=False)

    async def _write(self) -> None:
        """Write until nobody waits any more."""
        while self._waiting:
            async with self._turn:
                # Who waited may have given up meanwhile, or been refused.
                if self._waiting:
                    await self._write_some()

    async def _write_some(self) -> None:
        most = min(len(self._waiting), _MOST_TOGETHER)
        changes = [self._waiting.popleft() for _ in range(most)]
        try:
            written = asyncio.get_running_loop().run_in_executor(
                self._thread, self._written, changes
            )
        except BaseException:
            # There is no thread to be had.
            _tell(changes, StoreUnavailableError("database"))
            raise
        # They are told even if this is ended, as it is where the process ends.
        written.add_done_callback(lambda _: _tell(changes))
        await asyncio.shield(written)

    def _written(self, changes: Sequence[_Change[Any]]) -> None:
        """Write changes in one transaction, and commit it."""
        try:
            connection = self._connection = self._connection or self._connect()
            connection.begin()
            for index, change in enumerate(changes):
                _make(change, connection, is_first=index == 0)
            _write_events(changes, connection)
            reached(CrashPoint.SHARED_ROWS_WRITTEN)
            _commit(connection)
            reached(CrashPoint.SHARED_COMMITTED)
        except Exception as exc:  # noqa: BLE001 - it is raised to every caller
            fault = _fault(exc)
            for change in changes:
                change.error = fault
            # Nobody knows what state it is in.
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _make(change: _Change[Any], connection: WritingConnection, *, is_first: bool) -> None:
    """Make the changes of one caller; if they fail, they are taken back, and noted as failed.

    Raises:
        StoreUnavailableError: All of the transaction was rolled back.
    """
    if not is_first:
        connection.run("SAVEPOINT own")
    try:
        change.written = _driven(change.work(connection))
    except BaseException as exc:
        if not connection.is_in_transaction:
            # The disk is full, or does not answer.
            fault = _fault(exc)
            lost = StoreUnavailableError("database")
            raise (fault if isinstance(fault, StoreUnavailableError) else lost) from exc
        change.error = _fault(exc)
        # The first has none before it who would lose theirs.
        connection.run("ROLLBACK" if is_first else "ROLLBACK TO own")
        if is_first:
            connection.begin()
    if not is_first:
        connection.run("RELEASE own")


def _write_events(changes: Iterable[_Change[Any]], connection: WritingConnection) -> None:
    """Write the events of those who have changed something, project by project."""
    noted: dict[str, list[_Change[Any]]] = {}
    for change in changes:
        if change.error is None and change.written is not None:
            noted.setdefault(change.written.project_id, []).append(change)
    # Last, for the number of an event holds up everybody else's until the commit.
    for project_id in sorted(noted):
        events = EventRecords(ProjectScope(connection, project_id))
        told = [each for each in noted[project_id] if each.written and each.written.events]
        for change in told:
            for event in change.written.events if change.written else ():
                events.note(event)
        last_event = _driven(events.flush())
        for change in told:
            change.last_event = last_event
        for _ in noted[project_id]:
            reached(CrashPoint.ROWS_WRITTEN)


def _commit(connection: WritingConnection) -> None:
    try:
        connection.commit()
    except Exception as exc:
        raise unconfirmed(translated(exc)) from exc


def _fault(error: BaseException) -> BaseException:
    """What a caller is told of an error: of a fault of the database what it comes to, for us."""
    return translated(error) if is_of_database(error) else error


def _driven(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of a coroutine that awaits nothing that is not there."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: _Result = done.value
        return result
    coroutine.close()
    msg = "a change waited for something else than the database"
    raise RuntimeError(msg)


def _tell(changes: Iterable[_Change[Any]], error: Exception | None = None) -> None:
    for change in changes:
        change.error = error or change.error
        change.over.set()
