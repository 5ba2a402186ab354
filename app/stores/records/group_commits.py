"""The thread that writes to a SQLite file, and commits what waits in one visit to the disk.

SQLite has one writer at a time, and each commit waits for the disk. Whoever wants to write while
another one commits has to wait anyway; those who wait are then written one after the other in one
transaction, each behind a savepoint of its own, and are told together that it is committed:

    A  begin  …changes…  commit
    B            (waits)          begin  …changes…
    C               (waits)                         …changes…  commit
                                                               B and C return

What one of them gives up is rolled back to its savepoint, and leaves the others as they are. What
fails for the transaction as a whole fails for all of them: nobody was told of anything before.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeAlias, TypeVar, cast

import anyio
import structlog
from sqlalchemy import Connection, Engine, StaticPool, create_engine
from sqlalchemy.exc import SQLAlchemyError

from app.crash_points import CrashPoint, reached
from app.errors import StoreUnavailableError
from app.stores.records.connections import WritingConnection
from app.stores.records.database_errors import is_of_database, translated, unconfirmed

# So that nobody waits for long, and who wants a transaction alone comes to it.
_MOST_TOGETHER = 32
_log = structlog.get_logger(__name__)
_Result = TypeVar("_Result")

Work: TypeAlias = Callable[[WritingConnection], Coroutine[Any, Any, _Result]]
"""What is written over a connection; it awaits nothing but statements on it."""


class _Change(Generic[_Result]):
    """The changes of one caller, and what became of them."""

    def __init__(self, work: Work[_Result]) -> None:
        self.work = work
        self._result: _Result | None = None
        self.error: BaseException | None = None
        self.over = anyio.Event()

    def run(self, connection: WritingConnection) -> None:
        """Make the changes; raises what the work raises."""
        self._result = _driven(self.work(connection))

    def outcome(self) -> _Result:
        """What the work returned; raises what it raised, or what became of its transaction."""
        if self.error is not None:
            raise self.error
        return cast(_Result, self._result)


class GroupCommits:
    """Writes to a SQLite file, for one event loop.

    Args:
        path: The file.
        timeout_seconds: How long the turn, and the lock of another process, is waited for.
    """

    def __init__(self, path: str, timeout_seconds: float) -> None:
        self._path = path
        self._turn = anyio.Lock()
        self._timeout_seconds = timeout_seconds
        self._waiting: deque[_Change[Any]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "writes")
        self._opened: _Opened | None = None

    async def run(self, work: Work[_Result]) -> _Result:
        """Do some work in a transaction; it is committed when this returns.

        If it raises, what it has written is rolled back. Either way this ends with the
        transaction, so that what was read in it is there as well. What has begun is not cancelled:
        the caller is, once it is over.

        Raises:
            StoreUnavailableError: The turn did not come, or the transaction was lost.
        """
        change = _Change(work)
        self._waiting.append(change)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write())
        try:
            await change.over.wait()
        except BaseException:
            if not self._withdraw(change):
                with anyio.CancelScope(shield=True):
                    await change.over.wait()
            raise
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
        """Close the connection, behind what is being written."""
        async with self._turn:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _withdraw(self, change: _Change[Any]) -> bool:
        try:
            self._waiting.remove(change)
        except ValueError:
            return False
        return True

    async def _write(self) -> None:
        """Write until nobody waits any more."""
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                async with self.turn():
                    written = loop.run_in_executor(self._thread, self._written)
                    # They are told even if this is ended, as it is where the process ends.
                    written.add_done_callback(_tell)
                    await asyncio.shield(written)
        except StoreUnavailableError as exc:
            self._refuse_all(exc)
        except BaseException:
            self._refuse_all(StoreUnavailableError("database"))
            raise
        finally:
            self._task = None

    def _refuse_all(self, error: StoreUnavailableError) -> None:
        while self._waiting:
            change = self._waiting.popleft()
            change.error = error
            change.over.set()

    def _written(self) -> list[_Change[Any]]:
        """Write what waits in one transaction and commit it; returns whose changes these were."""
        changes: list[_Change[Any]] = []
        try:
            opened = self._opened = self._opened or _Opened(self._path, self._timeout_seconds)
            opened.begin()
            while self._waiting and len(changes) < _MOST_TOGETHER:
                try:
                    change = self._waiting.popleft()
                except IndexError:
                    # The last one was withdrawn in this moment.
                    break
                changes.append(change)
                opened.make(change, is_first=len(changes) == 1)
            reached(CrashPoint.SHARED_ROWS_WRITTEN)
            opened.commit()
            reached(CrashPoint.SHARED_COMMITTED)
        except Exception as exc:  # noqa: BLE001 - it is raised to every caller
            self._lose(changes, exc)
        return changes

    def _lose(self, changes: list[_Change[Any]], exc: Exception) -> None:
        """Give the transaction up, and with it the connection: nobody knows what state it is in."""
        if not changes:
            # It did not begin.
            while self._waiting:
                changes.append(self._waiting.popleft())
        fault = exc if isinstance(exc, StoreUnavailableError) else translated(exc)
        for change in changes:
            # Of who refused before there is nothing to be lost.
            change.error = fault
        self._close()

    def _close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None


class _Opened:
    """The connection, in the thread that writes."""

    def __init__(self, path: str, timeout_seconds: float) -> None:
        self._driver = sqlite3.connect(
            path, timeout=timeout_seconds, isolation_level=None, check_same_thread=False
        )
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            self._driver.execute(f"PRAGMA {pragma}").fetchall()
        self._engine: Engine = create_engine(
            "sqlite+pysqlite://",
            creator=lambda: self._driver,
            poolclass=StaticPool,
            isolation_level="AUTOCOMMIT",
            # Parameters are what clients sent, and an error's text ends up in the log.
            hide_parameters=True,
        )
        self._connection: Connection = self._engine.connect()
        self.statements = WritingConnection(self._driver, self._connection)

    def begin(self) -> None:
        """Begin a transaction, with the lock: a read that turned into a write later would fail."""
        self._driver.execute("BEGIN IMMEDIATE")

    def make(self, change: "_Change[Any]", *, is_first: bool) -> None:
        """Make the changes of one caller; if they fail, they are taken back, and noted as failed.

        Raises:
            StoreUnavailableError: SQLite has rolled all of the transaction back.
        """
        if not is_first:
            self._driver.execute("SAVEPOINT own")
        try:
            change.run(self.statements)
        except BaseException as exc:
            if not self._driver.in_transaction:
                # As it does where the disk is full, or does not answer.
                raise (
                    translated(exc) if is_of_database(exc) else StoreUnavailableError("database")
                ) from exc
            change.error = translated(exc) if is_of_database(exc) else exc
            # The first has none before it who would lose theirs.
            self._driver.execute("ROLLBACK" if is_first else "ROLLBACK TO own")
            if is_first:
                self.begin()
        if not is_first:
            self._driver.execute("RELEASE own")

    def commit(self) -> None:
        """Commit; what was written is on the disk.

        Raises:
            StoreUnavailableError: It is not, or nobody knows.
        """
        try:
            self._driver.execute("COMMIT")
        except sqlite3.Error as exc:
            raise unconfirmed(translated(exc)) from exc
        if self._connection.in_transaction():
            # What SQLAlchemy takes for one is over; the driver has none to roll back.
            self._connection.rollback()

    def close(self) -> None:
        """Close it; what was not committed is rolled back."""
        try:
            self._connection.invalidate()
            self._driver.close()
            self._engine.dispose()
        except (sqlite3.Error, SQLAlchemyError):
            _log.exception("connection not closed")


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


def _tell(written: asyncio.Future[list[_Change[Any]]]) -> None:
    for change in written.result():
        change.over.set()
