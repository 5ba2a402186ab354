r"""Base64 where it is expected: standard and URL-safe, wrapped, unpadded, percent-encoded.

All of it is a few passes of compiled code over the text: a payload of 100 MB must not be looked at
character by character.
"""

import binascii
import re
from urllib.parse import unquote_to_bytes

import pybase64

from app.models.media_types import sniff

_INDENTED_BREAK = re.compile(rb"[ \t]*[\r\n]+[ \t]*")
_FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def decode_base64(text: str) -> bytes | None:
    """The bytes a base64 text stands for, or `None` if it is not base64, or is empty.

    The alphabet is strict, standard or URL-safe but not a mixture; padding may be missing; line
    breaks are skipped. Blanks inside a line are skipped only if the bytes are of a known format,
    since otherwise many a sentence would be base64.
    """
    try:
        data = text.encode("ascii")
    except UnicodeEncodeError:
        return None
    if b"\n" in data or b"\r" in data:
        data = _INDENTED_BREAK.sub(b"", data)
    data = data.strip()
    spaced = b" " in data or b"\t" in data
    if spaced:
        data = data.translate(None, b" \t")
    decoded = decode_compact(data)
    if decoded is None or (spaced and sniff(decoded[:512]) is None):
        return None
    return decoded


def decode_percent_encoded_base64(text: str) -> bytes | None:
    """As `decode_base64`, for text in which `+`, `/` and `=` may be percent-encoded."""
    if "%" not in text:
        return decode_base64(text)
    return decode_base64(unquote_to_bytes(text).decode("latin-1"))


def decode_run(raw: str) -> bytes | None:
    """The bytes of a run that was found in a text, with the escapes it may hold."""
    return decode_base64("".join(without_escapes(raw).split()))


def decode_compact(data: bytes) -> bytes | None:
    """The same for text without any blanks and escapes."""
    if b"-" in data or b"_" in data:
        if b"+" in data or b"/" in data:
            return None
        data = data.translate(_FROM_URL_SAFE)
    if len(data) % 4:
        core = data.rstrip(b"=")
        if len(core) % 4 == 1 or len(data) - len(core) > 2:
            return None
        data = core + b"=" * (-len(core) % 4)
    try:
        return pybase64.b64decode(data, validate=True) or None
    except (binascii.Error, ValueError):
        return None


def without_escapes(raw: str) -> str:
    """The base64 that is written with the escapes of JSON and of URLs."""
    if "\\" in raw:
        raw = raw.replace("\\/", "/").replace("\\r", "").replace("\\n", "")
        raw = raw.replace("\\u003d", "=").replace("\\u003D", "=")
    return unquote_to_bytes(raw).decode("latin-1") if "%" in raw else raw
