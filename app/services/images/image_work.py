"""Decodes a few images at a time, in turns of their projects, with memory of the budget.

A file of a few kilobytes can decode to 80 MiB. Its header has the size, so that memory is reserved
before decoding. A waiting request may have memory for its body; there is no deadlock, since a
request with memory for pixels never waits for another one.

Quick images are decoded in a thread. All others are decoded by the worker, one at a time, so that
each can be ended at a deadline, or when its client leaves.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeAlias, TypeVar

import anyio.to_thread
import structlog

from app.models.limits import Limits
from app.models.resource_descriptor import FittedImage
from app.services.concurrency.client_disconnects import until_disconnect
from app.services.concurrency.large_work import LARGE_BYTES, ProjectTurns
from app.services.images.image_tasks import ImageTask, TooCostlyError
from app.services.images.image_worker import ImageWorker, UndecidedError
from app.services.memory_budget.budget import MemoryBudget
from pagefault_dialects.media.decoding_cost import DecodingCost, decoding_cost
from pagefault_dialects.model.resource import ImageRecipe

# More than a screenshot of 1280x800.
_QUICK_WORK = 1 << 20
_MAX_QUICK = 2
_WAITING = 64
# A normal progressive JPEG has ten scans.
_MAX_PASSES = 16
# Additional memory of the worker, which its allocator does not return.
_SLACK_BYTES = 16 * 1024 * 1024
_MIN_SECONDS = 4.0
_PIXELS_PER_SECOND = 2_000_000

_T = TypeVar("_T")
Decode: TypeAlias = Callable[[bytes, str, ImageRecipe | None], Awaitable[FittedImage | None]]
"""Runs a task on an image of a type; see `ImageTask`.

Raises `TooCostlyError`, and `UndecidedError` for lack of time or memory.
"""
_log = structlog.get_logger(__name__)


class ImageWork:
    """The turns of decoding, shared by all services like the memory of the process.

    Args:
        memory: The budget for pixels.
        limits: Limits the size of decoded images.
    """

    def __init__(self, memory: MemoryBudget, limits: Limits) -> None:
        self._memory = memory
        self._max_pixels = limits.image_pixels
        self._quick = ProjectTurns(waiting=_WAITING, at_once=_MAX_QUICK, of_project=_MAX_QUICK)
        self._slow = ProjectTurns(waiting=_WAITING, at_once=1)
        self._worker = ImageWorker()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """End the worker at the end of the block."""
        try:
            yield
        finally:
            await self._worker.end()

    async def cost_of(self, head: bytes, mime_type: str) -> DecodingCost | None:
        """Return the cost of an image from its first bytes; see `decoding_cost`."""
        read = partial(decoding_cost, head, mime_type, max_pixels=self._max_pixels)
        return await anyio.to_thread.run_sync(read)

    async def run(
        self,
        project_id: str,
        cost: DecodingCost,
        size_bytes: int,
        attempt: Callable[[Decode], Awaitable[_T]],
    ) -> _T:
        """Run `attempt` on an image in the turn of its project, and return its result.

        Args:
            project_id: The project of the image.
            cost: The cost from its header.
            size_bytes: The size of its file.
            attempt: Reads and decodes the image; may be called twice.

        Raises:
            MalformedRequestError: The client has disconnected, so the work was ended.
            OverloadedError: The memory was not available within a second, or too many images wait.
            TooCostlyError: The image was not decoded.
        """
        async with until_disconnect():
            if cost.is_bounded and cost.pixels <= _QUICK_WORK and size_bytes <= LARGE_BYTES:
                reserved_bytes = size_bytes + cost.memory_bytes
                # The header does not have the number of passes.
                with suppress(TooCostlyError):
                    async with self._quick.turn(project_id), self._memory.reserving(reserved_bytes):
                        return await attempt(self._decode_in_thread)
            return await self._run_in_worker(project_id, cost, size_bytes, attempt)

    @asynccontextmanager
    async def reserve(self, project_id: str, size_bytes: int) -> AsyncIterator[None]:
        """Reserve memory for a file that is made without decoding, in the turn of its project.

        Raises:
            OverloadedError: The memory was not available within a second, or too many files wait.
        """
        async with self._quick.turn(project_id), self._memory.reserving(size_bytes):
            yield

    async def _run_in_worker(
        self,
        project_id: str,
        cost: DecodingCost,
        size_bytes: int,
        attempt: Callable[[Decode], Awaitable[_T]],
    ) -> _T:
        # The file is in both processes.
        child_bytes = size_bytes + cost.memory_bytes + _SLACK_BYTES
        reserved_bytes = size_bytes + child_bytes
        if reserved_bytes > self._memory.limit_bytes:
            raise TooCostlyError(
                f"To decode it takes {reserved_bytes >> 20} MiB of memory, and there are "
                f"{self._memory.limit_bytes >> 20}, so no smaller image is made of it."
            )
        decode = partial(self._decode_in_worker, child_bytes, cost)
        async with self._slow.turn(project_id), self._memory.reserving(reserved_bytes):
            return await attempt(decode)

    async def _decode_in_thread(
        self, data: bytes, mime_type: str, recipe: ImageRecipe | None
    ) -> FittedImage | None:
        # Imported here, so that only processes that decode images load Pillow.
        from app.services.images.pixels import make_image  # noqa: PLC0415

        task = ImageTask(mime_type, recipe, self._max_pixels, _QUICK_WORK)
        try:
            return await anyio.to_thread.run_sync(make_image, data, task)
        except (MemoryError, OSError) as exc:
            _log.warning("image not made smaller", error=type(exc).__name__)
            raise UndecidedError from exc

    async def _decode_in_worker(
        self,
        memory_bytes: int,
        cost: DecodingCost,
        data: bytes,
        mime_type: str,
        recipe: ImageRecipe | None,
    ) -> FittedImage | None:
        task = ImageTask(mime_type, recipe, self._max_pixels, _MAX_PASSES * self._max_pixels)
        seconds = _MIN_SECONDS + min(cost.pixels, self._max_pixels) / _PIXELS_PER_SECOND
        return await self._worker.make(data, task, memory_bytes=memory_bytes, seconds=seconds)
