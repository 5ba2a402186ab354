"""The memory that an answer at `/mcp` takes: the SDK makes its JSON of one whole value."""

from contextlib import ExitStack

from starlette.types import Message, Scope, Send

from app.errors import OverloadedError
from app.http.response_memory import PIECE_BYTES, body_message, count_reader, find_response_budget
from app.services.memory_budget.responses import ResponseMemory


class AnswerMemory(ExitStack):
    """Holds memory for one answer until the end of the block; nothing at first.

    Clients who read a long answer slowly are cut off where others need the memory.

    Args:
        scope: The scope of the request.
        send: Sends the answer.
    """

    def __init__(self, scope: Scope, send: Send) -> None:
        super().__init__()
        self._scope = scope
        self._send = send
        self._held: ResponseMemory | None = None
        self._is_counted = False
        self._is_over = False
        self.callback(self._release)

    async def hold(self, size_bytes: int) -> None:
        """Take so many bytes of the share of answers, once.

        Raises:
            OverloadedError: They are not free for a second, or the client has gone.
        """
        held = await find_response_budget(self._scope).hold(size_bytes)
        # What answers a request may go on for a moment after its client has gone.
        if self._is_over:
            held.release()
            raise OverloadedError
        self._held = held

    async def send(self, message: Message) -> None:
        """Send a message of the answer."""
        if self._held is not None and not self._is_counted:
            self._is_counted = True
            self._send = self.enter_context(count_reader(self._scope, self._held, self._send))
        body = message.get("body", b"")
        if len(body) <= PIECE_BYTES:
            await self._send(message)
            return
        # The server waits before each piece until most of the one before is taken.
        for start in range(0, len(body), PIECE_BYTES):
            await self._send(body_message(body[start : start + PIECE_BYTES]))
        await self._send(body_message(b"", more=message.get("more_body", False)))

    def _release(self) -> None:
        self._is_over = True
        if self._held is not None:
            self._held.release()
