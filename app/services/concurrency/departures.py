"""Clients that leave before their answer: ends the work that is of no use without them.

Writes that have begun go on: what a client sent is stored although it does not wait to hear so.
Work that takes long and has no effect but its answer is put into `until_departure`, step by step,
and so is the wait for a turn. A step that a thread has begun goes on to its end. The edge says how
to wait for the departure of the client of a request, in a context variable; where it says nothing,
as in a command, no client leaves.
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
        MalformedRequestError: It has, so there is nobody to read why.
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
