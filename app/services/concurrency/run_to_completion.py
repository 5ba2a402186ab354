"""Steps that are not broken off in the middle."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import anyio

_T = TypeVar("_T")


async def run_to_completion(step: Coroutine[Any, Any, _T]) -> _T:
    """Run a step to its end, even if the caller is cancelled meanwhile; that takes effect after."""
    task = asyncio.ensure_future(step)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            await asyncio.gather(task, return_exceptions=True)
        raise
