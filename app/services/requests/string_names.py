"""Short names of long strings: two strings have one name exactly if they are the same text.

A string that is base64, or a data URI, is named by the SHA-256 of its bytes and by how they are
written, any other by the SHA-256 of its text. So a medium that never was in memory has the name
that its text would have.
"""

import hashlib

from app.media.base64_text import Base64Lines, NotStrictBase64Error
from app.media.data_uris import base64_head_end

NAMED_CHARS = 65_536
"""Strings of at least so many characters are named; the others stand for themselves."""

# Most texts are found out to be no base64 by their beginning.
_FIRST_CHARS = 4_096
_NEXT_CHARS = 768 * 1024


def name_of_text(text: str) -> str:
    """Return the name of a text: itself if it is short."""
    if len(text) < NAMED_CHARS:
        return text
    head_end = base64_head_end(text[:NAMED_CHARS]) if text[0] in "dD" else 0
    try:
        return _name_of_base64_text(text, head_end)
    except (NotStrictBase64Error, UnicodeEncodeError):
        sha256 = hashlib.sha256()
        for start in range(0, len(text), _NEXT_CHARS):
            # What goes in is never read again, so that halves of a pair may come apart.
            sha256.update(text[start : start + _NEXT_CHARS].encode("utf-8", "surrogatepass"))
        return f"\0text:{sha256.hexdigest()}"


def name_of_base64(head: str, form: str, digest: str) -> str:
    """Return the name of base64 that was read to its end.

    Args:
        head: What stands before it.
        form: All about it that its bytes do not say, `Base64Lines.form`.
        digest: The SHA-256 of its bytes, in hex.
    """
    whole = f"{len(head)} {head}{form} {digest}"
    return f"\0base64:{hashlib.sha256(whole.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _name_of_base64_text(text: str, start: int) -> str:
    lines = Base64Lines()
    sha256 = hashlib.sha256()
    position, step = start, _FIRST_CHARS
    while position < len(text):
        sha256.update(lines.take(text[position : position + step].encode("ascii")))
        position, step = position + step, _NEXT_CHARS
    sha256.update(lines.finish())
    return name_of_base64(text[:start], lines.form, sha256.hexdigest())
