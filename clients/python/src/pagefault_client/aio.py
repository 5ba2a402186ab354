"""What waits, for `AsyncPagefault`; `blocking.py` has the same for `Pagefault`."""

import functools
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from pagefault_client._async.memory import AsyncMemory
    from pagefault_client._async.reading import AsyncContent

    OpenedContent = AsyncContent

T = TypeVar("T")
P = ParamSpec("P")


async def sleep(seconds: float) -> None:
    """Wait."""
    await anyio.sleep(seconds)


async def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Return what a function returns that may wait for a disk."""
    return await anyio.to_thread.run_sync(function, *arguments)


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
