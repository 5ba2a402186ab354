"""Answers that are counted in the budget of memory for as long as a client takes to read them.

A connection takes 64 KiB before its sender has to wait. An answer up to that length leaves the
application at once, and is bounded by the number of connections. A longer one stays in memory until
its reader has taken it, so it takes its bytes from the budget before its first byte is sent, and
is a 503 if they do not fit.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from app.services.memory_budget import HeldMemory, MemoryBudget

FREE_BYTES = 64 * 1024
"""What a connection takes before its sender has to wait; answers up to this are not counted."""


class HeldAnswer:
    """A response whose body is counted until it is taken; called as the response would be.

    Args:
        response: The response, with all of its body.
    """

    def __init__(self, response: Response) -> None:
        self._response = response

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response.

        Raises:
            OverloadedError: There is no room for its body; nothing was sent.
        """

        async def send_and_wait(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                # The server waits at the second message until most of the first is taken.
                await send({**message, "more_body": True})
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        with holding(scope, len(self._response.body)):
            await self._response(scope, receive, send_and_wait)


class HoldingAnswer(Response):
    """Sends another response, and gives back the memory that was taken for it, whatever happens.

    Args:
        response: The response.
        held: What was taken.
    """

    def __init__(self, response: Response, held: HeldMemory) -> None:
        super().__init__(status_code=response.status_code)
        self.raw_headers = response.raw_headers
        self._response = response
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        try:
            await self._response(scope, receive, send)
        finally:
            self._held.release()


def counted(response: Response) -> Response | HeldAnswer:
    """Return a response to be called in the place of one, which counts its body if it is long."""
    body = getattr(response, "body", b"")
    return HeldAnswer(response) if len(body) > FREE_BYTES else response


@contextmanager
def holding(scope: Scope, size_bytes: int) -> Iterator[None]:
    """Count bytes that are in memory already for the length of the block.

    Raises:
        OverloadedError: They do not fit.
    """
    budget = budget_of(scope)
    held = HeldMemory(budget, 0)
    # An answer larger than the whole budget is sent when it has all of it.
    held.grow(min(size_bytes, budget.limit_bytes))
    try:
        yield
    finally:
        held.release()


def budget_of(scope: Scope) -> MemoryBudget:
    """The budget of the process."""
    budget: MemoryBudget = scope["state"]["container"].memory
    return budget
