"""What waits, for `AsyncPagefault`; `blocking.py` has the same for `Pagefault`."""

import functools
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, BinaryIO, ParamSpec, TypeVar

import anyio
import anyio.to_thread

from pagefault_client.calls import Body

if TYPE_CHECKING:
    from pagefault_client._async.memory import AsyncMemory
    from pagefault_client._async.reading import AsyncContent

    OpenedContent = AsyncContent

T = TypeVar("T")
P = ParamSpec("P")

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


def opened(content: "AsyncContent") -> "AsyncContent":
    """Return content as it is: its `read` awaits."""
    return content


async def pieces(source: AsyncIterable[bytes] | Iterable[bytes]) -> AsyncIterator[bytes]:
    """Yield what an iterable of either kind yields."""
    if isinstance(source, AsyncIterable):
        async for piece in source:
            yield piece
    else:
        for piece in source:
            yield piece


def wrapped(
    tool: Callable[P, Awaitable[object] | object], memory: "AsyncMemory"
) -> Callable[P, Awaitable[Any]]:
    """Return a function that runs a tool and returns what the model should see of its result."""

    @functools.wraps(tool)
    async def remembered(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - the target's
        name, call_id = memory.call_of(tool, args, kwargs)
        try:
            result = tool(*args, **kwargs)
            if inspect.isawaitable(result):
                result = await result
        except Exception as error:
            await memory.keep_error(name, call_id, error)
            raise
        return await memory.keep(name, call_id, result)

    return remembered
