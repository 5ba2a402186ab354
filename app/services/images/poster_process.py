"""Writes the first key frame of a video as a JPEG; a program of its own, since it may crash.

    python -m app.services.images.poster_process FORMAT PATH MEMORY_BYTES SECONDS

Decoders of video are large, written in C, and read hostile bytes. So they run in a process with
limits of memory and time, which opens only one file: the format is an argument, so that a playlist
is not read as a video, and other protocols than files are disabled.
"""

import io
import sys
from typing import TYPE_CHECKING

from app.services.images.child_process import (
    limit_process,
    lower_priority,
    mapped_bytes,
    max_mapped_bytes,
)

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 3_840 * 2_160
NO_PICTURE, TOO_LARGE = 3, 4
"""Statuses about the video; others are about the process."""
_MAX_MEMORY_BYTES = 512 * 1024 * 1024
# The largest single allocation.
_ROOM_BYTES = 48 * 1024 * 1024
_MAX_SIDE = 1280
_QUALITY = 80


def main(video_format: str, path: str, memory_bytes: int, seconds: float) -> int:
    """Write the frame to standard output; return the exit status.

    Args:
        video_format: FFmpeg's name of the format.
        path: The file.
        memory_bytes: The limit of mapped memory in addition to the loaded decoders.
        seconds: The time after which the process ends.
    """
    lower_priority()
    limit_process(seconds=seconds, memory_bytes=_MAX_MEMORY_BYTES)
    import av  # noqa: F401, PLC0415 - an optional package, for this process alone
    import PIL.JpegImagePlugin  # noqa: F401, PLC0415 - before memory is limited

    max_bytes = min(_MAX_MEMORY_BYTES, mapped_bytes() + memory_bytes)
    limit_process(seconds=seconds, memory_bytes=max_bytes)
    try:
        image = _first_key_frame(video_format, path)
    except Exception:  # noqa: BLE001 - decoders of hostile bytes raise errors of any kind
        # Without free memory, the error may not be about the video.
        return NO_PICTURE if max_bytes - max_mapped_bytes() > _ROOM_BYTES else 1
    if image is None:
        return TOO_LARGE
    image.thumbnail((_MAX_SIDE, _MAX_SIDE))
    written = io.BytesIO()
    image.convert("RGB").save(written, "JPEG", quality=_QUALITY)
    sys.stdout.buffer.write(written.getvalue())
    return 0


def _first_key_frame(video_format: str, path: str) -> "Image | None":
    """Return the frame; `None` if it has too many pixels by its header or by the stream."""
    import av  # noqa: PLC0415 - see `main`

    options = {"protocol_whitelist": "file"}
    if video_format == "mov":
        options["enable_drefs"] = "0"
    with av.open(path, format=video_format, options=options, metadata_errors="ignore") as video:
        stream = video.streams.video[0]
        decoder = stream.codec_context
        decoder.skip_frame = "NONKEY"
        decoder.thread_count = 1
        if decoder.width * decoder.height > MAX_PIXELS:
            return None
        frame = next(video.decode(stream))
        if frame.width * frame.height > MAX_PIXELS:
            return None
        return frame.to_image()  # type: ignore[no-any-return, no-untyped-call]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
