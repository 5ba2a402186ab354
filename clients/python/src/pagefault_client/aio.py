"""What waits, for `AsyncPagefault`; `blocking.py` has the same for `Pagefault`."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from typing import BinaryIO, TypeVar

import anyio
import anyio.to_thread

from pagefault_client.calls import Body

T = TypeVar("T")

PIECE_BYTES = 1024 * 1024


async def sleep(seconds: float) -> None:
    """Wait."""
    await anyio.sleep(seconds)


async def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Return what a function returns that may wait for a disk."""
    return await anyio.to_thread.run_sync(function, *arguments)


def body(content: Body | None) -> bytes | AsyncIterator[bytes] | None:
    """Return a body as httpx takes it; a file is read in a thread."""
    return content if content is None or isinstance(content, bytes) else _read_in_pieces(content)


async def _read_in_pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    await in_thread(file.seek, 0)
    while piece := await in_thread(file.read, PIECE_BYTES):
        yield piece


async def pieces(source: AsyncIterable[bytes] | Iterable[bytes]) -> AsyncIterator[bytes]:
    """Yield what an iterable of either kind yields."""
    if isinstance(source, AsyncIterable):
        async for piece in source:
            yield piece
    else:
        for piece in source:
            yield piece
