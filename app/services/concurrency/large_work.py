"""Runs work on large values in threads, a few at a time.

Only one thread at a time runs Python code: forty threads that parse JSON delay each other and the
event loop. So the number of threads is limited for all but short work. For long reads, each project
has its own limit (`ProjectTurns`), so that no project delays the others.
"""

import math
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from app.errors import OverloadedError
from app.models.limits import Limits
from app.services.concurrency.client_disconnects import until_disconnect

LARGE_BYTES = 1024 * 1024
"""Work on values above this size takes long, and needs several times their size in memory."""

QUICK_BYTES = 16 * 1024
"""Work on texts up to this size takes little time, unless they have many values."""

_SMALL_BYTES = 32 * 1024
# The number of threads for values between `_SMALL_BYTES` and `LARGE_BYTES`.
_MAX_MEDIUM = 2
_PROJECTS_AT_ONCE = 16
_MAX_WAITING = 8
# Measured with hostile input: a value takes up to 50 µs, and 16 KiB of text up to 20 ms.
_QUICK_VALUES = 256

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")


def is_quick(*texts: bytes) -> bool:
    """Return True if work on JSON texts takes so little time that the event loop can do it.

    For most texts, starting a thread takes longer than the work. The number of values is estimated
    from the separators, including those in strings.
    """
    if sum(map(len, texts)) > QUICK_BYTES:
        return False
    marks = sum(text.count(b",") + text.count(b"[") + text.count(b"{") for text in texts)
    return marks <= _QUICK_VALUES


async def run_in_loop_if(
    is_quick: bool, work: Callable[[*_Arguments], _T], *arguments: *_Arguments
) -> _T:
    """Call a function, in a thread unless `is_quick` is true, and return its result."""
    return work(*arguments) if is_quick else await anyio.to_thread.run_sync(work, *arguments)


class LargeWork:
    """Runs work in threads. All services share one object, as the limits are for the process.

    Large values have their own limit, so that work on small values does not wait for seconds. The
    number of waiting requests is limited as well, because their bytes are in memory.
    """

    def __init__(self, limits: Limits) -> None:
        self._large_waiting = limits.large_bodies_waiting
        # The number of threads is limited by the other two limiters.
        self._threads = anyio.CapacityLimiter(math.inf)
        self._medium = anyio.CapacityLimiter(_MAX_MEDIUM)
        self._large = anyio.CapacityLimiter(limits.large_bodies)

    async def run(
        self, size_bytes: int, work: Callable[[*_Arguments], _T], *arguments: *_Arguments
    ) -> _T:
        """Call a function in a thread, after waiting for other calls; return its result.

        Args:
            size_bytes: The size of the data that the function processes.
            work: The function. It is not called if the client disconnects during the wait.
            arguments: The arguments.

        Raises:
            MalformedRequestError: The client has disconnected.
            OverloadedError: The data is large, and too many large calls are waiting.
        """
        limiter = self._choose_limiter(size_bytes)
        if limiter is None:
            return await anyio.to_thread.run_sync(work, *arguments)
        async with AsyncExitStack() as turn:
            if limiter.available_tokens:
                await turn.enter_async_context(limiter)
            else:
                async with until_disconnect():
                    await turn.enter_async_context(limiter)
            return await anyio.to_thread.run_sync(work, *arguments, limiter=self._threads)

    def _choose_limiter(self, size_bytes: int) -> anyio.CapacityLimiter | None:
        if size_bytes <= _SMALL_BYTES:
            return None
        if size_bytes <= LARGE_BYTES:
            return self._medium
        large = self._large
        if not large.available_tokens and large.statistics().tasks_waiting >= self._large_waiting:
            raise OverloadedError
        return large


class ProjectTurns:
    """Limits concurrent work of each project, and of all projects together.

    A project that has reached its limit leaves the next free turn to another project that waits.

    Args:
        waiting: The maximum number of waiting requests of one project. Others get a 503.
        at_once: The maximum number of concurrent turns of all projects.
        of_project: The maximum number of concurrent turns of one project.
    """

    def __init__(
        self, *, waiting: int = _MAX_WAITING, at_once: int = _PROJECTS_AT_ONCE, of_project: int = 1
    ) -> None:
        self._waiting = waiting
        self._of_project = of_project
        self._projects: WeakValueDictionary[str, anyio.Semaphore] = WeakValueDictionary()
        self._all = anyio.CapacityLimiter(at_once)

    @asynccontextmanager
    async def turn(self, project_id: str) -> AsyncIterator[None]:
        """Wait for a turn of a project, and keep it during the block.

        Raises:
            OverloadedError: Too many requests of the project are waiting.
        """
        project = self._projects.setdefault(project_id, anyio.Semaphore(self._of_project))
        if project.statistics().tasks_waiting >= self._waiting:
            raise OverloadedError
        async with project, self._all:
            yield
