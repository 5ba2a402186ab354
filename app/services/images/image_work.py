"""Decodes images few at a time, each with memory of the budget for its pixels.

A file of a few kilobytes can decode to 80 MiB. How much it will be is known from its header, so
that much is held before anything is decoded. Whoever waits here may hold the body it came
with; that is safe, since nobody who holds memory for pixels waits for anything.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from app.models.limits import Limits
from app.services.memory_budget.budget import MemoryBudget

_IMAGES_AT_ONCE = 2
_BYTES_PER_PIXEL = 8
"""Pillow keeps four bytes for a pixel, and converting or turning an image makes another one."""

_LARGE_SHARE = 4


class ImageWork:
    """Turns at decoding; one for all services, since the memory is that of the process.

    Args:
        memory: What pixels take their bytes from.
        limits: The largest image that is decoded.
    """

    def __init__(self, memory: MemoryBudget, limits: Limits) -> None:
        self._memory = memory
        self._most_pixels = limits.image_pixels
        self._turns = anyio.CapacityLimiter(_IMAGES_AT_ONCE)
        self._large_turns = anyio.CapacityLimiter(1)

    @asynccontextmanager
    async def turn(
        self, size_bytes: int, width: int | None, height: int | None
    ) -> AsyncIterator[None]:
        """Hold what reading and decoding an image takes, for the length of the block.

        Args:
            size_bytes: How large its file is.
            width: Its pixels; `None` where they are not known, and then as many as may be.
            height: See `width`.

        Raises:
            OverloadedError: The memory was not free for a second.
        """
        pixels = width * height if width and height else self._most_pixels
        # A JPEG of more is decoded to a fraction, and anything else of more not at all.
        wanted_bytes = size_bytes + min(pixels, self._most_pixels) * _BYTES_PER_PIXEL
        is_large = wanted_bytes > self._memory.limit_bytes // _LARGE_SHARE
        turns = self._large_turns if is_large else self._turns
        async with turns, self._memory.holding(wanted_bytes):
            yield
