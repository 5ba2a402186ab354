"""The client of the image worker, a child process that decodes costly images.

A decoder of hostile bytes has to be ended at a deadline, or when the HTTP client has disconnected.
A thread cannot be ended, so the worker is a process; `image_process.py` is its program. The worker
is started for the first image that needs it, and again after it was ended. It ends when it has been
idle for a while, or when the service has died.
"""

import json

import anyio
import structlog
from anyio.streams.buffered import BufferedByteReceiveStream

from app.models.resource_descriptor import FittedImage
from app.services.images.child_process import GRACE_SECONDS, ChildProcess, start_child
from app.services.images.image_tasks import MAX_LINE_BYTES, ImageResult, ImageTask, TooCostlyError
from pagefault_dialects.model.resource import DECODED_TYPES

_MODULE = "app.services.images.image_process"
_CHUNK_BYTES = 256 * 1024
# A worker that has ended closes its pipes. ValueError and TypeError mean a malformed result.
_WORKER_FAILURES = (
    *(OSError, ValueError, TypeError),
    *(anyio.BrokenResourceError, anyio.ClosedResourceError),
    *(anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound),
)
_log = structlog.get_logger(__name__)


class UndecidedError(Exception):
    """A task was given up for lack of time or memory, so it is undecided if an image can be made.

    The same task may succeed later.
    """


class ImageWorker:
    """Starts and ends a worker process, and sends it tasks.

    It belongs to one event loop, and runs one task at a time: the caller serialises the calls.
    """

    def __init__(self) -> None:
        self._process: ChildProcess | None = None

    async def make(
        self, data: bytes, task: ImageTask, *, memory_bytes: int, seconds: float
    ) -> FittedImage | None:
        """Run a task in the worker, and return the new image.

        If the caller is cancelled, the worker is ended.

        Args:
            data: The whole source image.
            task: The task.
            memory_bytes: The limit of additional memory of the worker.
            seconds: The time after which the worker is ended.

        Returns:
            The new image, or the source if it fits already; `None` if no image that fits can be
            made.

        Raises:
            TooCostlyError: The image was not decoded, because that would take too much work.
            UndecidedError: The worker ran out of time or memory, or has crashed.
        """
        # An existing worker may have ended while it was idle, so the task is retried with a new
        # one.
        attempts = 1 if self._process is None else 2
        for _ in range(attempts):
            try:
                with anyio.fail_after(seconds):
                    result, new_image = await self._run_task(data, task, memory_bytes, seconds)
            except TimeoutError as exc:
                await self._end_and_log("time", exc)
                raise UndecidedError from exc
            except _WORKER_FAILURES as exc:
                # A crash does not show that the image is damaged: decoders also crash when they
                # lack memory.
                await self._end_and_log("no answer", exc)
            except BaseException:
                await self.end()
                raise
            else:
                return _read_result(result, new_image, data)
        raise UndecidedError

    async def end(self) -> int:
        """End the worker process, and return its exit status; 0 if there is no process."""
        process, self._process = self._process, None
        return 0 if process is None else await process.end()

    async def _end_and_log(self, reason: str, exc: Exception) -> None:
        status = await self.end()
        _log.warning("image worker ended", reason=reason, error=type(exc).__name__, status=status)

    async def _run_task(
        self, data: bytes, task: ImageTask, memory_bytes: int, seconds: float
    ) -> tuple[ImageResult, bytes]:
        """Send a task to the worker, and return its result with the bytes of the new image."""
        if self._process is None:
            self._process = await start_child(_MODULE)
        child = self._process
        line = task.dump(
            size_bytes=len(data), memory_bytes=memory_bytes, seconds=seconds + GRACE_SECONDS
        )
        await child.stdin.send(line)
        for start in range(0, len(data), _CHUNK_BYTES):
            await child.stdin.send(data[start : start + _CHUNK_BYTES])
        stdout = BufferedByteReceiveStream(child.stdout)
        result = ImageResult(**json.loads(await stdout.receive_until(b"\n", MAX_LINE_BYTES)))
        # Hostile bytes may have taken over the worker, so its output is checked.
        if result.size_bytes > memory_bytes or result.mime_type not in {"", *DECODED_TYPES}:
            raise ValueError("a result that the worker never sends")
        return result, await stdout.receive_exactly(result.size_bytes)


def _read_result(result: ImageResult, new_image: bytes, source: bytes) -> FittedImage | None:
    """Return the image of a result, or raise its error; see `ImageWorker.make`."""
    match result.outcome:
        case "made":
            return FittedImage(new_image, result.mime_type, result.is_first_picture)
        case "same":
            return FittedImage(source, result.mime_type, result.is_first_picture)
        case "nothing":
            return None
        case "too-costly":
            raise TooCostlyError(result.reason)
    raise UndecidedError
