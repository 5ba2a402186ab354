"""Finds the media in messages of model dialects, and the resources they refer to.

Dialects put a medium into a data URI, or its base64 alone into a block that says what it is:
`{media_type, data}`, `{mimeType, data}`, `{audio: {data, format}}`, `{format, source: {bytes}}`.
Base64 that nothing declares is known by the signature of a file, also among other words.
"""

from app.media import block_table
from app.media.base64_runs import decode_undeclared, find_runs, has_long_run
from app.media.base64_text import CERTAIN_BASE64_CHARS, decode_base64
from app.media.block_table import AUDIO_FORMATS, BASE64_NAMES, MEDIA_ONLY_NAMES, MEDIUM_NAMES
from app.media.data_uris import DataUriSpan, DataUriText
from app.media.types import canonical_mime_type, is_textual, sniff
from app.models.json_value import JsonValue
from app.models.resource import parse_resource_id, resource_kind
from app.services.persistence.media_keeper import INLINE_LIMIT_BYTES
from app.services.requests.data_uris import (
    SOUND,
    Movable,
    Place,
    held_strings,
    movable_media,
    pointer_to,
    strings_in,
)

_LONGEST_REFERENCE_CHARS = 40


def media_in_message(value: JsonValue) -> list[Movable]:
    """Return the strings in a message that hold media from 1,024 bytes on, or recordings."""
    found = {each.pointer: each for each in movable_media(value)}
    for place, text, holder in held_strings(value):
        if len(text) < CERTAIN_BASE64_CHARS or text.lstrip()[:5].lower() == "data:":
            continue
        uri = _in_block(holder, place, text)
        spans = () if uri else _among_words(text)
        if uri is None and not spans:
            continue
        # Only for what is found: under a long key, the pointers are longer than the message.
        pointer = pointer_to(place)
        if pointer not in found:
            found[pointer] = Movable(pointer, text, uri, spans)
    return list(found.values())


def references_in(value: JsonValue) -> set[str]:
    """Return the ids of the resources that strings in a value are the references or URIs of."""
    return {
        resource_id
        for _, text in strings_in(value)
        if len(text) <= _LONGEST_REFERENCE_CHARS and text.startswith(("@blob:", "blob:"))
        if (resource_id := parse_resource_id(text)) is not None
    }


def _in_block(holder: JsonValue, place: Place | None, text: str) -> DataUriText | None:
    """Return the medium whose base64 a text is, by what stands around it or by its first bytes."""
    if " " in text[:80].strip():
        # Words, which is what most texts are.
        return None
    declared = _declared_type(holder, place)
    data = decode_undeclared(text) if declared is None else decode_base64(text)
    shown = None if data is None else sniff(data[:512])
    if data is None or not (len(data) >= INLINE_LIMIT_BYTES or _is_sound(shown)):
        return None
    if declared and is_textual(declared) and not _is_text(data):
        # Letters of which somebody said that they are text, as they are.
        return None
    return DataUriText("", text, declared or shown or "", data, None, is_base64=True)


def _among_words(text: str) -> tuple[DataUriSpan, ...]:
    """Return base64 of files in a text, a JSON text for instance, that is too long to be read."""
    if not has_long_run(text):
        return ()
    return tuple(
        DataUriSpan(run.start, run.end, None, run.data, None)
        for run in find_runs(text, 0, len(text))
        if len(run.data) >= INLINE_LIMIT_BYTES
    )


def _declared_type(holder: JsonValue, place: Place | None) -> str | None:
    """Return what a block says that its base64 is, if only that it is some, or `None`."""
    if not isinstance(holder, dict) or place is None:
        return None
    around = place.parent.key if place.parent else None
    is_of_shape = (around, place.key) in block_table.KNOWN.base64_ends
    if not is_of_shape and place.key not in BASE64_NAMES:
        return None
    for name in block_table.KNOWN.declaring:
        if isinstance(claim := holder.get(name), str):
            return canonical_mime_type(claim)
    if isinstance(audio := holder.get("format"), str) and audio in AUDIO_FORMATS:
        return AUDIO_FORMATS[audio]
    is_medium = is_of_shape or around in MEDIUM_NAMES or place.key in MEDIA_ONLY_NAMES
    return "" if is_medium else None


def _is_sound(mime_type: str | None) -> bool:
    return mime_type is not None and resource_kind(mime_type) in SOUND


def _is_text(data: bytes) -> bool:
    try:
        return data.decode().isprintable() or not set(data) & _CONTROLS
    except UnicodeDecodeError:
        return False


_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f")
