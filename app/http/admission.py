"""Admits as many requests as are worked on at once, and queues a few more for a moment.

Who comes when all slots are taken waits a moment for one. Were it refused at once, clients that ask
again at once would keep the process busy with refusals, and those it works on would wait for that.
"""

import asyncio
from collections.abc import Callable

WAIT_SECONDS = 1.0
"""How long a request waits for a slot: no longer than it is then told to stay away."""


class Slot:
    """A request's slot among those that are worked on at once; left once.

    Args:
        leave: Makes room for another request; nothing, if it takes no room.
    """

    def __init__(self, leave: Callable[[], None] | None = None) -> None:
        self._leave = leave
        self.is_left = False
        """While the request goes on, it is then a stream without an end."""

    def leave(self) -> None:
        """Make room for another request."""
        if not self.is_left and self._leave is not None:
            self._leave()
        self.is_left = True


class Admission:
    """So many slots, given to those who wait in the order in which they came.

    Args:
        most: How many there are.
        most_waiting: How many may wait. Some of them may have gone: nobody says so before a slot
            is theirs.
    """

    def __init__(self, most: int, *, most_waiting: int) -> None:
        self._most = most
        self._most_waiting = most_waiting
        self._taken = 0
        # In order; a mapping, since those who give up leave from anywhere.
        self._waiting: dict[asyncio.Future[bool], None] = {}

    async def take(self) -> Slot | None:
        """A slot, or `None` if there was none for `WAIT_SECONDS`, or too many wait."""
        if self._taken < self._most:
            self._taken += 1
            return Slot(self._leave)
        return await self._wait() if len(self._waiting) < self._most_waiting else None

    async def _wait(self) -> Slot | None:
        loop = asyncio.get_running_loop()
        given = loop.create_future()
        self._waiting[given] = None
        giving_up = loop.call_later(WAIT_SECONDS, self._settle, given, False)
        try:
            return Slot(self._leave) if await given else None
        except asyncio.CancelledError:
            if given.done() and not given.cancelled() and given.result():
                self._leave()
            raise
        finally:
            giving_up.cancel()
            # Of one who is answered already, nothing is there.
            self._waiting.pop(given, None)

    def _leave(self) -> None:
        for given in self._waiting:
            if self._settle(given, True):
                return
        self._taken -= 1

    def _settle(self, given: "asyncio.Future[bool]", has_slot: bool) -> bool:
        """Answer one who waits, unless it has been answered; says whether it is now."""
        if given.done():
            return False
        given.set_result(has_slot)
        del self._waiting[given]
        return True
