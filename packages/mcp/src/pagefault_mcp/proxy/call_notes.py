"""When a call of a tool is noted in the history: before its answer, or with it."""

from typing import Final

import anyio

from pagefault_mcp.messages.passing_requests import PendingCall

# How soon an answer comes that carries its call, and how long such a call is.
_SOON_SECONDS = 0.05
_SHORT_CHARS = 16_384


class CallNote:
    """A call that is noted in the history before its answer is, or that its answer carries there.

    Both are one request where the server answers at once, and nothing else is called meanwhile.
    Calls are noted in their order, but for those that go with their answers.
    """

    def __init__(self, call: PendingCall, *, behind: "CallNote | None") -> None:
        self.call: Final = call
        self.is_settled: Final = anyio.Event()
        self._behind = behind
        self._is_due = anyio.Event()
        self._is_answered = False
        self._is_carried = False
        if behind is not None:
            behind._is_due.set()

    async def wait_for_early_answer(self) -> bool:
        """Wait for an answer that comes soon; return whether it came, and carries the call."""
        if self._behind is not None:
            await self._behind.is_settled.wait()
            self._behind = None
        if len(self.call.written) <= _SHORT_CHARS:
            with anyio.move_on_after(_SOON_SECONDS):
                await self._is_due.wait()
            self._is_carried = self._is_answered
        return self._is_carried

    async def take_answer(self) -> bool:
        """Say that the answer is there; return whether it carries the call."""
        self._is_answered = True
        await self.settle()
        return self._is_carried

    async def settle(self) -> None:
        """Wait no longer for an answer; return when the call is noted, or its answer carries it."""
        self._is_due.set()
        await self.is_settled.wait()
