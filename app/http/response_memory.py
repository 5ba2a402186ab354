"""Answers that are counted in the budget of memory for as long as a client takes to read them.

A connection takes 64 KiB before its sender has to wait. An answer up to that length leaves the
application at once, and is bounded by the number of connections. A longer one stays in memory until
its reader has taken it, so its bytes are taken from the budget before its first byte is sent, and
it is a 503 if they do not fit. It is sent in pieces, and what its reader has taken is given back.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from app.errors import OverloadedError
from app.services.memory_budget.responses import Held, ResponseBudget, ResponseMemory

FREE_BYTES = 64 * 1024
"""The bytes a connection takes before its sender waits; answers up to this are not counted."""
_READING = ("GET", "HEAD")
PIECE_BYTES = 256 * 1024
"""The length of a piece of a long answer."""


class CountedResponse(Response):
    """A response whose body is counted until it is taken; called as the response would be.

    Args:
        response: The response, with all of its body.
        held: What was taken for it already, given back whatever happens; without it, the body is
            counted when it is sent.
    """

    def __init__(self, response: Response, held: Held | None = None) -> None:
        super().__init__(status_code=response.status_code)
        self.raw_headers = response.raw_headers
        self._response = response
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response.

        Raises:
            OverloadedError: There is no room for its body; nothing was sent. The answer to a write
                is sent all the same: what was asked for is done.
        """
        body_bytes = len(getattr(self._response, "body", b""))
        held = self._held or _take_memory(scope, body_bytes)
        try:
            if body_bytes:
                # The record it was made of is not in memory any more.
                held.resize(min(held.size_bytes, body_bytes))
            with count_reader(scope, held, send) as send_counted:
                send = self._in_pieces(held, send_counted) if body_bytes else send_counted
                await self._response(scope, receive, send)
        finally:
            held.release()

    def _in_pieces(self, held: Held, send: Send) -> Send:
        async def send_in_pieces(message: Message) -> None:
            if message["type"] != "http.response.body" or message.get("more_body", False):
                await send(message)
                return
            pieces = _pieces(message.pop("body", b""))
            # Nothing else keeps it: a piece is gone when it is taken.
            self._response.body = b""
            left_bytes = sum(map(len, pieces))
            while pieces:
                piece = pieces.popleft()
                left_bytes -= len(piece)
                await send(body_message(piece))
                held.resize(min(held.size_bytes, left_bytes + PIECE_BYTES))
            # The server waits here until most of the last one is taken.
            await send(body_message(b"", more=False))

        return send_in_pieces


def start_message(response: Response) -> Message:
    """Return the message that begins an answer with the status and headers of a response."""
    return {
        "type": "http.response.start",
        "status": response.status_code,
        "headers": response.raw_headers,
    }


def body_message(body: bytes, *, more: bool = True) -> Message:
    """Return the message of a piece of a body; `more` of it is to come, or it is the last."""
    return {"type": "http.response.body", "body": body, "more_body": more}


def count_response(response: Response) -> Response:
    """Return a response to be called in the place of one, which counts its body if it is long."""
    body = getattr(response, "body", b"")
    return CountedResponse(response) if len(body) > FREE_BYTES else response


def answer_with_memory(make: Callable[[], Response], held: ResponseMemory | None) -> Response:
    """Make an answer that takes over the memory of its record; if that fails, release the memory.

    Args:
        make: Makes it.
        held: The memory, if any was taken.
    """
    if held is None:
        return make()
    try:
        return CountedResponse(make(), held)
    except BaseException:
        held.release()
        raise


@contextmanager
def count_reader(scope: Scope, held: Held, send: Send) -> Iterator[Send]:
    """Count the client among the readers that are cut off if they are slow and memory is short.

    The bytes it takes are counted, and the time that pieces wait.
    """
    # Where the server cannot end a connection, its own deadlines do.
    abort = scope["state"].get("abort", lambda: None)
    with find_response_budget(scope).reading(held, abort) as reader:

        async def send_counted(message: Message) -> None:
            with reader.taking(len(message.get("body", b""))):
                await send(message)

        yield send_counted


def find_response_budget(scope: Scope) -> ResponseBudget:
    """Return the share of the memory budget that answers have in this process."""
    room: ResponseBudget = scope["state"]["services"][ResponseBudget]
    return room


def _take_memory(scope: Scope, body_bytes: int) -> ResponseMemory:
    """Take memory for an answer. The answer to a write takes none if there is no room."""
    room = find_response_budget(scope)
    try:
        return room.take(body_bytes)
    except OverloadedError:
        if scope["method"] in _READING:
            raise
        return room.take(0)


def _pieces(body: bytes) -> deque[bytes]:
    return deque(body[start : start + PIECE_BYTES] for start in range(0, len(body), PIECE_BYTES))
