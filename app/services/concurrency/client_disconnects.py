"""Cancellation of work whose client has disconnected before the response.

Long work that only makes a response runs in `until_disconnect`, step by step, and so do waits for a
turn. Writes that have begun, and steps in threads, are completed nevertheless. The HTTP layer sets
the context variable `wait_for_disconnect`; commands do not set it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar

import anyio

from app.errors import MalformedRequestError
from app.services.concurrency.background import run_beside

wait_for_disconnect: ContextVar[Callable[[], Awaitable[None]] | None] = ContextVar(
    "wait_for_disconnect", default=None
)
"""A function that returns when the client of the current request has disconnected."""


@asynccontextmanager
async def until_disconnect() -> AsyncIterator[None]:
    """Cancel the block when the client has disconnected.

    Raises:
        MalformedRequestError: The client has disconnected.
    """
    wait = wait_for_disconnect.get()
    if wait is None:
        yield
        return

    async def cancel() -> None:
        await wait()
        scope.cancel()

    with anyio.CancelScope() as scope:
        async with run_beside(cancel()):
            yield
    if scope.cancelled_caught:
        raise MalformedRequestError("The client left before the answer. Nothing was stored.")
