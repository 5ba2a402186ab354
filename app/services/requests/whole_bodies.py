"""Receives bodies of requests into memory, within the memory budget of the process.

It is used for bodies with little or no media; `streamed_bodies.py` receives other bodies.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from app.services.concurrency.large_work import LargeWork, is_quick
from app.services.memory_budget.request_bodies import (
    QUICKLY_WEIGHED_BYTES,
    UNRESERVED_BYTES,
    BodyBudget,
    BodyMemory,
)

# The maximum number of quotation marks in a long body whose memory is estimated in the event loop.
_MAX_QUOTES = 256
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RequestBodies:
    """Receives whole bodies, and parses them."""

    work: LargeWork
    """Runs work in threads."""
    budget: BodyBudget
    """The memory budget of bodies."""

    @asynccontextmanager
    async def read(
        self, chunks: AsyncIterator[bytes], parse: Callable[[bytes], _T]
    ) -> AsyncIterator[_T]:
        """Receive a body, and yield its parsed value.

        The memory for the body and for parsing it is reserved until the block ends.

        Args:
            chunks: The body.
            parse: Parses the body. It is called in the event loop if the body is short, otherwise
                in a thread.

        Raises:
            PayloadTooLargeError: The body is too long. The rest of it is not received.
            OverloadedError: There is not enough free memory.
        """
        memory = BodyMemory(self.budget)
        try:
            async with memory.arrival():
                pieces = await _receive(memory.measure_pace(chunks), memory)
            size_bytes = size_of(pieces)
            if size_bytes > UNRESERVED_BYTES:
                await weigh_all(pieces, memory, self.work)
                await memory.begin_work(size_bytes)
            if is_quick(*pieces):
                yield _parse(pieces, memory, parse)
            else:
                yield await self.work.run(size_bytes, _parse, pieces, memory, parse)
        finally:
            memory.release()


async def chunks_of(body: bytes) -> AsyncIterator[bytes]:
    """Yield a body that is in memory as the only chunk."""
    yield body


async def _receive(chunks: AsyncIterator[bytes], memory: BodyMemory) -> list[bytes]:
    """Return the chunks of a body, and reserve memory for them; see `RequestBodies.read`."""
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
    """Return the number of bytes of all pieces."""
    return sum(map(len, pieces))


async def weigh_all(pieces: list[bytes], memory: BodyMemory, work: LargeWork) -> None:
    """Estimate the memory for parsing a body, in a thread if that takes long.

    Args:
        pieces: The body.
        memory: Gets the estimate.
        work: Runs the estimate in a thread.
    """
    if (size_bytes := size_of(pieces)) <= QUICKLY_WEIGHED_BYTES or _has_few_strings(pieces):
        _weigh(pieces, memory)
    else:
        await work.run(size_bytes, _weigh, pieces, memory)


def _has_few_strings(pieces: list[bytes]) -> bool:
    """Return True if a body has few strings and no escapes, such as one long string of base64.

    The estimate for another body of the same size takes up to a hundred times as long.
    """
    quotes = 0
    for piece in pieces:
        if b"\\" in piece or not piece.isascii():
            return False
        index = piece.find(b'"')
        while index >= 0:
            quotes += 1
            if quotes > _MAX_QUOTES:
                return False
            index = piece.find(b'"', index + 1)
    return True


def _weigh(pieces: list[bytes], memory: BodyMemory) -> None:
    for piece in pieces:
        memory.weigh(piece)


def _parse(pieces: list[bytes], memory: BodyMemory, parse: Callable[[bytes], _T]) -> _T:
    """Join the pieces of a body and parse it. The list is emptied, to free the pieces."""
    if (size_bytes := size_of(pieces)) > UNRESERVED_BYTES:
        memory.reserve_work(size_bytes)
    body = b"".join(pieces)
    pieces.clear()
    return parse(body)
