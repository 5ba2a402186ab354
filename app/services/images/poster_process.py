"""The first key frame of a video as a JPEG; run as a program of its own, which may crash.

    python -m app.services.images.poster_process FORMAT PATH

Decoders of video are large and written in C, and what they are given is hostile. So they run in a
process with little memory and little time, which opens the one file that it was given and nothing
else: the format is named, so that no playlist is taken for a video, and only files are opened.
"""

import io
import sys

_MOST_MEMORY_BYTES = 2 * 1024 * 1024 * 1024
_MOST_SECONDS = 10
_MOST_SIDE = 1280
_QUALITY = 80


def main(video_format: str, path: str) -> None:
    """Write the frame to standard output.

    Args:
        video_format: FFmpeg's name of the format.
        path: The file.
    """
    _limit_itself()
    import av  # noqa: PLC0415 - an optional package, for this process alone

    options = {"protocol_whitelist": "file", "enable_drefs": "0"}
    if video_format != "mov":
        del options["enable_drefs"]
    with av.open(path, format=video_format, options=options, metadata_errors="ignore") as video:
        stream = video.streams.video[0]
        stream.codec_context.skip_frame = "NONKEY"
        stream.codec_context.thread_count = 1
        frame = next(video.decode(stream))
        image = frame.to_image()  # type: ignore[no-untyped-call]
    image.thumbnail((_MOST_SIDE, _MOST_SIDE))
    written = io.BytesIO()
    image.convert("RGB").save(written, "JPEG", quality=_QUALITY)
    sys.stdout.buffer.write(written.getvalue())


def _limit_itself() -> None:
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))


if __name__ == "__main__":
    main(*sys.argv[1:])
