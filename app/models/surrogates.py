"""Repair of lone surrogates: halves of characters, which JSON can escape and UTF-8 cannot hold."""

import re

from app.models.text_windows import WINDOW_CHARS, replace_in_windows

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


def without_lone_surrogates(text: str) -> str:
    """Return the text with U+FFFD for every lone surrogate; the same object if there is none."""
    # Nearly every text is ASCII, and says so without being looked at.
    if text.isascii() or _is_encodable(text):
        return text
    return replace_in_windows(_LONE_SURROGATE, _REPLACEMENT, text)


def _is_encodable(text: str) -> bool:
    # To encode is many times as fast as to search, and UTF-8 refuses nothing but surrogates.
    try:
        for start in range(0, len(text), WINDOW_CHARS):
            text[start : start + WINDOW_CHARS].encode()
    except UnicodeEncodeError:
        return False
    return True
