"""Limits how much work runs in threads at the same time, by the size of the work and by project.

Because of the GIL, forty threads that parse JSON delay each other and the event loop. So the number
of threads for larger values is limited (`LargeWork`). `ProjectTurns` also limits long reads of each
project, so that no project delays the others.
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
"""The size in bytes above which work on a value takes long, and needs several times its size in
memory."""

QUICK_BYTES = 16 * 1024
"""The size in bytes up to which work on JSON runs in the event loop, unless it has many values."""

# The number of threads for values up to this size is not limited here.
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
    from the commas and opening brackets, including those in strings.
    """
    if sum(map(len, texts)) > QUICK_BYTES:
        return False
    estimated_values = sum(text.count(b",") + text.count(b"[") + text.count(b"{") for text in texts)
    return estimated_values <= _QUICK_VALUES


async def run_in_loop_if(
    is_quick: bool, work: Callable[[*_Arguments], _T], *arguments: *_Arguments
) -> _T:
    """Call a function in the event loop if `is_quick` is true, otherwise in a thread."""
    return work(*arguments) if is_quick else await anyio.to_thread.run_sync(work, *arguments)


class LargeWork:
    """Runs work on values in threads. All services of a process share one instance.

    Large values have their own limit, so that work on smaller values does not wait for seconds. The
    number of large values that wait is limited as well, because their bytes are in memory.

    Args:
        limits: The settings; `large_bodies` and `large_bodies_waiting` are used.
    """

    def __init__(self, limits: Limits) -> None:
        self._large_waiting = limits.large_bodies_waiting
        # anyio limits threads to 40 by default. The next two limiters take the place of that limit.
        self._threads = anyio.CapacityLimiter(math.inf)
        self._medium = anyio.CapacityLimiter(_MAX_MEDIUM)
        self._large = anyio.CapacityLimiter(limits.large_bodies)

    async def run(
        self, size_bytes: int, work: Callable[[*_Arguments], _T], *arguments: *_Arguments
    ) -> _T:
        """Wait until a thread is free for a value of this size, and call a function in it.

        Args:
            size_bytes: The size of the value that the function processes.
            work: The function. It is not called if the client disconnects during the wait.
            arguments: The arguments of the function.

        Returns:
            The result of the function.

        Raises:
            MalformedRequestError: The client has disconnected.
            OverloadedError: The value is large, and too many large values are waiting.
        """
        limiter = self._choose_limiter(size_bytes)
        if limiter is None:
            return await anyio.to_thread.run_sync(work, *arguments)
        async with AsyncExitStack() as stack:
            if limiter.available_tokens:
                await stack.enter_async_context(limiter)
            else:
                async with until_disconnect():
                    await stack.enter_async_context(limiter)
            return await anyio.to_thread.run_sync(work, *arguments, limiter=self._threads)

    def _choose_limiter(self, size_bytes: int) -> anyio.CapacityLimiter | None:
        """Return the limiter for values of a size; `None` for small values, which do not wait."""
        if size_bytes <= _SMALL_BYTES:
            return None
        if size_bytes <= LARGE_BYTES:
            return self._medium
        large = self._large
        if not large.available_tokens and large.statistics().tasks_waiting >= self._large_waiting:
            raise OverloadedError
        return large


class ProjectTurns:
    """Limits the concurrent requests of each project, and of all projects together.

    If a project has reached its limit, a free slot goes to another project that waits.

    Args:
        max_waiting: The maximum number of waiting requests of one project. Further ones get a 503.
        max_running: The maximum number of concurrent requests of all projects.
        max_per_project: The maximum number of concurrent requests of one project.
    """

    def __init__(
        self,
        *,
        max_waiting: int = _MAX_WAITING,
        max_running: int = _PROJECTS_AT_ONCE,
        max_per_project: int = 1,
    ) -> None:
        self._max_waiting = max_waiting
        self._max_per_project = max_per_project
        # A semaphore exists as long as a request of its project waits or runs.
        self._semaphores: WeakValueDictionary[str, anyio.Semaphore] = WeakValueDictionary()
        self._running = anyio.CapacityLimiter(max_running)

    @asynccontextmanager
    async def turn(self, project_id: str) -> AsyncIterator[None]:
        """Wait until a request of a project may run. The request counts during the block.

        Raises:
            OverloadedError: Too many requests of the project are waiting.
        """
        semaphore = self._semaphores.setdefault(project_id, anyio.Semaphore(self._max_per_project))
        if semaphore.statistics().tasks_waiting >= self._max_waiting:
            raise OverloadedError
        async with semaphore, self._running:
            yield
