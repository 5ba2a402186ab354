"""Texts looked at a window at a time, so that nobody waits long for a search.

An expression keeps the interpreter until it is through with all that it was given, and every other
thread waits. Between two windows the others have their turn.
"""

import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

WINDOW_CHARS = 128 * 1024
"""How much one expression looks at, at most."""

_LONGEST_PERCENT_ESCAPE = 3


def windows(text: str) -> Iterator[str]:
    """Return the text in pieces that are worked on one by one."""
    return (text[start : start + WINDOW_CHARS] for start in range(0, len(text), WINDOW_CHARS))


def search_windows(
    pattern: re.Pattern[str], text: str, start: int, end: int, *, reach: int
) -> re.Match[str] | None:
    """Return what `pattern.search(text, start, end)` finds, or `None`.

    Args:
        pattern: Something that looks at `reach` characters from where it begins, at most, and does
            not ask for the end of the text.
        text: Any text.
        start: Where to begin.
        end: Where to stop.
        reach: See `pattern`.
    """
    while start < end:
        found = pattern.search(text, start, min(start + WINDOW_CHARS + reach, end))
        if found:
            return found
        start += WINDOW_CHARS
    return None


def replace_in_windows(pattern: re.Pattern[str], replacement: str, text: str) -> str:
    """Return what `pattern.sub(replacement, text)` does, for a pattern of a single character."""
    return "".join(pattern.sub(replacement, piece) for piece in windows(text))


def percent_decoded(data: bytes) -> bytes:
    """Return what `unquote_to_bytes` makes of percent-encoded bytes."""
    pieces = []
    start = 0
    while start < len(data):
        end = min(start + WINDOW_CHARS, len(data))
        # No cut goes through an escape.
        sign = data.rfind(b"%", end - _LONGEST_PERCENT_ESCAPE + 1, end)
        end = sign if start < sign and end < len(data) else end
        pieces.append(unquote_to_bytes(data[start:end]))
        start = end
    return b"".join(pieces)
