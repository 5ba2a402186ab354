"""Finds the strings with media in a message. They are moved to the store with the message.

Dialects have media as data URIs, or as base64 in a block that declares the type: `{media_type,
data}`, `{mimeType, data}`, `{audio: {data, format}}`, `{format, source: {bytes}}`. Undeclared
base64 is recognized by the signature of a file, also within other text.
"""

from collections.abc import Iterable
from dataclasses import replace

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media import block_table
from pagefault_dialects.media.base64_runs import decode_undeclared, find_runs, has_long_run
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS
from pagefault_dialects.media.block_table import (
    AUDIO_FORMATS,
    BASE64_NAMES,
    MEDIA_ONLY_NAMES,
    MEDIUM_NAMES,
)
from pagefault_dialects.media.bytes_literals import decode_declared_text
from pagefault_dialects.media.data_uris import DataUriSpan, SplitDataUri
from pagefault_dialects.media.embedded_data_uris import (
    INLINE_LIMIT_BYTES,
    PLAYABLE_KINDS,
    MovableString,
    ValuePath,
    find_movable_media,
    find_strings,
    pointer_of_path,
)
from pagefault_dialects.media.raw_audio import read_sample_parameters, type_of_format
from pagefault_dialects.media.types import canonical_mime_type, is_textual, sniff
from pagefault_dialects.model.resource import resource_kind

_CONTROL_BYTES = frozenset(range(32)) - frozenset(b"\t\n\r\f")


def find_media(value: JsonValue) -> list[MovableString]:
    """Return the strings of a message that contain media.

    Media of at least 1,024 bytes are found, and audio and video of any size.
    """
    found = {movable_medium.pointer: movable_medium for movable_medium in find_movable_media(value)}
    for path, text, holder in find_strings(value):
        if len(text) < CERTAIN_BASE64_CHARS or text.lstrip()[:5].lower() == "data:":
            continue
        uri = _find_in_block(holder, path, text)
        spans = () if uri else _find_in_text(text)
        if uri is None and not spans:
            continue
        # Pointers are written for media only: under a long key, those of all strings together would
        # be longer than the message.
        pointer = pointer_of_path(path)
        if pointer not in found:
            found[pointer] = MovableString(pointer, text, uri, spans)
    return list(found.values())


def find_declared_media(value: JsonValue, messages: Iterable[JsonValue]) -> list[MovableString]:
    """Return the strings of a message that contain media.

    Some blocks declare their medium in a way that only the reader of their dialect knows. These
    media are found in the message in common form first, and then by the same base64 in `value`.

    Args:
        value: The message as it was sent.
        messages: The same message in common form, whose blocks declare all media.
    """
    found = find_media(value)
    found_texts = {item.text for item in found}
    candidates = [
        (path, text)
        for path, text, _ in find_strings(value)
        if len(text) >= CERTAIN_BASE64_CHARS
        and text not in found_texts
        and not _begins_with_words(text)
    ]
    if not candidates:
        return found
    uris = (medium.uri for message in messages for medium in find_media(message))
    uris_by_base64 = {uri.payload: uri for uri in uris if uri is not None}
    return found + [
        MovableString(
            pointer_of_path(path), text, replace(uris_by_base64[text], head="", is_base64=True)
        )
        for path, text in candidates
        if text in uris_by_base64
    ]


def _begins_with_words(text: str) -> bool:
    """Return whether there is a space in the beginning of a text, so that it is not base64.

    Literals of bytes may have spaces: files of many formats have some in their first bytes.
    """
    beginning = text[:80].strip()
    return " " in beginning and not beginning.startswith(("b'", 'b"'))


def _find_in_block(holder: JsonValue, path: ValuePath | None, text: str) -> SplitDataUri | None:
    """Return the medium of a base64 text, if its block declares one or its bytes are a file.

    Args:
        holder: The object or list that contains the text.
        path: The path of the text in the message.
        text: The text.
    """
    if _begins_with_words(text):
        return None
    # The data of a source of the type `text` are the text itself.
    is_text = isinstance(holder, dict) and holder.get("type") == "text"
    declared = None if is_text else _find_declared_type(holder, path)
    data = decode_undeclared(text) if declared is None else decode_declared_text(text)
    sniffed = None if data is None else sniff(data[:512])
    is_recording = sniffed is not None and resource_kind(sniffed) in PLAYABLE_KINDS
    if data is None or not (len(data) >= INLINE_LIMIT_BYTES or is_recording):
        return None
    if declared and is_textual(declared) and not _is_text(data):
        # The string is a text, as its block declares, and happens to be valid base64.
        return None
    return SplitDataUri("", text, declared or sniffed or "", data, None, is_base64=True)


def _find_in_text(text: str) -> tuple[DataUriSpan, ...]:
    """Return the files of at least 1,024 bytes in base64 within a text, such as a JSON text."""
    if not has_long_run(text):
        return ()
    return tuple(
        DataUriSpan(run.start, run.end, None, run.data, None)
        for run in find_runs(text, 0, len(text))
        if len(run.data) >= INLINE_LIMIT_BYTES
    )


def _find_declared_type(holder: JsonValue, path: ValuePath | None) -> str | None:
    """Return the MIME type that a block declares for its base64.

    Args:
        holder: The object or list that contains the base64.
        path: The path of the base64 in the message.

    Returns:
        An empty text if the block declares a medium without a type; `None` if it declares none.
    """
    if not isinstance(holder, dict) or path is None:
        return None
    parent_key = path.parent.key if path.parent else None
    is_in_table = (parent_key, path.key) in block_table.BLOCK_TABLE.base64_path_suffixes
    if path.key == "audio" and holder.get("type") in block_table.REALTIME_PARTS:
        return block_table.REALTIME_TYPE
    if not is_in_table and path.key not in BASE64_NAMES:
        return None
    for name in block_table.BLOCK_TABLE.mime_type_members:
        if isinstance(mime_type := holder.get(name), str):
            # The parameters of raw audio, such as the rate, may be members beside the type.
            parameters = read_sample_parameters(mime_type, holder).values()
            return canonical_mime_type(";".join((mime_type, *parameters)))
    if isinstance(audio_format := holder.get("format"), str) and (
        audio_type := AUDIO_FORMATS.get(audio_format) or type_of_format(audio_format)
    ):
        return audio_type
    is_medium = is_in_table or parent_key in MEDIUM_NAMES or path.key in MEDIA_ONLY_NAMES
    return "" if is_medium else None


def _is_text(data: bytes) -> bool:
    """Return whether bytes are UTF-8 without control characters other than white space."""
    try:
        return data.decode().isprintable() or not set(data) & _CONTROL_BYTES
    except UnicodeDecodeError:
        return False
