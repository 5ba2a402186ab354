"""The waiting functions of `AsyncPagefault`; `blocking.py` has those of `Pagefault`."""

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


async def run_in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Call a function that may wait for a disk in a thread, and return its result."""
    return await anyio.to_thread.run_sync(function, *arguments)


def body(content: Body | None) -> bytes | AsyncIterator[bytes] | None:
    """Convert a body to a type that httpx accepts; a file is read in a thread."""
    return content if content is None or isinstance(content, bytes) else _read_in_pieces(content)


async def _read_in_pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    await run_in_thread(file.seek, 0)
    while piece := await run_in_thread(file.read, PIECE_BYTES):
        yield piece


async def pieces(source: AsyncIterable[bytes] | Iterable[bytes]) -> AsyncIterator[bytes]:
    """Iterate over an iterable or an asynchronous iterable."""
    if isinstance(source, AsyncIterable):
        async for piece in source:
            yield piece
    else:
        for piece in source:
            yield piece
