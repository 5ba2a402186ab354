"""Cancels the work for a response if the client disconnects.

Long work that only makes a response runs in blocks of `until_disconnect`. So does waiting for a
limit of concurrent work. A write, or a step in a thread, is not interrupted once it has begun. The
HTTP layer sets the context variable `wait_for_disconnect`. Commands do not set it, so their work is
never cancelled.
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
"""A function that waits until the client of the current request disconnects; `None` if there is no
client."""


@asynccontextmanager
async def until_disconnect() -> AsyncIterator[None]:
    """Cancel the block if the client disconnects.

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
