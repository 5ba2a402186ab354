"""Whether a medium is sound: which reader looks at it, and what it came to."""

from collections.abc import Callable
from functools import partial

from app.media.soundness.containers import (
    PICTURE,
    RECORDING,
    judge_aiff,
    judge_boxes,
    judge_flac,
    judge_ogg,
    judge_pdf,
    judge_wav,
    judge_webp,
)
from app.media.soundness.looking import DamagedError, Looking, NotJudgedError
from app.media.soundness.matroska import judge_matroska
from app.media.soundness.mpeg_audio import judge_mp3
from app.media.soundness.pictures import judge_gif, judge_jpeg, judge_png
from app.media.types import sniff
from app.models.media import MediaSource
from app.models.resource import Damage

_HEAD_BYTES = 512
# Readers of PDF look that far for its beginning.
_HEAD_BYTES_OF_PDF = 1_024
_RECORDINGS = frozenset({"audio", "video"})
_judge_recording = partial(judge_boxes, header=RECORDING)
_judge_picture = partial(judge_boxes, header=PICTURE)
_LOOKS: dict[str, Callable[[Looking], Damage | None]] = {
    "application/pdf": judge_pdf,
    "audio/aiff": judge_aiff,
    "audio/flac": judge_flac,
    "audio/mp4": _judge_recording,
    "audio/mpeg": judge_mp3,
    "audio/ogg": judge_ogg,
    "audio/wav": judge_wav,
    "image/avif": _judge_picture,
    "image/gif": judge_gif,
    "image/heic": _judge_picture,
    "image/heif": _judge_picture,
    "image/jpeg": judge_jpeg,
    "image/png": judge_png,
    "image/webp": judge_webp,
    "video/3gpp": _judge_recording,
    "video/mp4": _judge_recording,
    "video/ogg": judge_ogg,
    "video/quicktime": _judge_recording,
    "video/webm": judge_matroska,
    "video/x-matroska": judge_matroska,
}


def damage_of(source: MediaSource, mime_type: str) -> Damage | None:
    """Return what is wrong with a medium at hand; blocks. See `judge`."""
    return judge(Looking(source.read, source.size_bytes), mime_type)


def judge(file: Looking, mime_type: str) -> Damage | None:
    """Return what is wrong with a file, as far as it shows in the way the file is built.

    Args:
        file: The file.
        mime_type: What it is taken for; its own first bytes are believed before.

    Returns:
        `None` for a sound file, for one of a type that is not looked at, and for one that is longer
        or made of more pieces than is looked at.
    """
    shown = sniff(file.piece(0, _HEAD_BYTES))
    if mime_type == "application/pdf" and b"%PDF-" in file.piece(0, _HEAD_BYTES_OF_PDF):
        shown = mime_type
    if not _may_be(shown, mime_type):
        return Damage(
            "damaged-media",
            f"The bytes are not those of a sound {mime_type}.",
            # Sounds and videos have kinds that nobody here knows.
            is_certain=mime_type in _LOOKS and (shown is not None or not _is_recording(mime_type)),
        )
    look = _LOOKS.get(shown or "")
    try:
        return look(file) if look else None
    except NotJudgedError:
        return None
    except DamagedError as exc:
        return Damage("damaged-media", f"The {shown} is damaged: {exc}.")


def _is_recording(mime_type: str) -> bool:
    return mime_type.partition("/")[0] in _RECORDINGS


def _may_be(shown: str | None, mime_type: str) -> bool:
    """Return whether a file may be of a type, by its beginning.

    MP4, Ogg and WebM hold sounds, videos or both. Of most images nothing is known here.
    """
    family = mime_type.partition("/")[0]
    shown_family = "" if shown is None else shown.partition("/")[0]
    if mime_type == "application/pdf":
        return shown == mime_type
    if _is_recording(mime_type):
        return shown_family in _RECORDINGS
    return mime_type not in _LOOKS or shown_family == family
