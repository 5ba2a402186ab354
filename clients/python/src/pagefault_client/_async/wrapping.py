"""Wraps a tool so that its results are stored."""

# `_sync/wrapping.py` is written by hand, too.
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec

from pagefault_client._async.memory import AsyncMemory

P = ParamSpec("P")


def wrapped(
    tool: Callable[P, Awaitable[object] | object], memory: AsyncMemory
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
