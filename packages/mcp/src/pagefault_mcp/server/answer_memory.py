"""The memory of an answer at `/mcp`, which the SDK serialises as one value."""

from contextlib import ExitStack

from starlette.types import Message, Scope, Send

from app.errors import OverloadedError
from app.http.response_memory import PIECE_BYTES, body_message, count_reader, find_response_budget
from app.services.memory_budget.responses import ResponseMemory


class AnswerMemory(ExitStack):
    """A reservation of memory for one answer, until the end of the block.

    Clients that read a long answer slowly are cut off if others need the memory.

    Args:
        scope: The scope of the request.
        send: Sends the answer.
    """

    def __init__(self, scope: Scope, send: Send) -> None:
        super().__init__()
        self._scope = scope
        self._send = send
        self._reservation: ResponseMemory | None = None
        self._is_counted = False
        self._is_closed = False
        self.callback(self._release)

    async def hold(self, size_bytes: int) -> None:
        """Reserve memory for the answer, once.

        Raises:
            OverloadedError: It is not free within a second, or the client has disconnected.
        """
        reservation = await find_response_budget(self._scope).hold(size_bytes)
        # The handler may still run for a moment after its client has disconnected.
        if self._is_closed:
            reservation.release()
            raise OverloadedError
        self._reservation = reservation

    async def send(self, message: Message) -> None:
        """Send a message of the answer."""
        if self._reservation is not None and not self._is_counted:
            self._is_counted = True
            self._send = self.enter_context(
                count_reader(self._scope, self._reservation, self._send)
            )
        body = message.get("body", b"")
        if len(body) <= PIECE_BYTES:
            await self._send(message)
            return
        # The server waits before each piece until most of the previous one is sent.
        for start in range(0, len(body), PIECE_BYTES):
            await self._send(body_message(body[start : start + PIECE_BYTES]))
        await self._send(body_message(b"", more=message.get("more_body", False)))

    def _release(self) -> None:
        self._is_closed = True
        if self._reservation is not None:
            self._reservation.release()
