"""Bodies that are read whole, within the budget of the process."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from app.services.concurrency.large_work import LargeWork, is_quick
from app.services.memory_budget.request_bodies import (
    FREE_BYTES,
    QUICKLY_WEIGHED_BYTES,
    BodyBudget,
    BodyMemory,
)

# Quotation marks of a body that the event loop weighs.
_FEW_MARKS = 256
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RequestBodies:
    """Reads bodies whole, and makes values of them."""

    work: LargeWork
    """Limits the work that is done at once."""
    budget: BodyBudget
    """The memory that bodies are held in."""

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
        memory = BodyMemory(self.budget)
        try:
            async with memory.arrival():
                pieces = await _received(memory.paced(chunks), memory)
            size_bytes = size_of(pieces)
            if size_bytes > FREE_BYTES:
                await weigh_all(pieces, memory, self.work)
                await memory.begin_work(size_bytes)
            if is_quick(*pieces):
                yield _worked(pieces, memory, work)
            else:
                yield await self.work.run(size_bytes, _worked, pieces, memory, work)
        finally:
            memory.release()


async def chunks_of(body: bytes) -> AsyncIterator[bytes]:
    """Yield a body that is in memory as one that arrives."""
    yield body


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


def size_of(pieces: list[bytes]) -> int:
    """Return how many bytes pieces have together."""
    return sum(map(len, pieces))


async def weigh_all(pieces: list[bytes], memory: BodyMemory, work: LargeWork) -> None:
    """Look at the bytes that will be worked on; in a worker thread if they are many."""
    if (size_bytes := size_of(pieces)) <= QUICKLY_WEIGHED_BYTES or _is_plain(pieces):
        _weigh(pieces, memory)
    else:
        await work.run(size_bytes, _weigh, pieces, memory)


def _is_plain(pieces: list[bytes]) -> bool:
    """Return whether bytes are a few strings without escapes, such as one long text in base64.

    What else they may be takes up to a hundred times as long to be weighed.
    """
    strings = 0
    for piece in pieces:
        if b"\\" in piece or not piece.isascii():
            return False
        at = piece.find(b'"')
        while at >= 0:
            strings += 1
            if strings > _FEW_MARKS:
                return False
            at = piece.find(b'"', at + 1)
    return True


def _weigh(pieces: list[bytes], memory: BodyMemory) -> None:
    for piece in pieces:
        memory.weigh(piece)


def _worked(pieces: list[bytes], memory: BodyMemory, work: Callable[[bytes], _T]) -> _T:
    if (size_bytes := size_of(pieces)) > FREE_BYTES:
        memory.hold_work(size_bytes)
    body = b"".join(pieces)
    pieces.clear()
    return work(body)
