"""The worker: decodes images one by one; a program of its own, since it may crash.

    python -m app.services.images.image_process

It reads tasks from standard input and writes answers to standard output until its input ends. Each
task has limits: the memory that may be mapped in addition, and the time after which the process
ends. An idle worker ends after a while.
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
        answers: Receives a line of JSON for each, followed by the bytes of the new image.
    """
    limit_process(seconds=_IDLE_SECONDS)
    while line := tasks.readline():
        task = json.loads(line)
        size_bytes, memory_bytes = task.pop("size_bytes"), mapped_bytes() + task.pop("memory_bytes")
        limit_process(seconds=task.pop("seconds"), memory_bytes=memory_bytes)
        data = tasks.read(size_bytes)
        answer, made = _work(load_task(task), data)
        del data
        answers.write(answer.dump())
        answers.write(made)
        answers.flush()
        del made
        limit_process(seconds=_IDLE_SECONDS)
        # Freed memory is returned to the system, so that the idle worker is small.
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
            trim(0)


def _work(task: ImageTask, data: bytes) -> tuple[ImageAnswer, bytes]:
    try:
        made = make_image(data, task)
    except TooCostlyError as exc:
        return ImageAnswer("too-costly", reason=exc.reason), b""
    except (MemoryError, OSError):
        return ImageAnswer("out-of-memory"), b""
    if made is None:
        return ImageAnswer("nothing"), b""
    if made.data is data:
        return ImageAnswer("same", 0, made.mime_type, made.is_first_picture), b""
    answer = ImageAnswer("made", len(made.data), made.mime_type, made.is_first_picture)
    return answer, made.data


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
