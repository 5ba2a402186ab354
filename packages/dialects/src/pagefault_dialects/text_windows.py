"""Texts: looked at a window at a time, repaired, decoded, and cut to the lines that are wanted.

An expression keeps the interpreter until it is through with all that it was given, and every other
thread waits. Between two windows the others have their turn.

Lone surrogates are halves of characters, which JSON can escape and UTF-8 cannot hold. The
characters of stored text are UTF-8, or what a byte order mark at its beginning says; bytes that are
no character become U+FFFD, and the mark itself is no part of the text.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

WINDOW_CHARS = 128 * 1024
"""How much one expression looks at, at most."""
PREVIEW_LIMIT_CHARS = 8_000
"""A longer text of a result is stored as a file, and stands in the record as a preview."""

_LONGEST_PERCENT_ESCAPE = 3

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
UTF_8 = "utf-8-sig"
_RANGE = re.compile(r"([1-9][0-9]{0,17})(-(?:[1-9][0-9]{0,17})?)?|-([1-9][0-9]{0,17})")


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


def match_end(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    """Return where what a pattern matches from `start` on ends; `start` if that is nothing."""
    found = pattern.match(text, start, end)
    return found.end() if found else start


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


def without_lone_surrogates(text: str) -> str:
    """Return the text with U+FFFD for every lone surrogate; the same object if there is none."""
    # Nearly every text is ASCII, and says so without being looked at.
    if text.isascii():
        return text
    # To encode is many times as fast as to search, and UTF-8 refuses nothing but surrogates.
    try:
        for piece in windows(text):
            piece.encode()
    except UnicodeEncodeError:
        return "".join(_LONE_SURROGATE.sub(_REPLACEMENT, piece) for piece in windows(text))
    return text


def text_encoding(head: bytes) -> str:
    """Return the encoding of a text by its first four bytes, under a name that `codecs` knows."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), UTF_8)


def is_wide(encoding: str) -> bool:
    """Return whether the characters of an encoding have two or four bytes, a line feed as well."""
    return encoding.startswith(("utf-16", "utf-32"))


def text_decoder(encoding: str, errors: str = "replace") -> codecs.IncrementalDecoder:
    """Return what makes characters of the bytes of a text, piece by piece."""
    return codecs.getincrementaldecoder(encoding)(errors)


def decode_text(data: bytes) -> str:
    """Return the characters of a whole text."""
    return data.decode(text_encoding(data[:4]), "replace")


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines from `first` to `last`, counted from 1, both included; `last` of `None` is the end.

    With `tail`, the last so many lines instead.
    """

    first: int = 1
    last: int | None = None
    tail: int | None = None

    def within(self, total: int) -> tuple[int, int]:
        """Return the first and last line in a text of `total` lines; nothing where last < first."""
        if self.tail is not None:
            return max(1, total - self.tail + 1), total
        return self.first, total if self.last is None else min(self.last, total)


def parse_line_range(text: str) -> LineRange | None:
    """Return the range a text spells; `None` if it spells none."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    first, end, tail = match.groups()
    if tail is not None:
        return LineRange(tail=int(tail))
    if end is None:
        return LineRange(int(first), int(first))
    if end == "-":
        return LineRange(int(first))
    last = int(end[1:])
    return LineRange(int(first), last) if last >= int(first) else None
