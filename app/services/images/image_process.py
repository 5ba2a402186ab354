"""The image worker: a process that decodes images, so that a crash does not end the service.

    python -m app.services.images.image_process

It reads tasks from standard input, one after the other, and writes answers to standard output,
until the input ends. Each task limits the additional memory of the process, and its time: after
that time, the process is ended. An idle worker ends after 30 seconds.
"""

import ctypes
import json
import sys
from typing import BinaryIO

from app.services.images.child_process import limit_process, mapped_bytes
from app.services.images.image_tasks import ImageAnswer, ImageTask, TooCostlyError, load_task
from app.services.images.pixels import make_image

_IDLE_SECONDS = 30.0


def main(tasks: BinaryIO, answers: BinaryIO) -> None:
    """Process tasks until the input ends.

    Args:
        tasks: Lines of JSON, each followed by the bytes of an image.
        answers: For each task, a line of JSON is written, followed by the bytes of the new image.
    """
    limit_process(seconds=_IDLE_SECONDS)
    while line := tasks.readline():
        task = json.loads(line)
        size_bytes, memory_bytes = task.pop("size_bytes"), mapped_bytes() + task.pop("memory_bytes")
        limit_process(seconds=task.pop("seconds"), memory_bytes=memory_bytes)
        data = tasks.read(size_bytes)
        answer, new_image = _process(load_task(task), data)
        del data
        answers.write(answer.dump())
        answers.write(new_image)
        answers.flush()
        del new_image
        limit_process(seconds=_IDLE_SECONDS)
        # Return freed memory to the operating system, because the worker may now be idle.
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
            trim(0)


def _process(task: ImageTask, data: bytes) -> tuple[ImageAnswer, bytes]:
    try:
        image = make_image(data, task)
    except TooCostlyError as exc:
        return ImageAnswer("too-costly", reason=exc.reason), b""
    except (MemoryError, OSError):
        return ImageAnswer("out-of-memory"), b""
    if image is None:
        return ImageAnswer("nothing"), b""
    if image.data is data:
        return ImageAnswer("same", 0, image.mime_type, image.is_first_picture), b""
    answer = ImageAnswer("made", len(image.data), image.mime_type, image.is_first_picture)
    return answer, image.data


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
