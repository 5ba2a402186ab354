"""Long texts, processed in windows of 128 K characters; encodings of texts; and line ranges.

A regular expression blocks all other threads until it has read its whole input. So long texts are
read window by window, and other threads can run between two windows.

Lone surrogates are halves of characters, which JSON can escape and UTF-8 cannot encode. Stored text
is UTF-8, unless it begins with the byte order mark of another encoding. The mark is not a part of
the text. Invalid bytes become U+FFFD.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

WINDOW_CHARS = 128 * 1024
"""The most characters that a regular expression reads at once."""
PREVIEW_LIMIT_CHARS = 8_000
"""Longer texts of a result are stored as files, with a preview in the record."""

_PERCENT_ESCAPE_BYTES = 3

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"

# UTF-32 comes first, since its mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
UTF_8 = "utf-8-sig"
"""The codec for texts in UTF-8, which drops a byte order mark."""
_RANGE = re.compile(r"([1-9][0-9]{0,17})(-(?:[1-9][0-9]{0,17})?)?|-([1-9][0-9]{0,17})")


def windows(text: str) -> Iterator[str]:
    """Yield a text in windows of at most `WINDOW_CHARS`."""
    return (text[start : start + WINDOW_CHARS] for start in range(0, len(text), WINDOW_CHARS))


def search_windows(
    pattern: re.Pattern[str], text: str, start: int, end: int, *, reach: int
) -> re.Match[str] | None:
    """Return the result of `pattern.search(text, start, end)`.

    Args:
        pattern: A pattern that does not use the end of the text.
        text: The text.
        start: The first position.
        end: The position to stop at.
        reach: The most characters that the pattern reads from the beginning of a match.
    """
    while start < end:
        found = pattern.search(text, start, min(start + WINDOW_CHARS + reach, end))
        if found:
            return found
        start += WINDOW_CHARS
    return None


def match_end(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    """Return the end of the match that begins at `start`; `start` if there is none."""
    found = pattern.match(text, start, end)
    return found.end() if found else start


def percent_decoded(data: bytes) -> bytes:
    """Return percent-encoded bytes decoded, with the result of `unquote_to_bytes`."""
    pieces = []
    start = 0
    while start < len(data):
        end = min(start + WINDOW_CHARS, len(data))
        # Windows end before an escape, not inside of it.
        sign = data.rfind(b"%", end - _PERCENT_ESCAPE_BYTES + 1, end)
        end = sign if start < sign and end < len(data) else end
        pieces.append(unquote_to_bytes(data[start:end]))
        start = end
    return b"".join(pieces)


def without_lone_surrogates(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate; the same object if there is none."""
    # Most texts are ASCII, and `isascii` does not read the text.
    if text.isascii():
        return text
    # Encoding is many times as fast as searching, and UTF-8 rejects only surrogates.
    try:
        for piece in windows(text):
            piece.encode()
    except UnicodeEncodeError:
        return "".join(_LONE_SURROGATE.sub(_REPLACEMENT, piece) for piece in windows(text))
    return text


def text_encoding(head: bytes) -> str:
    """Return the encoding of a text, by its first four bytes; a name of the module `codecs`."""
    return next((name for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)), UTF_8)


def is_wide(encoding: str) -> bool:
    """Return whether characters of an encoding, line feeds included, have two or four bytes."""
    return encoding.startswith(("utf-16", "utf-32"))


def text_decoder(encoding: str, errors: str = "replace") -> codecs.IncrementalDecoder:
    """Return an incremental decoder for the bytes of a text."""
    return codecs.getincrementaldecoder(encoding)(errors)


def decode_text(data: bytes) -> str:
    """Return the characters of a whole text."""
    return data.decode(text_encoding(data[:4]), "replace")


@dataclass(frozen=True, slots=True)
class LineRange:
    """A range of lines."""

    first: int = 1
    """The number of the first line, from 1."""
    last: int | None = None
    """The number of the last line; `None` for the last line of the text."""
    tail: int | None = None
    """The number of last lines that the range has; then `first` and `last` are ignored."""

    def within(self, total: int) -> tuple[int, int]:
        """Return the first and last line in a text of `total` lines; empty if last < first."""
        if self.tail is not None:
            return max(1, total - self.tail + 1), total
        return self.first, total if self.last is None else min(self.last, total)


def parse_line_range(text: str) -> LineRange | None:
    """Return the line range in a text such as `10-20`, `10-` or `-5`; `None` if it is invalid."""
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
