"""Reads request bodies whole and works on them off the event loop, few large ones at a time."""

from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from app.services.large_work import LargeWork

_T = TypeVar("_T")


class RequestBodies:
    """What stands between a body's chunks and the value made of them."""

    def __init__(self, work: LargeWork) -> None:
        self._work = work

    async def read(self, chunks: AsyncIterator[bytes], work: Callable[[bytes], _T]) -> _T:
        """What `work` makes of the whole body, in a worker thread.

        How many bytes may come is for whoever gives the chunks to limit.
        """
        body = b"".join([chunk async for chunk in chunks])
        return await self._work.run(len(body), work, body)
