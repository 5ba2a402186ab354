"""Reads request bodies whole and works on them off the event loop, few large ones at a time."""

from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from typing import TypeVar

import anyio
import anyio.to_thread

from app.models.limits import Limits

_LARGE_BODY_BYTES = 1024 * 1024

_T = TypeVar("_T")


class RequestBodies:
    """What stands between a body's chunks and the value made of them.

    One for all services: a large body takes several times its size while it is worked on, so the
    limit holds for the process.
    """

    def __init__(self, limits: Limits) -> None:
        self._large = anyio.CapacityLimiter(limits.large_bodies)

    async def read(self, chunks: AsyncIterator[bytes], work: Callable[[bytes], _T]) -> _T:
        """What `work` makes of the whole body, in a worker thread.

        How many bytes may come is for whoever gives the chunks to limit.
        """
        body = b"".join([chunk async for chunk in chunks])
        async with self._large if len(body) > _LARGE_BODY_BYTES else nullcontext():
            return await anyio.to_thread.run_sync(work, body)
