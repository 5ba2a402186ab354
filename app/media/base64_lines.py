r"""Where base64 inside a text ends: on its line, or at the end of the lines it is wrapped in.

Mail and many programs wrap at 76 columns, certificates at 64, others anywhere. What makes lines one
run is that they are equally long, at least `_MIN_COLUMNS`, with a shorter one at the end; blanks
between equal groups count as line breaks do.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from app.media.base64_text import without_blanks, without_escapes
from app.models.text_windows import WINDOW_CHARS

# A slash as many JSON writers put it, and what is percent-encoded in URLs and data URIs.
ESCAPED = r"\\/|%2[BbFf]"
_LONGEST_ESCAPE = 3

_MIN_COLUMNS = 40
# A longer line is hardly ever the first of two: it stands for itself, whatever comes below.
MAX_SINGLE_COLUMNS = 256

_ALPHABETS = ("A-Za-z0-9+/", "A-Za-z0-9_-")
_LINES = {
    alphabet: re.compile(rf"[{alphabet}]*+(?:(?:{ESCAPED})[{alphabet}]*+)*+")
    for alphabet in _ALPHABETS
}
_PADDING = re.compile(r"(?:=|%3[Dd]|\\u003[Dd]){1,2}+")
_LINE_BREAK = r"(?:\r?\n|\\r\\n|\\n)[ \t]*"
_BLANK = r" (?! )"
_SEPARATORS = {separator: re.compile(separator) for separator in (_LINE_BREAK, _BLANK)}
WORD = re.compile(r"[A-Za-z]?[a-z]*\Z")
_CLOSED = re.compile(r"\Z|[)\"'`<]|\\\"")
_LINE_ENDS = re.compile(r"[ \t]*(?:\r?\n|\\r\\n|\\n|\Z|[\"'`<]|\\\")")


def run_end(
    text: str,
    start: int,
    *,
    begins_anew: Callable[[str, int], bool],
    label_chars: int = 0,
) -> int | None:
    """Where the base64 that begins at `start` ends; `None` if it is cut there and goes on.

    Base64 that is wrapped irregularly is better left as text than taken for a file that ends with
    its first line.

    Args:
        text: Any text.
        start: Where the base64 begins.
        begins_anew: Tells whether other base64 begins at a place.
        label_chars: Length of what stands before it on its first line, as in a data URI.
    """
    ends = (_Run(text, start, alphabet, begins_anew).end(label_chars) for alphabet in _ALPHABETS)
    return max(ends, key=lambda end: end[0])[1]


class _Run:
    """One run read in one alphabet. Its ends are positions in the text."""

    def __init__(
        self,
        text: str,
        start: int,
        alphabet: str,
        begins_anew: Callable[[str, int], bool],
    ) -> None:
        self._text = text
        self._start = start
        self._alphabet = alphabet
        self._line = _LINES[alphabet]
        self._begins_anew = begins_anew

    def end(self, label_chars: int) -> tuple[int, int | None]:
        """How far the run was read, and where it ends, `None` if it goes on from there."""
        text, end = self._text, self._line_end(self._start)
        if padding := _PADDING.match(text, end):
            return padding.end(), padding.end()
        separator = self._separator_at(end)
        if separator is None:
            return end, end
        first = self._width(self._start, end)
        second = self._next_width(end, separator)
        # The label in front of a data URI shortens the first line, if it is counted at all.
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
        """The same, with the shorter line that ends the run after its equal lines."""
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
        # Below a single line, something short has to be a line of its own.
        is_loose = is_single and width < _MIN_COLUMNS and not _LINE_ENDS.match(self._text, closed)
        if padding and not is_loose:
            return closed, True
        if is_loose or self._is_word(body, start, end) or self._width(self._start, end) % 4 == 1:
            return body, False
        return end, False

    def _is_word(self, body: int, start: int, end: int) -> bool:
        """Whether the short last line is the first word of what follows the base64."""
        if not WORD.match(self._text[start:end]) or _CLOSED.match(self._text, end):
            return False
        complete, longer = self._width(self._start, body), self._width(self._start, end)
        return complete % 4 == 0 or longer % 4 != 0

    def _separator_at(self, position: int) -> str | None:
        matches = (key for key, found in _SEPARATORS.items() if found.match(self._text, position))
        return next(matches, None)

    def _next_width(self, end: int, separator: str) -> int:
        """The width of the line below `end`; 0 if there is none, or if other base64 begins."""
        found = _SEPARATORS[separator].match(self._text, end)
        if not found or self._begins_anew(self._text, found.end()):
            return 0
        return self._width(found.end(), self._line_end(found.end()))

    def _line_end(self, start: int) -> int:
        # An escape that the window cuts begins the next one.
        limit = end = start
        while end > limit - _LONGEST_ESCAPE and end < len(self._text):
            limit = end + WINDOW_CHARS
            found = self._line.match(self._text, end, limit)
            if found is None or found.end() == end:
                break
            end = found.end()
        return end

    def _width(self, start: int, end: int) -> int:
        return len(without_blanks(without_escapes(self._text[start:end])))


@lru_cache(maxsize=64)
def _equal_lines(alphabet: str, separator: str, columns: int) -> re.Pattern[str]:
    character = rf"(?:[{alphabet}]|{ESCAPED})"
    # A line without escapes is one step; only the others are read character by character.
    line = rf"(?:[{alphabet}]{{{columns}}}|{character}{{{columns}}})(?!{character})"
    return re.compile(rf"(?:{separator}{line}){{0,{max(1, WINDOW_CHARS // columns)}}}+")
