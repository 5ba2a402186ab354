"""Wraps a tool so that its results are stored."""

# `_async/wrapping.py` is written by hand, too.
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, cast

import anyio.to_thread

from pagefault_client._sync.memory import Memory

P = ParamSpec("P")


def wrapped(tool: Callable[P, object], memory: Memory) -> Callable[P, Any]:
    """Return a function that runs a tool and returns what the model should see of its result.

    One that awaits gives one that awaits, which stores the result in a thread.
    """
    if _is_awaited(tool):
        return _wrapped_coroutine(cast("Callable[P, Coroutine[Any, Any, object]]", tool), memory)

    @functools.wraps(tool)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - the target's
        name, call_id = memory.call_of(tool, args, kwargs)
        try:
            result = tool(*args, **kwargs)
        except Exception as error:
            memory.keep_error(name, call_id, error)
            raise
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError(
                f"{name} returned a {type(result).__name__}, which has to be awaited: wrap it with "
                "AsyncPagefault.wrap, or wrap an `async def` that awaits it"
            )
        return memory.keep(name, call_id, result)

    return remembered


def _is_awaited(tool: Callable[..., object]) -> bool:
    """Return whether a tool is an `async def`, or a part or an object that calls one."""
    while isinstance(tool, functools.partial):
        tool = tool.func
    return inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(type(tool).__call__)


def _wrapped_coroutine(
    tool: Callable[P, Coroutine[Any, Any, object]], memory: Memory
) -> Callable[P, Coroutine[Any, Any, Any]]:
    @functools.wraps(tool)
    async def remembered(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - the target's
        name, call_id = memory.call_of(tool, args, kwargs)
        try:
            result = await tool(*args, **kwargs)
        except Exception as error:
            await anyio.to_thread.run_sync(memory.keep_error, name, call_id, error)
            raise
        return await anyio.to_thread.run_sync(memory.keep, name, call_id, result)

    return remembered
