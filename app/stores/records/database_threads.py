"""Threads in which functions wait for a database.

They end with the process, whatever they wait for: a server that does not answer keeps nobody who is
told to stop.
"""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias, TypeVar

import anyio

from app.errors import StoreUnavailableError
from app.stores.records.database_errors import unavailable

_Result = TypeVar("_Result")
_Job: TypeAlias = tuple[asyncio.Future[Any], Callable[[], Any]]
"""Some work, and the future that gets its outcome."""


class WorkerThreads:
    """A few threads, each started when it is needed first. For one event loop.

    Args:
        most: How many there are.
        name: The prefix of their names.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._begun: set[asyncio.Future[Any]] = set()
        self._started = 0

    def begin(self, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """Begin some work, behind what was begun before where all threads are taken.

        Raises:
            StoreUnavailableError: There is no thread to be had.
        """
        if self._started < min(self._most, len(self._begun) + 1):
            self._start()
        over: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()
        self._begun.add(over)
        over.add_done_callback(self._begun.discard)
        self._jobs.put((over, work))
        return over

    def _start(self) -> None:
        try:
            Thread(target=_serve, args=(self._jobs,), name=self._name, daemon=True).start()
        except RuntimeError as exc:
            # Those that there are do it, if there are any.
            if not self._started:
                raise StoreUnavailableError("database") from exc
        else:
            self._started += 1

    async def close(self, timeout_seconds: float) -> None:
        """End the threads behind what was begun, unless that takes too long."""
        for _ in range(self._started):
            self._jobs.put(None)
        self._started = 0
        if self._begun:
            await asyncio.wait(self._begun, timeout=timeout_seconds)


class DatabaseThreads:
    """One thread for each connection of a pool, taken in turn.

    Args:
        most: How many there are.
        timeout_seconds: How long one is waited for.
    """

    def __init__(self, most: int, timeout_seconds: float) -> None:
        self._free = anyio.Semaphore(most, fast_acquire=True)
        self._free_to_wait = anyio.Semaphore(max(1, most // 2), fast_acquire=True)
        self._timeout_seconds = timeout_seconds
        self._threads = WorkerThreads(most, "database")
        self._is_closed = False

    async def run(self, work: Callable[[], _Result], *, is_waiting: bool = False) -> _Result:
        """Do some work in a thread. If the caller is cancelled, what has begun goes on.

        Args:
            work: What to do.
            is_waiting: It waits for what somebody else holds. It leaves half of the threads alone.

        Raises:
            StoreUnavailableError: None came free.
        """
        places = [self._free_to_wait, self._free] if is_waiting else [self._free]
        with ExitStack() as taken:
            for place in places:
                await self._take(place)
                taken.callback(place.release)
            if self._is_closed:
                raise StoreUnavailableError("database")
            working = self._threads.begin(work)
            kept = taken.pop_all()
        working.add_done_callback(lambda _: kept.close())
        return await asyncio.shield(working)

    async def _take(self, place: anyio.Semaphore) -> None:
        try:
            with anyio.fail_after(self._timeout_seconds):
                await place.acquire()
        except TimeoutError as exc:
            raise unavailable("busy") from exc

    async def close(self) -> None:
        """Wait for what has begun, unless that takes too long; nothing is begun any more."""
        self._is_closed = True
        await self._threads.close(self._timeout_seconds)


def _serve(jobs: SimpleQueue[_Job | None]) -> None:
    """Do some work after the other, and tell the event loop what has come of each."""
    while (job := jobs.get()) is not None:
        # Of a loop that is closed by now, nobody waits.
        with suppress(RuntimeError):
            job[0].get_loop().call_soon_threadsafe(_tell, job[0], *_outcome(job[1]))
        # An idle thread keeps nothing.
        del job


def _outcome(work: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return work(), None
    except (StopIteration, asyncio.CancelledError) as exc:
        # Of these, a future makes something else.
        return None, RuntimeError(repr(exc))
    except BaseException as exc:  # noqa: BLE001 - it is raised to the caller
        return None, exc


def _tell(over: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
    if over.done():
        return
    if error is None:
        over.set_result(result)
    else:
        over.set_exception(error)
