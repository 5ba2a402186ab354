r"""Finds the base64 of files inside texts that do not declare it.

Base64 is recognised by the signature of a file format at its beginning. DNA, hexadecimal digits,
identifiers and certificates have no such signature, and are left as text.

A *run* is the base64 of one file. It is on one line, or wrapped into lines: mail and many programs
wrap at 76 columns, certificates at 64, others anywhere. Lines form one run if all but the last are
equally long, at least `_MIN_COLUMNS`, and the last is not longer. A blank between groups of equal
length counts as a line break.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pagefault_dialects.media.base64_text import (
    CERTAIN_BASE64_CHARS,
    decode_base64,
    decode_compact,
    without_blanks,
    without_escapes,
)
from pagefault_dialects.media.types import STRONG_SIGNATURE_STARTS, is_strong_signature
from pagefault_dialects.text_windows import WINDOW_CHARS, match_end, search_windows

# A slash as many JSON writers escape it, and the percent-encodings of `+` and `/` in URLs.
_ESCAPE = r"\\/|%2[BbFf]"
_MAX_ESCAPE_CHARS = 3

_MIN_COLUMNS = 40
# If a single line is longer, the text below it is rarely the second and last line of the base64.
MAX_COLUMNS_OF_PAIR = 256

_ALPHABETS = ("A-Za-z0-9+/", "A-Za-z0-9_-")
_LINES = {
    alphabet: re.compile(rf"[{alphabet}]*+(?:(?:{_ESCAPE})[{alphabet}]*+)*+")
    for alphabet in _ALPHABETS
}
_PADDING = re.compile(r"(?:=|%3[Dd]|\\u003[Dd]){1,2}+")
_LINE_BREAK = r"(?:\r?\n|\\r\\n|\\n)[ \t]*"
_BLANK = r" (?! )"
_SEPARATORS = {separator: re.compile(separator) for separator in (_LINE_BREAK, _BLANK)}
# A short last line that matches this may be a word of the text behind the base64, unless one of the
# characters in `_CLOSING` follows it.
LETTERS_ONLY = re.compile(r"[A-Za-z]?[a-z]*\Z")
_CLOSING = re.compile(r"\Z|[)\"'`<]|\\\"")
# The end of a line, or a character that closes the base64.
_LINE_ENDS = re.compile(r"[ \t]*(?:\r?\n|\\r\\n|\\n|\Z|[\"'`<]|\\\")")

_HEAD_CHARS = 64
_RUN_START_CHARS = 40
# The length of a run's start if each character is an escape of three characters.
_REACH = 3 * _RUN_START_CHARS
# The characters in which a signature is searched if a path or a name precedes the base64 directly.
_PREFIX_CHARS = 256

_LAST_CHARACTER = re.compile(rf"(?:{_ESCAPE}|.)\Z")
_CHARACTERS = re.compile(r"[A-Za-z0-9+/_-]*+")
_RUN_START = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_RUN_START_CHARS}}}")
_ESCAPED_RUN_START = re.compile(
    rf"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]|{_ESCAPE}){{{_RUN_START_CHARS}}}"
)
_ANY_BLANK = re.compile(r"\s")
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
# Each base64 character is translated into this letter, so that a run is a repetition of it.
_LETTER = b"A"
_TO_LETTERS = bytes(_LETTER[0] if chr(number) in f"{_ALPHABET}-_" else 0 for number in range(256))


def _build_base64_pattern(start: bytes) -> str:
    """Return a pattern for the base64, in either alphabet, of data that begins with two bytes."""
    # The 16 bits are those of two characters, and the four high bits of the third one.
    bits = int.from_bytes(start) << 2
    parts = ((bits >> 12, 1), (bits >> 6 & 63, 1), (bits & 63, 4))
    return "".join(_build_character_pattern(value, count) for value, count in parts)


def _build_character_pattern(value: int, count: int) -> str:
    """Return a pattern for the base64 characters of consecutive values of six bits."""
    characters = _ALPHABET[value : value + count]
    if "+" not in characters and "/" not in characters:
        return f"[{characters}]"
    return f"(?:[{characters}_-]|{_ESCAPE})"


_SIGNATURE = re.compile("|".join(map(_build_base64_pattern, sorted(STRONG_SIGNATURE_STARTS))))
_INNER_START = re.compile(rf"(?<=[/_+-])(?={_SIGNATURE.pattern})")


@dataclass(frozen=True, slots=True)
class EncodedRun:
    """A file that is written as text at `text[start:end]`, and its decoded bytes."""

    start: int
    end: int
    data: bytes


def decode_undeclared(text: str) -> bytes | None:
    """Return the bytes of a text that is base64 of a file with a known signature, else `None`."""
    start = len(text) - len(text.lstrip())
    if len(text) - start < CERTAIN_BASE64_CHARS or not has_signature_at(text, start):
        return None
    body = text.strip()
    if len(body) < CERTAIN_BASE64_CHARS:
        return None
    if _ANY_BLANK.search(body) and find_run_end(body, 0) != len(body):
        return None
    return decode_base64(body)


def has_long_run(text: str) -> bool:
    """Return whether a text may contain base64 of a file. Fast, for texts of any length."""
    if "\\/" in text:
        return search_windows(_ESCAPED_RUN_START, text, 0, len(text), reach=_REACH) is not None
    return _has_base64_in_a_row(text, 0, len(text))


def find_runs(text: str, start: int, end: int) -> Iterator[EncodedRun]:
    """Yield the base64 of files with a known signature inside `text[start:end]`, in order."""
    has_escapes = text.find("\\/", start, end) >= 0 or text.find("%2", start, end) >= 0
    if not has_escapes and not _has_base64_in_a_row(text, start, end):
        return
    # The pattern with escapes takes twice the time, and escapes are rare.
    pattern = _ESCAPED_RUN_START if has_escapes else _RUN_START
    position = start
    while found := search_windows(pattern, text, position, end, reach=_REACH):
        run = _read_run(text, found.start())
        if run and run.end <= end:
            yield run
            position = run.end
        else:
            position = match_end(_CHARACTERS, text, found.end(), len(text))


def has_signature_at(text: str, start: int) -> bool:
    """Return whether base64 of a file with a known signature begins at a position."""
    if not _SIGNATURE.match(text, start):
        return False
    head = "".join(without_escapes(text[start : start + 2 * _HEAD_CHARS]).split())
    whole_groups = head[: match_end(_CHARACTERS, head, 0, _HEAD_CHARS) // 4 * 4]
    decoded = decode_compact(whole_groups.encode())
    return decoded is not None and is_strong_signature(decoded)


def _has_base64_in_a_row(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` has enough base64 characters in a row for a run.

    This takes a tenth of the time that a search for the run takes.
    """
    row = _LETTER * _RUN_START_CHARS
    for window_start in range(start, end, WINDOW_CHARS):
        window = text[window_start : min(window_start + WINDOW_CHARS + _RUN_START_CHARS, end)]
        if row in window.encode("utf-8", "surrogatepass").translate(_TO_LETTERS):
            return True
    return False


def _read_run(text: str, start: int) -> EncodedRun | None:
    """Return the run in the base64 characters that begin at `start`, if there is one."""
    run_start = _find_signature(text, start)
    if run_start is None:
        return None
    end = find_run_end(text, run_start)
    if end is None:
        return None
    compact = without_blanks(without_escapes(text[run_start:end]))
    if len(compact.rstrip("=")) % 4 == 1:
        # The run was cut inside of a group of four. Its single last character has no whole byte,
        # and is left in the text.
        last = _LAST_CHARACTER.search(text, max(run_start, end - 3), end)
        compact, end = compact[:-1], last.start() if last else end - 1
    if len(compact) < CERTAIN_BASE64_CHARS:
        return None
    data = decode_base64(compact)
    return EncodedRun(run_start, end, data) if data else None


def _find_signature(text: str, start: int) -> int | None:
    """Return where a signature begins in the base64 characters that begin at `start`."""
    if has_signature_at(text, start):
        return start
    if text[start - 1 : start] == "\\" and has_signature_at(text, start + 1):
        # The first letter belongs to an escape: "\nSUQz…" in JSON inside a longer text.
        return start + 1
    end = min(match_end(_CHARACTERS, text, start, len(text)), start + _PREFIX_CHARS)
    inner = (found.start() for found in _INNER_START.finditer(text, start + 1, end))
    return next((position for position in inner if has_signature_at(text, position)), None)


def find_run_end(text: str, start: int, *, label_chars: int = 0) -> int | None:
    """Return the end of the run that begins at `start`.

    Return `None` if the lines are wrapped irregularly, since the run would end in the middle of the
    file. Such base64 is left as text.

    Args:
        text: Any text.
        start: The position of the run.
        label_chars: The length of a prefix on the first line, such as the head of a data URI.
    """
    ends = (_WrappedRun(text, start, alphabet).find_end(label_chars) for alphabet in _ALPHABETS)
    # The run is in the alphabet in which more of it can be read.
    return max(ends, key=lambda end: end.read_end).run_end


class _RunEnd(NamedTuple):
    """Two positions in a text at the end of a run."""

    read_end: int
    """The end of the characters that were read."""
    run_end: int | None
    """The end of the run; `None` if it continues irregularly behind `read_end`."""


class _WrappedRun:
    """A run in one of the two alphabets, perhaps on several lines."""

    def __init__(self, text: str, start: int, alphabet: str) -> None:
        self._text = text
        self._start = start
        self._alphabet = alphabet

    def find_end(self, label_chars: int) -> _RunEnd:
        """Return the end of the run; see `find_run_end`."""
        text, end = self._text, self._find_line_end(self._start)
        if padding := _PADDING.match(text, end):
            return _RunEnd(padding.end(), padding.end())
        separators = (key for key, found in _SEPARATORS.items() if found.match(text, end))
        separator = next(separators, None)
        if separator is None:
            return _RunEnd(end, end)
        first = self._count_characters(self._start, end)
        second = self._next_width(end, separator)
        # Programs that wrap a whole data URI count its head as a part of the first line.
        has_equal_lines = second == first or (label_chars > 0 and second > first)
        columns = second if has_equal_lines else first + label_chars
        if columns < _MIN_COLUMNS or second == 0 or (first == 0 and separator == _BLANK):
            return _RunEnd(end, end)
        body_end = end
        if has_equal_lines:
            pattern = _build_lines_pattern(self._alphabet, separator, columns)
            while (found := pattern.match(text, body_end)) and found.end() > body_end:
                body_end = found.end()
        return self._find_last_line_end(body_end, separator, columns, is_single=body_end == end)

    def _find_last_line_end(
        self, body_end: int, separator: str, columns: int, *, is_single: bool
    ) -> _RunEnd:
        """Return the end of the run after a possible last, shorter line.

        Args:
            body_end: The end of the lines of equal length.
            separator: The pattern of the line breaks.
            columns: The length of the lines.
            is_single: True if there is only one line before the last one.
        """
        if padding := _PADDING.match(self._text, body_end):
            return _RunEnd(padding.end(), padding.end())
        end, is_padded = self._read_tail(body_end, separator, columns, is_single=is_single)
        if is_padded:
            return _RunEnd(end, end)
        if is_single and columns > MAX_COLUMNS_OF_PAIR:
            return _RunEnd(body_end, body_end)
        next_width = self._next_width(end, separator)
        may_continue = is_single or end == body_end or next_width == columns
        continues = next_width >= _MIN_COLUMNS and may_continue
        return _RunEnd(end, None if continues else end)

    def _read_tail(
        self, body_end: int, separator: str, columns: int, *, is_single: bool
    ) -> tuple[int, bool]:
        """Return the end of a last, shorter line, and whether it is padded.

        Without such a line, return `body_end` and false. The arguments are those of
        `_find_last_line_end`.
        """
        width = self._next_width(body_end, separator)
        if not 0 < width < columns:
            return body_end, False
        found = _SEPARATORS[separator].match(self._text, body_end)
        start = found.end() if found else body_end
        end = self._find_line_end(start)
        padding = _PADDING.match(self._text, end)
        padded_end = padding.end() if padding else end
        # After a single line, a short line belongs to the run only if nothing else is on it.
        is_before_text = not _LINE_ENDS.match(self._text, padded_end)
        is_other_text = is_single and width < _MIN_COLUMNS and is_before_text
        if padding and not is_other_text:
            return padded_end, True
        is_cut = self._count_characters(self._start, end) % 4 == 1
        if is_other_text or self._is_word(body_end, start, end) or is_cut:
            return body_end, False
        return end, False

    def _is_word(self, body_end: int, start: int, end: int) -> bool:
        """Return whether a last line is the first word of the text behind the base64.

        Args:
            body_end: The end of the lines of equal length.
            start: The start of the last line.
            end: The end of the last line.
        """
        if not LETTERS_ONLY.match(self._text[start:end]) or _CLOSING.match(self._text, end):
            return False
        width = self._count_characters(self._start, body_end)
        width_with_word = self._count_characters(self._start, end)
        return width % 4 == 0 or width_with_word % 4 != 0

    def _next_width(self, end: int, separator: str) -> int:
        """Return the width of the line below `end`; 0 if there is none, or if a new file begins."""
        found = _SEPARATORS[separator].match(self._text, end)
        # Behind the head of a data URI, the base64 may begin on the next line.
        if not found or (end > self._start and has_signature_at(self._text, found.end())):
            return 0
        return self._count_characters(found.end(), self._find_line_end(found.end()))

    def _find_line_end(self, start: int) -> int:
        """Return the end of the base64 characters and escapes that begin at `start`."""
        # The text is read in windows. If a window ends inside an escape, the next window reads it.
        limit = end = start
        while end > limit - _MAX_ESCAPE_CHARS and end < len(self._text):
            limit = end + WINDOW_CHARS
            found = _LINES[self._alphabet].match(self._text, end, limit)
            if found is None or found.end() == end:
                break
            end = found.end()
        return end

    def _count_characters(self, start: int, end: int) -> int:
        """Return the number of base64 characters between two positions."""
        return len(without_blanks(without_escapes(self._text[start:end])))


@lru_cache(maxsize=64)
def _build_lines_pattern(alphabet: str, separator: str, columns: int) -> re.Pattern[str]:
    """Return a pattern for line breaks, each with a line of a number of columns behind it."""
    character = rf"(?:[{alphabet}]|{_ESCAPE})"
    # A line without escapes matches in one step; only others are read character by character.
    line = rf"(?:[{alphabet}]{{{columns}}}|{character}{{{columns}}})(?!{character})"
    return re.compile(rf"(?:{separator}{line}){{0,{max(1, WINDOW_CHARS // columns)}}}+")
