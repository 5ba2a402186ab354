"""Threads in which functions wait for a database.

They are daemon threads: a server that does not answer does not keep the process from ending.
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


class DatabaseThreads:
    """Threads for one event loop, one for each connection; each is started when it is needed.

    Args:
        most: The number of threads.
        timeout_seconds: How long `run` waits for a free thread, and `close` for running functions.
    """

    def __init__(self, most: int, timeout_seconds: float) -> None:
        self._most = most
        self._free = anyio.Semaphore(most, fast_acquire=True)
        self._free_to_wait = anyio.Semaphore(max(1, most // 2), fast_acquire=True)
        self._timeout_seconds = timeout_seconds
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._running: set[asyncio.Future[Any]] = set()
        self._started = 0
        self._is_closed = False

    @property
    def waiting(self) -> int:
        """The number of callers that wait for a free thread."""
        places = (self._free, self._free_to_wait)
        return sum(place.statistics().tasks_waiting for place in places)

    async def run(self, work: Callable[[], _Result], *, is_waiting: bool = False) -> _Result:
        """Run a function in a thread. If the caller is cancelled, a running function goes on.

        Args:
            work: The function.
            is_waiting: It waits for locks. At most half of the threads run such functions.

        Raises:
            StoreUnavailableError: No thread became free in time.
        """
        places = [self._free_to_wait, self._free] if is_waiting else [self._free]
        with ExitStack() as acquired:
            for place in places:
                try:
                    with anyio.fail_after(self._timeout_seconds):
                        await place.acquire()
                except TimeoutError as exc:
                    raise unavailable("busy") from exc
                acquired.callback(place.release)
            running = self.start(work)
            release = acquired.pop_all()
        running.add_done_callback(lambda _: release.close())
        return await asyncio.shield(running)

    def start(self, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """Run a function in the next thread that is free; return the future of its result.

        Raises:
            StoreUnavailableError: The threads are closed, or none can be started.
        """
        if self._is_closed:
            raise StoreUnavailableError("database")
        if self._started < min(self._most, len(self._running) + 1):
            try:
                Thread(target=_serve, args=(self._jobs,), name="database", daemon=True).start()
                self._started += 1
            except RuntimeError as exc:
                # The threads that were started before run it, if there are any.
                if not self._started:
                    raise StoreUnavailableError("database") from exc
        future: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        self._jobs.put((future, work))
        return future

    async def close(self) -> None:
        """Wait for running functions, up to the time-out, and refuse new ones."""
        self._is_closed = True
        for _ in range(self._started):
            self._jobs.put(None)
        self._started = 0
        if self._running:
            await asyncio.wait(self._running, timeout=self._timeout_seconds)


def _serve(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        future, work = job
        error: BaseException | None = None
        result = None
        try:
            result = work()
        except (StopIteration, asyncio.CancelledError) as exc:
            # A future does not raise these as they are.
            error = RuntimeError(repr(exc))
        except BaseException as exc:  # noqa: BLE001 - the caller raises it
            error = exc
        # The event loop may be closed by now.
        with suppress(RuntimeError):
            future.get_loop().call_soon_threadsafe(_complete, future, result, error)
        # An idle thread keeps no references.
        del job, future, work, result, error


def _complete(future: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
