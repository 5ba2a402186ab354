"""Threads in which functions wait for a database.

They are daemon threads, so the process can end even if a server does not respond.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from app.errors import StoreUnavailableError
from app.stores.records.database_errors import unavailable_error

_Result = TypeVar("_Result")


class Job(Generic[_Result]):
    """A function that waits for a thread, and the future of its result.

    Either a thread runs the function, or the event loop rejects it, whichever calls `begin` first.
    """

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work = work
        # Locked by the first call of `begin`, and never released.
        self._begun = Lock()
        self.future: asyncio.Future[_Result]

    @property
    def is_waiting(self) -> bool:
        """True until the function has begun or was rejected."""
        return not self._begun.locked()

    def begin(self) -> bool:
        """Claim the job: return true to the first caller, and false to all others."""
        return self._begun.acquire(blocking=False)

    def reject(self, error: StoreUnavailableError) -> None:
        """Raise an error to the caller, unless the function has begun."""
        if self.begin():
            self.future.set_exception(error)

    def outcome(self) -> _Result:
        """Run the function, in a thread."""
        result: _Result = self._work()
        return result

    def complete(self) -> None:
        """Resolve the future with the outcome. This is called in a thread."""
        error: BaseException | None = None
        result: Any = None
        try:
            result = self.outcome()
        except (StopIteration, asyncio.CancelledError) as exc:
            # A future cannot raise these exceptions.
            error = RuntimeError(repr(exc))
        except BaseException as exc:  # noqa: BLE001 - the caller raises it
            error = exc
        # The event loop may be closed by now.
        with suppress(RuntimeError):
            self.future.get_loop().call_soon_threadsafe(_resolve, self.future, result, error)


class DatabaseThreads:
    """Threads for the functions of one event loop. A thread is started when it is needed.

    Args:
        max_threads: The maximum number of threads: one for each connection.
        timeout_seconds: How long a function waits for a thread, and `close` for running functions.
    """

    def __init__(self, max_threads: int, timeout_seconds: float) -> None:
        self._max_threads = max_threads
        self._timeout_seconds = timeout_seconds
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._jobs: dict[asyncio.Future[Any], Job[Any]] = {}
        self._started = 0
        self._is_closed = False

    @property
    def waiting(self) -> int:
        """The number of functions that wait for a thread."""
        return sum(job.is_waiting for job in self._jobs.values())

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Run a function in a thread. If the caller is cancelled, a running function continues.

        Raises:
            StoreUnavailableError: No thread became free in time, or the threads are closed.
        """
        return await self._submit(Job(work))

    async def close(self) -> None:
        """Refuse waiting functions, and wait for running ones up to the time-out."""
        self._is_closed = True
        for job in self._jobs.values():
            job.reject(StoreUnavailableError("database"))
        for _ in range(self._started):
            self._queue.put(None)
        self._started = 0
        if self._jobs:
            await asyncio.wait([*self._jobs], timeout=self._timeout_seconds)

    async def _submit(self, job: Job[_Result]) -> _Result:
        if self._is_closed:
            raise StoreUnavailableError("database")
        loop = asyncio.get_running_loop()
        job.future = loop.create_future()
        self._jobs[job.future] = job
        job.future.add_done_callback(self._forget)
        self._queue.put(job)
        self._start_thread(job)
        timer = loop.call_later(
            self._timeout_seconds, lambda: job.reject(unavailable_error("busy"))
        )
        try:
            return await asyncio.shield(job.future)
        finally:
            timer.cancel()
            # If the caller was cancelled, a function that has not begun is not run.
            if job.begin():
                job.future.cancel()

    def _forget(self, future: asyncio.Future[Any]) -> None:
        del self._jobs[future]
        # Marks the exception as retrieved, since a cancelled caller does not retrieve it.
        if not future.cancelled():
            future.exception()

    def _start_thread(self, job: Job[Any]) -> None:
        if self._started < min(self._max_threads, len(self._jobs)):
            try:
                Thread(target=self._serve, name="database", daemon=True).start()
                self._started += 1
            except RuntimeError:
                # No thread could be started; running threads will take the job.
                if not self._started:
                    job.reject(StoreUnavailableError("database"))

    def _serve(self) -> None:
        while jobs := self._take_jobs():
            if begun := [job for job in jobs if job.begin()]:
                self._run_jobs(begun)
            # Without this, an idle thread would keep finished jobs in memory.
            del jobs, begun

    def _take_jobs(self) -> Sequence[Job[Any]]:
        """Wait for the next jobs of a thread; return none if the threads are closed."""
        job = self._queue.get()
        return [] if job is None else [job]

    def _run_jobs(self, jobs: Sequence[Any]) -> None:
        for job in jobs:
            job.complete()


def _resolve(future: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
