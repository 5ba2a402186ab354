"""Check whether a medium is damaged, by the check for its type."""

from collections.abc import Callable
from functools import partial

from pagefault_dialects.media.raw_audio import parse_raw_audio
from pagefault_dialects.media.soundness.bounded_reader import (
    BoundedReader,
    DamagedError,
    TooComplexError,
)
from pagefault_dialects.media.soundness.containers import (
    PICTURE_HEADER,
    RECORDING_HEADER,
    check_aiff,
    check_boxes,
    check_flac,
    check_ogg,
    check_pdf,
    check_wav,
    check_webp,
)
from pagefault_dialects.media.soundness.matroska import check_matroska
from pagefault_dialects.media.soundness.mpeg_audio import check_mp3
from pagefault_dialects.media.soundness.pictures import check_gif, check_jpeg, check_png
from pagefault_dialects.media.types import sniff
from pagefault_dialects.model.media import MediaSource
from pagefault_dialects.model.resource import Damage

_HEAD_BYTES = 512
# Readers of PDF search this far for its beginning.
_HEAD_BYTES_OF_PDF = 1_024
_RECORDINGS = frozenset({"audio", "video"})
_check_recording = partial(check_boxes, header=RECORDING_HEADER)
_check_picture = partial(check_boxes, header=PICTURE_HEADER)
_CHECKS: dict[str, Callable[[BoundedReader], Damage | None]] = {
    "application/pdf": check_pdf,
    "audio/aiff": check_aiff,
    "audio/flac": check_flac,
    "audio/mp4": _check_recording,
    "audio/mpeg": check_mp3,
    "audio/ogg": check_ogg,
    "audio/wav": check_wav,
    "image/avif": _check_picture,
    "image/gif": check_gif,
    "image/heic": _check_picture,
    "image/heif": _check_picture,
    "image/jpeg": check_jpeg,
    "image/png": check_png,
    "image/webp": check_webp,
    "video/3gpp": _check_recording,
    "video/mp4": _check_recording,
    "video/ogg": check_ogg,
    "video/quicktime": _check_recording,
    "video/webm": check_matroska,
    "video/x-matroska": check_matroska,
}


def check_source_soundness(source: MediaSource, mime_type: str) -> Damage | None:
    """Return the damage of a medium, as `check_soundness` does. Blocks."""
    return check_soundness(BoundedReader(source.read, source.size_bytes), mime_type)


def check_soundness(file: BoundedReader, mime_type: str) -> Damage | None:
    """Return the damage of a file that its structure shows, without decoding it.

    Args:
        file: The file.
        mime_type: The stored type. If the first bytes show another type, that one is checked.

    Returns:
        `None` for sound files, for types without a check, and for files that exceed the limits of
        `BoundedReader`.
    """
    if parse_raw_audio(mime_type):
        # Raw audio has no structure.
        return None
    detected = sniff(file.read(0, _HEAD_BYTES))
    if mime_type == "application/pdf" and b"%PDF-" in file.read(0, _HEAD_BYTES_OF_PDF):
        detected = mime_type
    if not _may_have_type(detected, mime_type):
        return Damage(
            "damaged-media",
            f"The bytes are not those of a sound {mime_type}.",
            # Some formats of audio and video have no signature in `types`.
            is_certain=mime_type in _CHECKS
            and (detected is not None or not _is_recording(mime_type)),
        )
    check = _CHECKS.get(detected or "")
    try:
        return check(file) if check else None
    except TooComplexError:
        return None
    except DamagedError as exc:
        return Damage("damaged-media", f"The {detected} is damaged: {exc}.")


def _is_recording(mime_type: str) -> bool:
    return mime_type.partition("/")[0] in _RECORDINGS


def _may_have_type(detected: str | None, mime_type: str) -> bool:
    """Return whether a file may have a type although its first bytes show another type, or none.

    MP4, Ogg and WebM contain audio, video or both. Most types of images have no signature in
    `types`.
    """
    family = mime_type.partition("/")[0]
    detected_family = "" if detected is None else detected.partition("/")[0]
    if mime_type == "application/pdf":
        return detected == mime_type
    if _is_recording(mime_type):
        return detected_family in _RECORDINGS
    return mime_type not in _CHECKS or detected_family == family
