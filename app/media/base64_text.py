r"""Base64 where it is expected: standard and URL-safe, wrapped, unpadded, percent-encoded.

All of it is a few passes of compiled code over the text: a payload of 100 MB must not be looked at
character by character.
"""

import binascii
import re

import pybase64

from app.media.types import sniff
from app.models.text_windows import percent_decoded

# So long, base64 is hardly ever a word, a name or a path.
CERTAIN_BASE64_CHARS = 64

_SHORT_BYTES = 64 * 1024

# Blanks that stand neither before nor behind a line break. Each run of them is looked at once.
_INNER_BLANK = re.compile(rb"(?<![ \t\r\n])[ \t]++(?![\r\n])")
_FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_NO_BLANKS = str.maketrans("", "", " \t\r\n\f\v")


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
    data = data.strip()
    spaced = (b" " in data or b"\t" in data) and _INNER_BLANK.search(data) is not None
    data = data.translate(None, b" \t\r\n")
    decoded = decode_compact(data)
    if decoded is None or (spaced and sniff(decoded[:512]) is None):
        return None
    return decoded


def decode_percent_encoded_base64(text: str) -> bytes | None:
    """As `decode_base64`, for text in which `+`, `/` and `=` may be percent-encoded."""
    if "%" not in text:
        return decode_base64(text)
    if not text.isascii():
        # What is no ASCII is in no base64.
        return None
    return decode_base64(percent_decoded(text.encode()).decode("latin-1"))


def decode_run(raw: str) -> bytes | None:
    """The bytes of a run that was found in a text, with the escapes it may hold."""
    return decode_base64(without_blanks(without_escapes(raw)))


def decode_compact(data: bytes) -> bytes | None:
    """The same for text without any blanks and escapes."""
    if b"-" in data or b"_" in data:
        if b"+" in data or b"/" in data:
            return None
        data = data.translate(_FROM_URL_SAFE)
    if data.endswith(b"==="):
        return None
    if len(data) % 4:
        core = data.rstrip(b"=")
        if len(core) % 4 == 1:
            return None
        data = core + b"=" * (-len(core) % 4)
    try:
        return _decoded(data) or None
    except (binascii.Error, ValueError):
        return None


def _decoded(data: bytes) -> bytes:
    # The faster one lets go of the interpreter for its work. Where that is short, nobody who waits
    # wakes in time to take it, but waits anew from then on: a thousand short ones keep all others.
    if len(data) <= _SHORT_BYTES:
        return binascii.a2b_base64(data, strict_mode=True)
    return pybase64.b64decode(data, validate=True)


def without_blanks(text: str) -> str:
    """Return an ASCII text without its white space, in one pass and without a list of its words."""
    return text.translate(_NO_BLANKS)


def without_escapes(raw: str) -> str:
    """The base64 that is written with the escapes of JSON and of URLs."""
    if "\\" in raw:
        raw = raw.replace("\\/", "/").replace("\\r", "").replace("\\n", "")
        raw = raw.replace("\\u003d", "=").replace("\\u003D", "=")
    return percent_decoded(raw.encode()).decode("latin-1") if "%" in raw else raw
