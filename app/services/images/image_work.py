"""Limits how many images a server process decodes at the same time, and how much memory they use.

A file of a few kilobytes can decode to 80 MiB. So the size in pixels is read from the header, and
memory is reserved from the budget of the process before decoding. A request that waits for this
memory may already have reserved memory for its body. There is no deadlock, since a request that has
memory for pixels waits for nothing else.

Small images are decoded in a thread. All others are decoded by the worker process, one at a time,
so that decoding can be ended at a deadline, or when the client disconnects.
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
from pagefault_dialects.media.decoding_cost import DecodingCost, estimate_decoding_cost
from pagefault_dialects.model.resource import ImageRecipe

# The number of pixels that a decoder may process in a thread: a screenshot of 1280x800 in one pass.
_MAX_THREAD_WORK = 1 << 20
_MAX_THREADS = 2
_MAX_WAITING = 64
# A normal progressive JPEG has ten scans.
_MAX_PASSES = 16
# Memory that the allocator of the worker does not return after a task.
_SLACK_BYTES = 16 * 1024 * 1024
_MIN_SECONDS = 4.0
_PIXELS_PER_SECOND = 2_000_000

_T = TypeVar("_T")
Decode: TypeAlias = Callable[[bytes, str, ImageRecipe | None], Awaitable[FittedImage | None]]
"""Makes a new image from the bytes of an image, its declared type and a recipe; see `ImageTask`.

It returns `None` if no image that fits the recipe can be made. It raises `TooCostlyError`, and
`UndecidedError` for lack of time or memory.
"""
_log = structlog.get_logger(__name__)


class ImageWork:
    """Runs the decoding of images. All services of a process share one instance.

    Args:
        memory: The budget from which memory for pixels is reserved.
        limits: The settings; `image_pixels` limits the size of decoded images.
    """

    def __init__(self, memory: MemoryBudget, limits: Limits) -> None:
        self._memory = memory
        self._max_pixels = limits.image_pixels
        self._thread_turns = ProjectTurns(
            max_waiting=_MAX_WAITING, max_running=_MAX_THREADS, max_per_project=_MAX_THREADS
        )
        self._worker_turns = ProjectTurns(max_waiting=_MAX_WAITING, max_running=1)
        self._worker = ImageWorker()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """End the worker process at the end of the block."""
        try:
            yield
        finally:
            await self._worker.end()

    async def cost_of(self, head: bytes, mime_type: str) -> DecodingCost | None:
        """Estimate in a thread the cost of decoding an image, from its first bytes.

        Returns:
            The cost; `None` if the header is unreadable, so the image cannot be decoded either.
        """
        estimate = partial(estimate_decoding_cost, head, mime_type, max_pixels=self._max_pixels)
        return await anyio.to_thread.run_sync(estimate)

    async def run(
        self,
        project_id: str,
        cost: DecodingCost,
        size_bytes: int,
        process: Callable[[Decode], Awaitable[_T]],
    ) -> _T:
        """Wait for a free thread or for the worker, then call `process` and return its result.

        Args:
            project_id: The project of the image. The projects take turns.
            cost: The cost of decoding the image; see `cost_of`.
            size_bytes: The size of the file.
            process: Reads the image, and calls the function that it gets to decode it. It is called
                with a function that uses a thread, and again with the worker if the image turns
                out to be too costly for a thread.

        Raises:
            MalformedRequestError: The client has disconnected, so the work was ended.
            OverloadedError: The memory was not available within a second, or too many images of the
                project wait.
            TooCostlyError: Decoding the image would take too much work or memory.
        """
        async with until_disconnect():
            if cost.is_bounded and cost.pixels <= _MAX_THREAD_WORK and size_bytes <= LARGE_BYTES:
                reserved_bytes = size_bytes + cost.memory_bytes
                # The number of passes is not in the header. It is counted in the thread.
                with suppress(TooCostlyError):
                    async with (
                        self._thread_turns.turn(project_id),
                        self._memory.reserving(reserved_bytes),
                    ):
                        return await process(self._decode_in_thread)
            return await self._run_in_worker(project_id, cost, size_bytes, process)

    @asynccontextmanager
    async def reserve(self, project_id: str, size_bytes: int) -> AsyncIterator[None]:
        """Reserve memory during the block, for a file that is made without decoding.

        The caller waits as in `run`.

        Raises:
            OverloadedError: The memory was not available within a second, or too many files of the
                project wait.
        """
        async with self._thread_turns.turn(project_id), self._memory.reserving(size_bytes):
            yield

    async def _run_in_worker(
        self,
        project_id: str,
        cost: DecodingCost,
        size_bytes: int,
        process: Callable[[Decode], Awaitable[_T]],
    ) -> _T:
        worker_bytes = size_bytes + cost.memory_bytes + _SLACK_BYTES
        # The bytes of the file are in the memory of both processes.
        reserved_bytes = size_bytes + worker_bytes
        if reserved_bytes > self._memory.limit_bytes:
            raise TooCostlyError(
                f"To decode it takes {reserved_bytes >> 20} MiB of memory, and there are "
                f"{self._memory.limit_bytes >> 20}, so no smaller image is made of it."
            )
        decode = partial(self._decode_in_worker, worker_bytes, cost)
        async with self._worker_turns.turn(project_id), self._memory.reserving(reserved_bytes):
            return await process(decode)

    async def _decode_in_thread(
        self, data: bytes, mime_type: str, recipe: ImageRecipe | None
    ) -> FittedImage | None:
        # Imported here, so that only processes that decode images load Pillow.
        from app.services.images.pixels import make_image  # noqa: PLC0415

        task = ImageTask(mime_type, recipe, self._max_pixels, _MAX_THREAD_WORK)
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
