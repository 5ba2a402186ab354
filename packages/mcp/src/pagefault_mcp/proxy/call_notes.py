"""Recording of calls in the history, either before their answers or in one request with them."""

from typing import Final

import anyio

from pagefault_mcp.messages.request_tracker import PendingCall

# The longest wait for an answer that is stored with its call, and the longest such call.
_SOON_SECONDS = 0.05
_SHORT_CHARS = 16_384


class CallNote:
    """A call that has to be recorded in the history, alone or with its answer.

    One request stores both if the server answers at once and no other call follows. Other calls are
    recorded in their order.
    """

    def __init__(self, call: PendingCall, *, behind: "CallNote | None") -> None:
        self.call: Final = call
        self.is_finished: Final = anyio.Event()
        self._behind = behind
        self._is_due = anyio.Event()
        self._is_answered = False
        self._is_carried = False
        if behind is not None:
            behind._is_due.set()

    async def wait_for_early_answer(self) -> bool:
        """Wait briefly for the answer; return True if it will be stored with the call."""
        if self._behind is not None:
            await self._behind.is_finished.wait()
            self._behind = None
        if len(self.call.written) <= _SHORT_CHARS:
            with anyio.move_on_after(_SOON_SECONDS):
                await self._is_due.wait()
            self._is_carried = self._is_answered
        return self._is_carried

    async def take_answer(self) -> bool:
        """Report the answer; return True if the call is to be stored with it."""
        self._is_answered = True
        await self.finish()
        return self._is_carried

    async def finish(self) -> None:
        """Stop waiting for the answer, and wait until it is known how the call is recorded."""
        self._is_due.set()
        await self.is_finished.wait()
