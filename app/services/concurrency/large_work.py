"""Runs work on large values in threads, a few at a time.

Threads share one interpreter: forty threads that parse JSON delay each other and the event loop. So
only short work runs in any number of threads. Long reads take turns by project, so that no project
delays the others.
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
"""Values above this size take long, and several times their size in memory."""

QUICK_BYTES = 16 * 1024
"""Texts up to this size are processed quickly, unless they have many values."""

_SMALL_BYTES = 32 * 1024
_MAX_MEDIUM = 2
_PROJECTS_AT_ONCE = 16
_WAITING = 8
# Measured with hostile texts and values: a value takes 50 µs at worst, and 16 KiB of text 20 ms.
_QUICK_VALUES = 256

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")


def is_quick(*texts: bytes) -> bool:
    """Return whether work on JSON texts takes so little time that the event loop can do it.

    A change of threads takes longer than the work on most texts. Values are counted by separators,
    including those in strings.
    """
    if sum(map(len, texts)) > QUICK_BYTES:
        return False
    marks = sum(text.count(b",") + text.count(b"[") + text.count(b"{") for text in texts)
    return marks <= _QUICK_VALUES


async def run_in_loop_if(
    is_quick: bool, work: Callable[[*_Arguments], _T], *arguments: *_Arguments
) -> _T:
    """Call a function in the event loop if it is quick, or in a thread; return its result."""
    return work(*arguments) if is_quick else await anyio.to_thread.run_sync(work, *arguments)


class LargeWork:
    """Runs work in threads; one object for all services, since its limits are those of the process.

    Large values have a limiter of their own, so that small ones do not wait for seconds. The number
    of waiting requests is limited, because their bytes are in memory.
    """

    def __init__(self, limits: Limits) -> None:
        self._large_waiting = limits.large_bodies_waiting
        # The other limiters limit the number of threads.
        self._threads = anyio.CapacityLimiter(math.inf)
        self._medium = anyio.CapacityLimiter(_MAX_MEDIUM)
        self._large = anyio.CapacityLimiter(limits.large_bodies)

    async def run(
        self, size_bytes: int, work: Callable[[*_Arguments], _T], *arguments: *_Arguments
    ) -> _T:
        """Call a function in a thread, and return its result. It may wait for other calls.

        Args:
            size_bytes: The size of the data that it processes.
            work: The function. It is not called if the client disconnects during the wait.
            arguments: The arguments.

        Raises:
            MalformedRequestError: The client has disconnected.
            OverloadedError: The data is large, and too many large calls are waiting.
        """
        limiter = self._limiter(size_bytes)
        if limiter is None:
            return await anyio.to_thread.run_sync(work, *arguments)
        async with AsyncExitStack() as turn:
            if limiter.available_tokens:
                await turn.enter_async_context(limiter)
            else:
                async with until_disconnect():
                    await turn.enter_async_context(limiter)
            return await anyio.to_thread.run_sync(work, *arguments, limiter=self._threads)

    def _limiter(self, size_bytes: int) -> anyio.CapacityLimiter | None:
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
        waiting: The maximum of waiting requests of one project; more get a 503.
        at_once: The maximum of concurrent turns of all projects.
        of_project: The maximum of concurrent turns of one project.
    """

    def __init__(
        self, *, waiting: int = _WAITING, at_once: int = _PROJECTS_AT_ONCE, of_project: int = 1
    ) -> None:
        self._waiting = waiting
        self._of_project = of_project
        self._projects: WeakValueDictionary[str, anyio.Semaphore] = WeakValueDictionary()
        self._all = anyio.CapacityLimiter(at_once)

    @asynccontextmanager
    async def turn(self, project_id: str) -> AsyncIterator[None]:
        """Wait for a turn of a project, and keep it for the length of the block.

        Raises:
            OverloadedError: Too many requests of the project are waiting.
        """
        project = self._projects.setdefault(project_id, anyio.Semaphore(self._of_project))
        if project.statistics().tasks_waiting >= self._waiting:
            raise OverloadedError
        async with project, self._all:
            yield
