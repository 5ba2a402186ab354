"""The wrapper of a tool that stores its results."""

# `_async/wrapping.py` is written by hand as well.
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, cast

import anyio.to_thread

from pagefault_client._sync.memory import Memory
from pagefault_client.values import read_iterator

P = ParamSpec("P")


def wrap_tool(tool: Callable[P, object], memory: Memory) -> Callable[P, Any]:
    """Return a function that runs a tool and returns its rendered result.

    For a coroutine function, the wrapper is one as well, and stores the result in a thread.
    """
    if _is_coroutine_function(tool):
        return _wrap_coroutine(cast("Callable[P, Coroutine[Any, Any, object]]", tool), memory)

    @functools.wraps(tool)
    def call_and_store(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - the target's
        name, call_id = memory.identify_call(tool, args, kwargs)
        try:
            # An error within a generator is one of the tool.
            result = read_iterator(tool(*args, **kwargs))
        except Exception as error:
            memory.store_error(name, call_id, error)
            raise
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError(
                f"{name} returned a {type(result).__name__}, which has to be awaited: wrap it with "
                "AsyncPagefault.wrap, or wrap an `async def` that awaits it"
            )
        return memory.remember(name, call_id, result)

    return call_and_store


def _is_coroutine_function(tool: Callable[..., object]) -> bool:
    """Return whether a tool is an `async def`, or a partial or an object that calls one."""
    while isinstance(tool, functools.partial):
        tool = tool.func
    return inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(type(tool).__call__)


def _wrap_coroutine(
    tool: Callable[P, Coroutine[Any, Any, object]], memory: Memory
) -> Callable[P, Coroutine[Any, Any, Any]]:
    @functools.wraps(tool)
    async def call_and_store(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - the target's
        name, call_id = memory.identify_call(tool, args, kwargs)
        try:
            result = read_iterator(await tool(*args, **kwargs))
        except Exception as error:
            await anyio.to_thread.run_sync(memory.store_error, name, call_id, error)
            raise
        return await anyio.to_thread.run_sync(memory.remember, name, call_id, result)

    return call_and_store
