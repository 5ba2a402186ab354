"""The worker of a server process: a process that decodes costly images, one at a time.

A decoder of hostile bytes has to be ended at its deadline, or when the client has left, and a
thread cannot be ended. So the worker is a process. It is started when an image needs it, and again
after it was ended. It ends when it has been idle for a while, or when the service has died.
"""

import json

import anyio
import structlog
from anyio.streams.buffered import BufferedByteReceiveStream

from app.models.resource_descriptor import FittedImage
from app.services.images.child_process import GRACE_SECONDS, ChildProcess, start_child
from app.services.images.image_tasks import MAX_LINE_BYTES, ImageAnswer, ImageTask, TooCostlyError
from pagefault_dialects.model.resource import DECODED_TYPES

_MODULE = "app.services.images.image_process"
_PIECE_BYTES = 256 * 1024
_WORKER_FAILURES = (
    *(OSError, ValueError, TypeError),
    *(anyio.BrokenResourceError, anyio.ClosedResourceError),
    *(anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound),
)
_log = structlog.get_logger(__name__)


class UndecidedError(Exception):
    """The worker gave no result: its time or memory was exhausted, or it was ended."""


class ImageWorker:
    """A worker, for one event loop and one image at a time."""

    def __init__(self) -> None:
        self._process: ChildProcess | None = None

    async def make(
        self, data: bytes, task: ImageTask, *, memory_bytes: int, seconds: float
    ) -> FittedImage | None:
        """Run a task on an image; return the new image, or `None` if it is not possible.

        If the caller is cancelled, the worker is ended.

        Args:
            data: The whole image.
            task: The task.
            memory_bytes: The limit of additional memory of the worker.
            seconds: The time after which the worker is ended.

        Raises:
            TooCostlyError: The image was not decoded.
            UndecidedError: The worker gave no result.
        """
        # Retried once with an existing worker, which may have ended while it was idle.
        attempts = 1 if self._process is None else 2
        for _ in range(attempts):
            try:
                with anyio.fail_after(seconds):
                    answer, image = await self._send_task(data, task, memory_bytes, seconds)
            except TimeoutError as exc:
                await self._end_because("time", exc)
                raise UndecidedError from exc
            except _WORKER_FAILURES as exc:
                # Even a crash gives no result, since decoders also crash for lack of memory.
                await self._end_because("no answer", exc)
            except BaseException:
                await self.end()
                raise
            else:
                return _read_answer(answer, image, data)
        raise UndecidedError

    async def end(self) -> int:
        """End the worker, if there is one; return its status."""
        process, self._process = self._process, None
        return 0 if process is None else await process.end()

    async def _end_because(self, reason: str, exc: Exception) -> None:
        status = await self.end()
        _log.warning("image worker ended", reason=reason, error=type(exc).__name__, status=status)

    async def _send_task(
        self, data: bytes, task: ImageTask, memory_bytes: int, seconds: float
    ) -> tuple[ImageAnswer, bytes]:
        if self._process is None:
            self._process = await start_child(_MODULE)
        child = self._process
        line = task.dump(
            size_bytes=len(data), memory_bytes=memory_bytes, seconds=seconds + GRACE_SECONDS
        )
        await child.stdin.send(line)
        for start in range(0, len(data), _PIECE_BYTES):
            await child.stdin.send(data[start : start + _PIECE_BYTES])
        answers = BufferedByteReceiveStream(child.stdout)
        answer = ImageAnswer(**json.loads(await answers.receive_until(b"\n", MAX_LINE_BYTES)))
        if answer.size_bytes > memory_bytes or answer.mime_type not in {"", *DECODED_TYPES}:
            raise ValueError("an answer that the worker does not give")
        return answer, await answers.receive_exactly(answer.size_bytes)


def _read_answer(answer: ImageAnswer, new_image: bytes, data: bytes) -> FittedImage | None:
    match answer.outcome:
        case "made" | "same":
            image = data if answer.outcome == "same" else new_image
            return FittedImage(image, answer.mime_type, answer.is_first_picture)
        case "nothing":
            return None
        case "too-costly":
            raise TooCostlyError(answer.reason)
    raise UndecidedError
