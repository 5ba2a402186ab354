"""Reads request bodies whole and works on them, few large ones at a time."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from app.services.concurrency.large_work import LargeWork, is_quick
from app.services.memory_budget.request_bodies import (
    FREE_BYTES,
    QUICKLY_WEIGHED_BYTES,
    BodyBudget,
    BodyMemory,
)

_T = TypeVar("_T")


class RequestBodies:
    """What stands between a body's chunks and the value made of them.

    Args:
        work: Keeps what is done at once in bounds.
        budget: What bodies take their memory from.
    """

    def __init__(self, work: LargeWork, budget: BodyBudget) -> None:
        self._work = work
        self._budget = budget

    @asynccontextmanager
    async def read(
        self, chunks: AsyncIterator[bytes], work: Callable[[bytes], _T]
    ) -> AsyncIterator[_T]:
        """Return what `work` makes of the whole body.

        It is done in the event loop if it is quick, else in a worker thread. The memory that it
        takes is held until the block ends.

        Raises:
            PayloadTooLargeError: The body is too long; known before the rest of it is there.
            OverloadedError: The memory that it takes is not free now.
        """
        memory = BodyMemory(self._budget)
        try:
            async with memory.arrival():
                pieces = await _received(memory.paced(chunks), memory)
            size_bytes = sum(map(len, pieces))
            if size_bytes > FREE_BYTES:
                if size_bytes <= QUICKLY_WEIGHED_BYTES:
                    _weigh(pieces, memory)
                else:
                    await self._work.run(size_bytes, _weigh, pieces, memory)
                await memory.begin_work(size_bytes)
            if is_quick(*pieces):
                yield _worked(pieces, memory, work)
            else:
                yield await self._work.run(size_bytes, _worked, pieces, memory, work)
        finally:
            memory.release()


async def _received(chunks: AsyncIterator[bytes], memory: BodyMemory) -> list[bytes]:
    pieces: list[bytes] = []
    size_bytes = 0
    async for chunk in chunks:
        size_bytes += len(chunk)
        if size_bytes > memory.size_bytes:
            memory.check_text(size_bytes)
            await memory.keep(size_bytes)
        pieces.append(chunk)
    memory.check_text(size_bytes)
    return pieces


def _weigh(pieces: list[bytes], memory: BodyMemory) -> None:
    for piece in pieces:
        memory.weigh(piece)


def _worked(pieces: list[bytes], memory: BodyMemory, work: Callable[[bytes], _T]) -> _T:
    size_bytes = sum(map(len, pieces))
    if size_bytes > FREE_BYTES:
        memory.hold_work(size_bytes)
    body = b"".join(pieces)
    pieces.clear()
    return work(body)
