"""Transactions that several callers share, so that one visit to the disk commits them all.

SQLite has one writer at a time, and each commit waits for the disk. Who wants to write while
another one commits has to wait anyway; those who wait then write one after the other in one
transaction, each behind a savepoint of its own, and are told together that it is committed:

    A  begin  …changes…  commit
    B            (waits)          begin  …changes…
    C               (waits)                         …changes…  commit
                                                               B and C return

What one of them gives up is rolled back to its savepoint, and leaves the others as they are. What
fails for the transaction as a whole fails for all of them: nobody was told of anything before.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.crash_points import CrashPoint, reached
from app.errors import StoreUnavailableError
from app.stores.records.sqlite_driver import IS_SHORT

# So that nobody waits for long, and who wants a transaction alone comes to it.
_MOST_TOGETHER = 32
_SHORT = {IS_SHORT: True}
_log = structlog.get_logger(__name__)


class _Shared:
    """One transaction, and what became of it."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection = connection
        self.callers = 0
        self.is_over = anyio.Event()
        # Until it is committed.
        self.error: Exception | None = StoreUnavailableError("database")

    async def is_sound(self) -> bool:
        """Whether it is there: some faults of the disk make SQLite roll all of it back."""
        if self.connection.invalidated:
            return False
        driver = (await self.connection.get_raw_connection()).driver_connection
        return driver is not None and bool(driver.in_transaction)


class SharedCommits:
    """The shared transactions of one SQLite file.

    Args:
        writer: The engine that writes, with one connection.
        timeout_seconds: How long a caller waits for its turn.
    """

    def __init__(self, writer: AsyncEngine, timeout_seconds: float) -> None:
        self._writer = writer
        self._timeout_seconds = timeout_seconds
        self._turn = anyio.Lock()
        self._open: _Shared | None = None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Write for the length of the block; it is committed when this returns.

        If the block raises, what it has written is rolled back. Either way this ends with the
        transaction, so that what was read in it is there as well. A caller that is cancelled
        comes to the end of its block: a statement cannot be left without the others' losing
        theirs.

        Raises:
            StoreUnavailableError: The turn did not come, or the transaction was lost.
        """
        refused: Exception | None = None
        await self._take_turn()
        try:
            shared = self._open = self._open or await self._begin()
            with anyio.CancelScope(shield=True):
                try:
                    async with _savepoint(shared):
                        yield shared.connection
                except Exception as exc:  # noqa: BLE001 - it is raised below
                    refused = exc
                finally:
                    await self._leave(shared)
        finally:
            self._turn.release()
        await shared.is_over.wait()
        error = shared.error or refused
        if error is not None:
            raise error

    async def _take_turn(self) -> None:
        try:
            with anyio.fail_after(self._timeout_seconds):
                await self._turn.acquire()
        except BaseException as exc:
            await self._end_forsaken()
            if isinstance(exc, TimeoutError):
                raise StoreUnavailableError("database") from exc
            raise

    async def _end_forsaken(self) -> None:
        """Commit what this caller was to go on with, unless another one does.

        A turn that is given to a caller just when it gives up would else be nobody's, and those
        who wait for the commit would wait for whoever writes next.
        """
        if self._open is None or self._turn.locked():
            return
        self._turn.acquire_nowait()
        try:
            with anyio.CancelScope(shield=True):
                await self._commit(self._open)
        finally:
            self._turn.release()

    async def _begin(self) -> _Shared:
        connection = await self._writer.connect()
        try:
            _ = await connection.begin()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await connection.close()
            raise
        return _Shared(connection)

    async def _leave(self, shared: _Shared) -> None:
        """Commit, unless somebody goes on with it."""
        shared.callers += 1
        goes_on = self._turn.statistics().tasks_waiting and shared.callers < _MOST_TOGETHER
        if goes_on and await shared.is_sound():
            return
        await self._commit(shared)

    async def _commit(self, shared: _Shared) -> None:
        self._open = None
        try:
            if await shared.is_sound():
                reached(CrashPoint.SHARED_ROWS_WRITTEN)
                await shared.connection.commit()
                reached(CrashPoint.SHARED_COMMITTED)
                shared.error = None
        except Exception as exc:  # noqa: BLE001 - it is raised to every caller
            shared.error = exc
        finally:
            shared.is_over.set()
            await _close(shared)


async def _close(shared: _Shared) -> None:
    """Give the connection back; a fault of this is told to nobody who has been committed."""
    try:
        await shared.connection.close()
    except Exception:
        if shared.error is not None:
            raise
        _log.exception("connection not given back")


@asynccontextmanager
async def _savepoint(shared: _Shared) -> AsyncIterator[None]:
    """Keep what is written in the block together: all of it, or nothing if it raises."""
    run = shared.connection.exec_driver_sql
    await run("SAVEPOINT own", execution_options=_SHORT)
    try:
        yield
    except BaseException:
        if await shared.is_sound():
            await run("ROLLBACK TO own", execution_options=_SHORT)
            await run("RELEASE own", execution_options=_SHORT)
        raise
    await run("RELEASE own", execution_options=_SHORT)
