"""What one request body takes of the memory budget, while it arrives and while it is worked on.

Work on a text takes several times its bytes: the joined body, the text made of it, the values
parsed out of that, what is written of them. How many times depends on the text. CPython keeps one
byte, two or four for each character of a string, as its widest character needs, and a container
takes more than its brackets.
"""

import re

import anyio.from_thread

from app.errors import PayloadTooLargeError
from app.services.memory_budget import HeldMemory, MemoryBudget

FREE_BYTES = 16 * 1024
"""A body of no more takes nothing of the budget: most requests are small, and many at once."""

_STEP_BYTES = 256 * 1024
_BYTE_COPIES = 3
_TEXT_COPIES = 3
_CONTAINER_BYTES = 240
_MEMBER_BYTES = 64
_LONGEST_ESCAPE = 6
# U+0100 and above are two bytes or four in a string, and begin with these in UTF-8.
_WIDE = re.compile(rb"[\xc4-\xef]|\\u")
_WIDEST = re.compile(rb"[\xf0-\xf4]|\\u[dD][89a-fA-F]")


class TextWeight:
    """What working on a JSON text takes, judged by its bytes; any thread, one at a time."""

    def __init__(self) -> None:
        self._width = 1
        self._value_bytes = 0
        self._end = b""

    def add(self, data: bytes) -> None:
        """Look at the next bytes."""
        containers = data.count(b"[") + data.count(b"{")
        self._value_bytes += containers * _CONTAINER_BYTES + data.count(b",") * _MEMBER_BYTES
        if self._width < 4:
            self._widen(data)
            # An escape may be cut in two.
            self._widen(self._end + data[:_LONGEST_ESCAPE])
            self._end = data[-_LONGEST_ESCAPE:]

    def work_bytes(self, text_bytes: int) -> int:
        """How much memory work on so many bytes of this text takes at most, roughly."""
        return text_bytes * (_BYTE_COPIES + _TEXT_COPIES * self._width) + self._value_bytes

    def _widen(self, data: bytes) -> None:
        if data.isascii() and b"\\u" not in data:
            return
        if _WIDEST.search(data):
            self._width = 4
        elif self._width < 2 and _WIDE.search(data):
            self._width = 2


class BodyBudget:
    """What all bodies of the process may take: half of the budget while they arrive.

    The other half is left for work on those that have arrived, and for answers.

    Args:
        memory: The budget.
        text_limit_bytes: How many bytes of text one body may keep in memory.
    """

    def __init__(self, memory: MemoryBudget, *, text_limit_bytes: int) -> None:
        self.memory = memory
        self.arriving = MemoryBudget(memory.limit_bytes // 2)
        self.text_limit_bytes = text_limit_bytes


class BodyMemory:
    """What one body holds of the budget. Release it, whatever has come of the request."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._arriving: HeldMemory | None = None
        self._held: HeldMemory | None = None
        self._text_bytes = 0
        self._weight = TextWeight()
        self.size_bytes = FREE_BYTES
        """How much may be kept before more has to be asked for."""

    async def keep(self, size_bytes: int) -> None:
        """Hold so many bytes in all, and some for those to come.

        Call it where `size_bytes` is exceeded, before any more is kept.

        Raises:
            OverloadedError: They do not fit now.
        """
        self.size_bytes = -(-size_bytes // _STEP_BYTES) * _STEP_BYTES
        if self._arriving is None:
            self._arriving = await self._budget.arriving.hold(self.size_bytes)
        if self._held is None:
            self._held = await self._budget.memory.hold(self.size_bytes)
        grow_within(self._arriving, self._budget.arriving, self.size_bytes)
        grow_within(self._held, self._budget.memory, self.size_bytes)

    def check_text(self, text_bytes: int) -> None:
        """Refuse a body that keeps so many bytes of text, if they are too many.

        Raises:
            PayloadTooLargeError: They are.
        """
        limit_bytes = self._budget.text_limit_bytes
        if text_bytes > limit_bytes:
            raise PayloadTooLargeError(
                f"The text of a request body may have {limit_bytes} bytes of JSON, beside media "
                "in base64. Store what is longer with `POST /api/resources`, which takes "
                "it as a stream, and refer to it. Nothing was stored.",
                code="text-too-large",
            )

    def weigh(self, data: bytes) -> None:
        """Look at bytes that will be worked on; for worker threads, as they read."""
        self._weight.add(data)

    def hold_work(self, text_bytes: int) -> None:
        """Hold what work on so many more bytes of text takes; for worker threads, before it.

        Raises:
            OverloadedError: That does not fit now.
            PayloadTooLargeError: With what there was before it is too much text.
        """
        if not text_bytes:
            return
        self._text_bytes += text_bytes
        self.check_text(self._text_bytes)
        if self._held is not None:
            work_bytes = self._weight.work_bytes(self._text_bytes)
            anyio.from_thread.run_sync(grow_within, self._held, self._budget.memory, work_bytes)

    def release(self) -> None:
        """Give everything back."""
        for held in (self._arriving, self._held):
            if held is not None:
                held.release()


def grow_within(held: HeldMemory, budget: MemoryBudget, size_bytes: int) -> None:
    """Hold so many bytes in all; one that takes more than there are has all of them alone."""
    size_bytes = min(size_bytes, budget.limit_bytes)
    if size_bytes > held.size_bytes:
        held.resize(size_bytes)
