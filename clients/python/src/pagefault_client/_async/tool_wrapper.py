"""The wrapper of a tool that stores its results."""

# `_sync/wrapping.py` is written by hand as well.
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, ParamSpec

from pagefault_client._async.memory import AsyncMemory
from pagefault_client.values import ReadAsyncIterator, read_iterator

P = ParamSpec("P")


def wrap_tool(
    tool: Callable[P, Awaitable[object] | object], memory: AsyncMemory
) -> Callable[P, Awaitable[Any]]:
    """Return a function that runs a tool and returns its rendered result."""

    @functools.wraps(tool)
    async def call_and_store(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - the target's
        name, call_id = memory.identify_call(tool, args, kwargs)
        try:
            result = tool(*args, **kwargs)
            if inspect.isawaitable(result):
                result = await result
            # An error within a generator is one of the tool.
            if isinstance(result, AsyncIterator):
                result = ReadAsyncIterator(result)
                await result.read()
            result = read_iterator(result)
        except Exception as error:
            await memory.store_error(name, call_id, error)
            raise
        return await memory.remember(name, call_id, result)

    return call_and_store
