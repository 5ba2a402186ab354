"""The program of the image worker: it decodes images, so that a crash does not end the service.

    python -m app.services.images.image_process

`ImageWorker` starts it. The program reads tasks from standard input, one after the other, and
writes the results to standard output, until the input ends. Each task limits the additional memory
of the process, and its time, after which the process is ended. An idle worker ends after 30
seconds.
"""

import ctypes
import json
import sys
from typing import BinaryIO

from app.services.images.child_process import limit_process, read_mapped_bytes
from app.services.images.image_tasks import ImageResult, ImageTask, TooCostlyError, load_task
from app.services.images.pixels import make_image

_IDLE_SECONDS = 30.0


def main(stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Run tasks until the input ends.

    Args:
        stdin: Lines of JSON, see `ImageTask.dump`, each followed by the bytes of an image.
        stdout: For each task, the line of an `ImageResult` is written, followed by the bytes of the
            new image.
    """
    limit_process(seconds=_IDLE_SECONDS)
    while line := stdin.readline():
        fields = json.loads(line)
        size_bytes = fields.pop("size_bytes")
        memory_bytes = read_mapped_bytes() + fields.pop("memory_bytes")
        limit_process(seconds=fields.pop("seconds"), memory_bytes=memory_bytes)
        data = stdin.read(size_bytes)
        result, new_image = _run_task(load_task(fields), data)
        del data
        stdout.write(result.dump())
        stdout.write(new_image)
        stdout.flush()
        del new_image
        limit_process(seconds=_IDLE_SECONDS)
        # Return freed memory to the operating system, because the worker may now be idle.
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
            trim(0)


def _run_task(task: ImageTask, data: bytes) -> tuple[ImageResult, bytes]:
    """Return the result of a task, and the bytes of the new image, empty if there is none."""
    try:
        image = make_image(data, task)
    except TooCostlyError as exc:
        return ImageResult("too-costly", reason=exc.reason), b""
    except (MemoryError, OSError):
        return ImageResult("out-of-memory"), b""
    if image is None:
        return ImageResult("nothing"), b""
    if image.data is data:
        return ImageResult("same", 0, image.mime_type, image.is_first_picture), b""
    result = ImageResult("made", len(image.data), image.mime_type, image.is_first_picture)
    return result, image.data


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
