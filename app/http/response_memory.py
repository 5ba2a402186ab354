"""Responses whose memory is reserved in the budget until the client has received them.

A connection buffers 64 KiB. A response of this length leaves the application immediately, so the
number of connections limits the memory of such responses. A longer response stays in memory until
the client has received it. Its memory is reserved before the first byte is sent; if there is not
enough, the response is a 503. It is sent in pieces, and the memory of each piece is released when
the client has received the piece.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from app.errors import OverloadedError
from app.services.memory_budget.responses import ReservedMemory, ResponseBudget, ResponseMemory

FREE_BYTES = 64 * 1024
"""The bytes that a connection buffers; no memory is reserved for responses up to this length."""
_READ_METHODS = ("GET", "HEAD")
PIECE_BYTES = 256 * 1024
"""The length of a piece of a long response."""


class BudgetedResponse(Response):
    """A response whose memory is reserved until the client has received it.

    Args:
        response: The response, with its whole body.
        reserved: Memory that is already reserved; it is always released. Without it, memory is
            reserved when the response is sent.
    """

    def __init__(self, response: Response, reserved: ReservedMemory | None = None) -> None:
        super().__init__(status_code=response.status_code)
        self.raw_headers = response.raw_headers
        self._response = response
        self._reserved = reserved

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response.

        Raises:
            OverloadedError: There is not enough memory; nothing was sent. Responses to writes are
                always sent, because the write is complete.
        """
        body_bytes = len(getattr(self._response, "body", b""))
        reserved = self._reserved or _take_memory(scope, body_bytes)
        try:
            if body_bytes:
                # The record from which the body was built is not in memory any more.
                reserved.resize(min(reserved.size_bytes, body_bytes))
            with watch_reader(scope, reserved, send) as send_counted:
                send = self._in_pieces(reserved, send_counted) if body_bytes else send_counted
                await self._response(scope, receive, send)
        finally:
            reserved.release()

    def _in_pieces(self, reserved: ReservedMemory, send: Send) -> Send:
        """Return a `send` that sends the body in pieces, and releases their memory."""

        async def send_in_pieces(message: Message) -> None:
            if message["type"] != "http.response.body" or message.get("more_body", False):
                await send(message)
                return
            body = message.pop("body", b"")
            starts = range(0, len(body), PIECE_BYTES)
            pieces = deque(body[start : start + PIECE_BYTES] for start in starts)
            # Without other references to the whole body, each piece is freed after it was sent.
            del body
            self._response.body = b""
            remaining_bytes = sum(map(len, pieces))
            while pieces:
                piece = pieces.popleft()
                remaining_bytes -= len(piece)
                await send(build_body_message(piece))
                reserved.resize(min(reserved.size_bytes, remaining_bytes + PIECE_BYTES))
            # The server waits here until the client has received most of the last piece.
            await send(build_body_message(b"", more=False))

        return send_in_pieces


def build_start_message(response: Response) -> Message:
    """Return the ASGI message with the status and headers of a response."""
    return {
        "type": "http.response.start",
        "status": response.status_code,
        "headers": response.raw_headers,
    }


def build_body_message(body: bytes, *, more: bool = True) -> Message:
    """Return the ASGI message with a piece of a body; `more` is False for the last one."""
    return {"type": "http.response.body", "body": body, "more_body": more}


def reserve_response_memory(response: Response) -> Response:
    """Wrap a response with a long body, so that its memory is reserved while it is sent."""
    body = getattr(response, "body", b"")
    return BudgetedResponse(response) if len(body) > FREE_BYTES else response


def build_response_with_memory(
    make: Callable[[], Response], reserved: ResponseMemory | None
) -> Response:
    """Build a response that releases memory after it was sent.

    If building it fails, the memory is released immediately.

    Args:
        make: Builds the response.
        reserved: The memory that was reserved for the content, or `None`.
    """
    if reserved is None:
        return make()
    try:
        return BudgetedResponse(make(), reserved)
    except BaseException:
        reserved.release()
        raise


@contextmanager
def watch_reader(scope: Scope, reserved: ReservedMemory, send: Send) -> Iterator[Send]:
    """Watch how fast a client receives a response. If memory is short, slow clients are aborted.

    Yields:
        A `send` that counts the bytes that the client receives, and the time for which they wait.
    """
    # Only the server in `app.server` adds `abort` to the state; other servers have timeouts.
    abort = scope["state"].get("abort", lambda: None)
    with find_response_budget(scope).reading(reserved, abort) as reader:

        async def send_counted(message: Message) -> None:
            with reader.sending(len(message.get("body", b""))):
                await send(message)

        yield send_counted


def find_response_budget(scope: Scope) -> ResponseBudget:
    """Return the part of the memory budget of this process for responses."""
    budget: ResponseBudget = scope["state"]["services"][ResponseBudget]
    return budget


def _take_memory(scope: Scope, body_bytes: int) -> ResponseMemory:
    """Reserve memory for a response.

    Raises:
        OverloadedError: There is not enough for the response to a read. The response to a write is
            sent nevertheless, without reserved memory, because the write is complete.
    """
    budget = find_response_budget(scope)
    try:
        return budget.take(body_bytes)
    except OverloadedError:
        if scope["method"] in _READ_METHODS:
            raise
        return budget.take(0)
