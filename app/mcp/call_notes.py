"""When a call of a tool is noted in the history: before its answer, or with it."""

from typing import Final

import anyio

from app.mcp.calls import ToolCall

# How soon an answer comes that takes its call to the history, and how long such a call is.
_SOON_SECONDS = 0.05
_SHORT_CHARS = 16_384


class CallNote:
    """A call that is noted in the history before its answer is, or with it.

    Both are one request where the server answers at once, and nothing else is called meanwhile.
    Calls are noted in their order, but for those that go with their answers.
    """

    def __init__(self, call: ToolCall, *, behind: "CallNote | None") -> None:
        self.call: Final = call
        self.is_settled: Final = anyio.Event()
        self._behind = behind
        self._is_due = anyio.Event()
        self._is_answered = False
        self._is_left = False
        if behind is not None:
            behind._is_due.set()

    async def is_left(self) -> bool:
        """Wait for an answer that comes soon; tell whether it came, so that it takes the call."""
        if self._behind is not None:
            await self._behind.is_settled.wait()
            self._behind = None
        if len(self.call.written) <= _SHORT_CHARS:
            with anyio.move_on_after(_SOON_SECONDS):
                await self._is_due.wait()
            self._is_left = self._is_answered
        return self._is_left

    async def is_left_when_answered(self) -> bool:
        """Say that the answer is there; tell whether it takes the call, once that is known."""
        self._is_answered = True
        await self.settle()
        return self._is_left

    async def settle(self) -> None:
        """Wait until it is noted, or left to its answer if that is there; for no other answer."""
        self._is_due.set()
        await self.is_settled.wait()
