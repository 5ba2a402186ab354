"""A program that writes the first key frame of a video to standard output, as a JPEG.

    python -m app.services.images.poster_process FORMAT PATH MEMORY_BYTES SECONDS

`posters.py` starts it. Decoders of video are large, written in C, and read hostile bytes. So they
run in a process of their own, which limits its memory and time. A video must not make FFmpeg open
other files: the format is an argument, because a detected format could be a playlist, and all
protocols but `file` are disabled.
"""

import io
import sys
from typing import TYPE_CHECKING

from app.services.images.child_process import (
    limit_process,
    lower_priority,
    read_mapped_bytes,
    read_peak_mapped_bytes,
)

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 3_840 * 2_160
NO_PICTURE, TOO_LARGE = 3, 4
"""Exit statuses: the video has no readable key frame, or one with more than `MAX_PIXELS`.

Any other status except 0 says that the process failed, so the video may be valid.
"""
_MAX_MEMORY_BYTES = 512 * 1024 * 1024
_LARGEST_ALLOCATION_BYTES = 48 * 1024 * 1024
_MAX_SIDE = 1280
_QUALITY = 80


def main(video_format: str, path: str, memory_bytes: int, seconds: float) -> int:
    """Write the first key frame to standard output, and return the exit status.

    Args:
        video_format: FFmpeg's name of the format.
        path: The path of the video.
        memory_bytes: The limit of mapped memory, without that of the loaded libraries.
        seconds: The time after which the system ends the process.
    """
    lower_priority()
    limit_process(seconds=seconds, memory_bytes=_MAX_MEMORY_BYTES)
    # Loaded before their memory is measured: PyAV, which is an optional package, and the encoder.
    import av  # noqa: F401, PLC0415
    import PIL.JpegImagePlugin  # noqa: F401, PLC0415

    max_bytes = min(_MAX_MEMORY_BYTES, read_mapped_bytes() + memory_bytes)
    limit_process(seconds=seconds, memory_bytes=max_bytes)
    try:
        image = _decode_first_key_frame(video_format, path)
    except Exception:  # noqa: BLE001 - decoders raise errors of any kind for hostile bytes
        # If the memory was nearly exhausted, an allocation may have failed, not the video.
        free_bytes = max_bytes - read_peak_mapped_bytes()
        return NO_PICTURE if free_bytes > _LARGEST_ALLOCATION_BYTES else 1
    if image is None:
        return TOO_LARGE
    image.thumbnail((_MAX_SIDE, _MAX_SIDE))
    jpeg = io.BytesIO()
    image.convert("RGB").save(jpeg, "JPEG", quality=_QUALITY)
    sys.stdout.buffer.write(jpeg.getvalue())
    return 0


def _decode_first_key_frame(video_format: str, path: str) -> "Image | None":
    """Return the frame; `None` if it has more than `MAX_PIXELS`.

    The header of the file is checked before decoding, and the frame again, since headers may lie.
    """
    import av  # noqa: PLC0415 - see `main`

    options = {"protocol_whitelist": "file"}
    if video_format == "mov":
        # A QuickTime file may refer to other files for its data.
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
