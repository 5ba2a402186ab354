"""Ends work for clients that have left before their answer.

Writes that have begun are completed, although their client does not wait for the answer. Long work
without an effect except its answer runs in `until_departure`, step by step, and so do waits for a
turn. A step in a thread is completed. The HTTP layer sets the context variable that waits for the
departure of the client; commands do not set it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar

import anyio

from app.errors import MalformedRequestError
from app.services.concurrency.background import run_beside

wait_for_departure: ContextVar[Callable[[], Awaitable[None]] | None] = ContextVar(
    "wait_for_departure", default=None
)
"""Returns when the client of the current request has left."""


@asynccontextmanager
async def until_departure() -> AsyncIterator[None]:
    """Cancel the block when the client has left.

    Raises:
        MalformedRequestError: The client has left.
    """
    wait = wait_for_departure.get()
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
