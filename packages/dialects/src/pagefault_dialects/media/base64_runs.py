r"""Undeclared base64: its start is recognised by the signature of a file format.

DNA, hexadecimal digits, identifiers and certificates have no signature and stay text.

A run ends on its line, or with the last of the lines it is wrapped in. Mail and many programs wrap
at 76 columns, certificates at 64, others anywhere. Lines form one run if they are equally long, at
least `_MIN_COLUMNS`, with a shorter one at the end; blanks between equal groups count as line
breaks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pagefault_dialects.media.base64_text import (
    CERTAIN_BASE64_CHARS,
    decode_base64,
    decode_compact,
    without_blanks,
    without_escapes,
)
from pagefault_dialects.media.types import STRONG_SIGNATURE_STARTS, is_strong_signature
from pagefault_dialects.text_windows import WINDOW_CHARS, match_end, search_windows

# An escaped slash, as many JSON writers put it, and the percent-encodings of URLs and data URIs.
_ESCAPED = r"\\/|%2[BbFf]"
_LONGEST_ESCAPE = 3

_MIN_COLUMNS = 40
# A longer line is hardly ever the first of two: it is a run of its own.
MAX_SINGLE_COLUMNS = 256

_ALPHABETS = ("A-Za-z0-9+/", "A-Za-z0-9_-")
_LINES = {
    alphabet: re.compile(rf"[{alphabet}]*+(?:(?:{_ESCAPED})[{alphabet}]*+)*+")
    for alphabet in _ALPHABETS
}
_PADDING = re.compile(r"(?:=|%3[Dd]|\\u003[Dd]){1,2}+")
_LINE_BREAK = r"(?:\r?\n|\\r\\n|\\n)[ \t]*"
_BLANK = r" (?! )"
_SEPARATORS = {separator: re.compile(separator) for separator in (_LINE_BREAK, _BLANK)}
WORD = re.compile(r"[A-Za-z]?[a-z]*\Z")
_CLOSED = re.compile(r"\Z|[)\"'`<]|\\\"")
_LINE_ENDS = re.compile(r"[ \t]*(?:\r?\n|\\r\\n|\\n|\Z|[\"'`<]|\\\")")

_HEAD_CHARS = 64
_RUN_START_CHARS = 40
# Each character may be an escape of three characters.
_REACH = 3 * _RUN_START_CHARS
# How far to look for a signature behind a path or a name that precedes the base64 directly.
_PREFIX_CHARS = 256

_LAST_CHARACTER = re.compile(rf"(?:{_ESCAPED}|.)\Z")
_ANY = re.compile(r"[A-Za-z0-9+/_-]*+")
_RUN_START = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_RUN_START_CHARS}}}")
_ESCAPED_RUN_START = re.compile(
    rf"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]|{_ESCAPED}){{{_RUN_START_CHARS}}}"
)
_ANY_BLANK = re.compile(r"\s")
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_LETTER = b"A"
_TO_LETTERS = bytes(_LETTER[0] if chr(number) in f"{_ALPHABET}-_" else 0 for number in range(256))


def _encoded_start(start: bytes) -> str:
    """Return a pattern for the base64, in either alphabet, of data that begins with these bytes."""
    first, second, third = start[0] >> 2, (start[0] & 3) << 4 | start[1] >> 4, (start[1] & 15) << 2
    return "".join((_one_of(first, 1), _one_of(second, 1), _one_of(third, 4)))


def _one_of(value: int, count: int) -> str:
    characters = _ALPHABET[value : value + count]
    if "+" not in characters and "/" not in characters:
        return f"[{characters}]"
    return f"(?:[{characters}_-]|{_ESCAPED})"


_SIGNATURE = re.compile("|".join(map(_encoded_start, sorted(STRONG_SIGNATURE_STARTS))))
_INNER_START = re.compile(rf"(?<=[/_+-])(?={_SIGNATURE.pattern})")


@dataclass(frozen=True, slots=True)
class Run:
    """Base64 found at `text[start:end]`, and its bytes."""

    start: int
    end: int
    data: bytes


def decode_undeclared(text: str) -> bytes | None:
    """Return the bytes of a text that is base64 of a known file format, else `None`."""
    start = len(text) - len(text.lstrip())
    if len(text) - start < CERTAIN_BASE64_CHARS or not shows_signature(text, start):
        return None
    body = text.strip()
    if len(body) < CERTAIN_BASE64_CHARS:
        return None
    if _ANY_BLANK.search(body) and run_end(body, 0) != len(body):
        return None
    return decode_base64(body)


def has_long_run(text: str) -> bool:
    """Return whether a text has anything that could be base64 of a file."""
    if "\\/" in text:
        return search_windows(_ESCAPED_RUN_START, text, 0, len(text), reach=_REACH) is not None
    return _has_letters_in_a_row(text, 0, len(text))


def find_runs(text: str, start: int, end: int) -> Iterator[Run]:
    """Yield the base64 of recognisable files inside `text[start:end]`, in order."""
    escaped = text.find("\\/", start, end) >= 0 or text.find("%2", start, end) >= 0
    if not escaped and not _has_letters_in_a_row(text, start, end):
        return
    # Escapes cost twice the time and are rare.
    pattern = _ESCAPED_RUN_START if escaped else _RUN_START
    position = start
    while found := search_windows(pattern, text, position, end, reach=_REACH):
        run = _run_at(text, found.start())
        if run and run.end <= end:
            yield run
            position = run.end
        else:
            position = match_end(_ANY, text, found.end(), len(text))


def shows_signature(text: str, start: int) -> bool:
    """Return whether base64 of a recognisable file begins here."""
    if not _SIGNATURE.match(text, start):
        return False
    head = without_escapes(text[start : start + 2 * _HEAD_CHARS])
    run = _ANY.match("".join(head.split())[:_HEAD_CHARS])
    whole = run.group()[: run.end() // 4 * 4] if run else ""
    decoded = decode_compact(whole.encode()) if whole else None
    return decoded is not None and is_strong_signature(decoded)


def _has_letters_in_a_row(text: str, start: int, end: int) -> bool:
    """Return whether the text has a run, in a tenth of the time that finding it takes."""
    row = _LETTER * _RUN_START_CHARS
    for at in range(start, end, WINDOW_CHARS):
        window = text[at : min(at + WINDOW_CHARS + _RUN_START_CHARS, end)]
        if row in window.encode("utf-8", "surrogatepass").translate(_TO_LETTERS):
            return True
    return False


def _run_at(text: str, start: int) -> Run | None:
    signed = _signed_start(text, start)
    if signed is None:
        return None
    end = run_end(text, signed)
    if end is None:
        return None
    compact = without_blanks(without_escapes(text[signed:end]))
    if len(compact.rstrip("=")) % 4 == 1:
        # Cut off in the middle: the last character says nothing and stays in the text.
        last = _LAST_CHARACTER.search(text, max(signed, end - 3), end)
        compact, end = compact[:-1], last.start() if last else end - 1
    if len(compact) < CERTAIN_BASE64_CHARS:
        return None
    data = decode_base64(compact)
    return Run(signed, end, data) if data else None


def _signed_start(text: str, start: int) -> int | None:
    if shows_signature(text, start):
        return start
    if text[start - 1 : start] == "\\" and shows_signature(text, start + 1):
        # The run's first letter belongs to an escape: "\nSUQz…" in JSON inside a longer text.
        return start + 1
    end = min(match_end(_ANY, text, start, len(text)), start + _PREFIX_CHARS)
    inner = (found.start() for found in _INNER_START.finditer(text, start + 1, end))
    return next((at for at in inner if shows_signature(text, at)), None)


def run_end(text: str, start: int, *, label_chars: int = 0) -> int | None:
    """Return the end of the base64 that begins at `start`; `None` if it is cut there and continues.

    Irregularly wrapped base64 stays text, rather than becoming a file that ends with its first
    line.

    Args:
        text: Any text.
        start: Where the base64 begins.
        label_chars: Length of the prefix on its first line, such as the head of a data URI.
    """
    ends = (_Lines(text, start, alphabet).end(label_chars) for alphabet in _ALPHABETS)
    return max(ends, key=lambda end: end[0])[1]


class _Lines:
    """One run read in one alphabet. Its ends are positions in the text."""

    def __init__(self, text: str, start: int, alphabet: str) -> None:
        self._text = text
        self._start = start
        self._alphabet = alphabet

    def end(self, label_chars: int) -> tuple[int, int | None]:
        """Return the end of the part read, and that of the run, `None` if it continues."""
        text, end = self._text, self._line_end(self._start)
        if padding := _PADDING.match(text, end):
            return padding.end(), padding.end()
        separators = (key for key, found in _SEPARATORS.items() if found.match(text, end))
        separator = next(separators, None)
        if separator is None:
            return end, end
        first = self._width(self._start, end)
        second = self._next_width(end, separator)
        # The label of a data URI shortens the first line, if the wrapping counts it.
        is_even = second == first or (label_chars > 0 and second > first)
        columns = second if is_even else max(first, first + label_chars)
        if columns < _MIN_COLUMNS or second == 0 or (first == 0 and separator == _BLANK):
            return end, end
        body = self._equal_lines_end(end, separator, columns) if is_even else end
        return self._closed(body, separator, columns, is_single=body == end)

    def _equal_lines_end(self, end: int, separator: str, columns: int) -> int:
        pattern = _equal_lines(self._alphabet, separator, columns)
        while (found := pattern.match(self._text, end)) and found.end() > end:
            end = found.end()
        return end

    def _closed(
        self, body: int, separator: str, columns: int, *, is_single: bool
    ) -> tuple[int, int | None]:
        """Return both ends of the run, including the shorter line after its equal lines."""
        if padding := _PADDING.match(self._text, body):
            return padding.end(), padding.end()
        end, is_padded = self._tail_end(body, separator, columns, is_single=is_single)
        if is_padded:
            return end, end
        if is_single and columns > MAX_SINGLE_COLUMNS:
            return body, body
        following = self._next_width(end, separator)
        goes_on = following >= _MIN_COLUMNS and (is_single or end == body or following == columns)
        return end, None if goes_on else end

    def _tail_end(
        self, body: int, separator: str, columns: int, *, is_single: bool
    ) -> tuple[int, bool]:
        width = self._next_width(body, separator)
        if not 0 < width < columns:
            return body, False
        found = _SEPARATORS[separator].match(self._text, body)
        start = found.end() if found else body
        end = self._line_end(start)
        padding = _PADDING.match(self._text, end)
        closed = padding.end() if padding else end
        # After a single line, a short piece has to be a line of its own.
        is_loose = is_single and width < _MIN_COLUMNS and not _LINE_ENDS.match(self._text, closed)
        if padding and not is_loose:
            return closed, True
        if is_loose or self._is_word(body, start, end) or self._width(self._start, end) % 4 == 1:
            return body, False
        return end, False

    def _is_word(self, body: int, start: int, end: int) -> bool:
        """Return whether the short last line is the first word of the text after the base64."""
        if not WORD.match(self._text[start:end]) or _CLOSED.match(self._text, end):
            return False
        complete, longer = self._width(self._start, body), self._width(self._start, end)
        return complete % 4 == 0 or longer % 4 != 0

    def _next_width(self, end: int, separator: str) -> int:
        """Return the width of the line below `end`; 0 if none, or if other base64 begins."""
        found = _SEPARATORS[separator].match(self._text, end)
        if not found or shows_signature(self._text, found.end()):
            return 0
        return self._width(found.end(), self._line_end(found.end()))

    def _line_end(self, start: int) -> int:
        # An escape that the window cuts is left to the next window.
        limit = end = start
        while end > limit - _LONGEST_ESCAPE and end < len(self._text):
            limit = end + WINDOW_CHARS
            found = _LINES[self._alphabet].match(self._text, end, limit)
            if found is None or found.end() == end:
                break
            end = found.end()
        return end

    def _width(self, start: int, end: int) -> int:
        return len(without_blanks(without_escapes(self._text[start:end])))


@lru_cache(maxsize=64)
def _equal_lines(alphabet: str, separator: str, columns: int) -> re.Pattern[str]:
    character = rf"(?:[{alphabet}]|{_ESCAPED})"
    # A line without escapes matches in one step; only others are read character by character.
    line = rf"(?:[{alphabet}]{{{columns}}}|{character}{{{columns}}})(?!{character})"
    return re.compile(rf"(?:{separator}{line}){{0,{max(1, WINDOW_CHARS // columns)}}}+")
