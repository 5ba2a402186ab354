"""Work on large values off the event loop, little of it at the same time.

Threads share one interpreter: forty that parse JSON keep everybody waiting, the event loop as well,
though none of the values is large. So only what is quickly done is done by any number of threads.
"""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio
import anyio.to_thread

from app.models.limits import Limits

LARGE_BYTES = 1024 * 1024
"""What is larger takes long, and several times its size in memory."""

_SMALL_BYTES = 32 * 1024
_MIDDLING_AT_ONCE = 2

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")


class LargeWork:
    """Does work in worker threads; one for all services, since its limits hold for the process.

    What is large has turns of its own: it would keep what is not waiting for seconds.
    """

    def __init__(self, limits: Limits) -> None:
        self._middling = anyio.CapacityLimiter(_MIDDLING_AT_ONCE)
        self._large = anyio.CapacityLimiter(limits.large_bodies)

    async def run(
        self, size_bytes: int, work: Callable[[*_Arguments], _T], *arguments: *_Arguments
    ) -> _T:
        """What `work` makes of its arguments, of which so many bytes are worked on."""
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._limiter(size_bytes))

    def _limiter(self, size_bytes: int) -> anyio.CapacityLimiter | None:
        if size_bytes <= _SMALL_BYTES:
            return None
        return self._large if size_bytes > LARGE_BYTES else self._middling
