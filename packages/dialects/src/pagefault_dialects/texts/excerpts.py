"""Excerpts of a text that fit into one response: a range of lines, matching lines, a JSON value.

Lines match if they contain a text; there are no regular expressions. Of a long line, the part
around its first match is returned. The collectors are fed with the blocks of `line_blocks`.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate

from pagefault_dialects.json.pointer_scanner import LargeValue
from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.texts.cuts import find_boundary_before
from pagefault_dialects.texts.line_blocks import LineBlock

RESPONSE_BYTES = 64 * 1024
"""The most bytes of a text in one response."""
SHOWN_KEYS = 200
"""The most members of a large object or array that are described."""
_TYPES: dict[type, str] = {
    **{type(None): "null", bool: "boolean", int: "number", float: "number"},
    **{dict: "object", list: "array", str: "string"},
}
_SHOWN_KEYS_BYTES = 16 * 1024
_SHOWN_STRING_CHARS = 4_000
LONGEST_LINE_CHARS = 8_000
"""Of longer lines in a range of lines, only the beginning is returned."""
# Characters after the cut of a long line, by which the end of its last grapheme is found.
_GRAPHEME_CHARS = 256
LONGEST_SHOWN_CHARS = 500
"""Of longer matching lines, only a part is returned."""
_CHARS_BEFORE_MATCH = 150
# Counted for each line in addition to its text, so that the number of empty lines is limited.
_LINE_BYTES = 32


@dataclass(frozen=True, slots=True)
class LineExcerpt:
    """A range of lines."""

    first_line: int
    """The number of the first line."""
    lines: tuple[str, ...]
    cut_lines: tuple[int, ...]
    """The numbers of lines that were cut; these end with the number of omitted characters."""
    next_line: int | None
    """The number of the first line that did not fit; `None` if all lines fit."""

    @property
    def last_line(self) -> int:
        """The number of the last line; `first_line - 1` if there is none."""
        return self.first_line + len(self.lines) - 1


class LineCollector:
    """A collector of the lines with the numbers `first` to `last`, as many as fit."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self._last = last
        self._lines: list[str] = []
        self._cut_lines: list[int] = []
        self._size_bytes = 0
        self._next_line: int | None = None
        # The beginning and the length so far of a long line that arrives in parts.
        self._line_start = ""
        self._line_chars = 0

    @property
    def is_done(self) -> bool:
        """True if no further line is needed."""
        return self._next_line is not None or self._first + len(self._lines) > self._last

    def feed(self, block: LineBlock) -> None:
        """Read the next block of the text."""
        if block.is_part:
            self._add_part(block)
            return
        if block.first_line + block.text.count("\n") < self._first:
            return
        for line in block.split_lines()[max(0, self._first - block.first_line) :]:
            if self.is_done:
                return
            self._add_line(line, len(line))

    def finish(self) -> LineExcerpt:
        """Return the collected lines."""
        return LineExcerpt(self._first, tuple(self._lines), tuple(self._cut_lines), self._next_line)

    def _add_part(self, block: LineBlock) -> None:
        """Add a part of a long line, of which only the beginning is kept."""
        if block.first_line < self._first or self.is_done:
            return
        missing_chars = LONGEST_LINE_CHARS + _GRAPHEME_CHARS - len(self._line_start)
        self._line_start += block.text[:missing_chars]
        self._line_chars += len(block.text)
        if block.ends_line:
            self._add_line(self._line_start, self._line_chars)
            self._line_start, self._line_chars = "", 0

    def _add_line(self, line: str, chars: int) -> None:
        """Add a line if it fits.

        Args:
            line: The line, or the beginning of a long line.
            chars: The length of the whole line.
        """
        is_cut = chars > LONGEST_LINE_CHARS
        if is_cut:
            end = find_boundary_before(line, LONGEST_LINE_CHARS)
            line = f"{line[:end]}[… {chars - end} more characters in this line …]"
        number = self._first + len(self._lines)
        size_bytes = len(line.encode()) + 1
        if self._lines and self._size_bytes + size_bytes > RESPONSE_BYTES:
            self._next_line = number
            return
        self._size_bytes += size_bytes
        self._lines.append(line)
        if is_cut:
            self._cut_lines.append(number)


@dataclass(slots=True)
class LineMatch:
    """A matching line, and the lines around it."""

    line: int
    """The number of the line."""
    text: str
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        """The bytes that are counted for the match in a response."""
        texts = (self.text, *self.before, *self.after)
        return sum(len(text.encode()) + _LINE_BYTES for text in texts)


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches that fit into one response."""

    found: tuple[LineMatch, ...]
    total: int
    """The number of all matches."""
    next_line: int | None
    """The number of the first matching line that did not fit; `None` if all fit."""


@dataclass(slots=True)
class _LongLine:
    """A long line that arrives in parts."""

    visible: str
    """The part of the line that is returned."""
    is_match: bool = False
    tail: str = ""
    """The end of the last part, for matches across parts."""


class MatchCollector:
    """A collector of the matches in the lines with the numbers `first` to `last`.

    Args:
        words: The text to find.
        ignore_case: Compare case-folded texts, in which `ß` equals `SS`.
        context: The number of lines before and after a match.
        first: The first line to search.
        last: The last line to search.
    """

    def __init__(
        self, words: str, *, ignore_case: bool, context: int, first: int, last: int
    ) -> None:
        self._words = words.casefold() if ignore_case else words
        self._ignore_case = ignore_case
        self._context = context
        self._first = first
        self._last = last
        self._found: list[LineMatch] = []
        self._size_bytes = 0
        self._total = 0
        self._next_line: int | None = None
        # The lines before the next one, as context of a match.
        self._recent: list[str] = []
        # The number of the last line that was read.
        self._last_line = 0
        # The long line that is being read.
        self._long_line: _LongLine | None = None

    @property
    def is_done(self) -> bool:
        """True if no further line is needed."""
        return self._last_line >= self._last

    def feed(self, block: LineBlock) -> None:
        """Read the next block of the text."""
        if self.is_done:
            return
        if block.is_part:
            self._add_part(block)
            return
        skipped = max(0, self._first - block.first_line)
        last = block.first_line + block.text.count("\n")
        if skipped or last > self._last or self._words in self._fold_case(block.text):
            lines = block.split_lines()[skipped : self._last - block.first_line + 1]
            self._add_lines(block.first_line + skipped, lines, self._find_matches(lines))
        elif self._context:
            # There is no match in the block, so only its first and last lines may be context. The
            # block may have a million lines.
            before, after = block.split_ends(self._context)
            self._add_context(before)
            self._recent = (self._recent + after)[-self._context :]
        self._last_line = last

    def finish(self) -> Matches:
        """Return the matches."""
        size_bytes = sum(match.size_bytes for match in self._found)
        # The size of a match was counted before the lines after it were added.
        while size_bytes > RESPONSE_BYTES and len(self._found) > 1:
            dropped = self._found.pop()
            size_bytes -= dropped.size_bytes
            self._next_line = dropped.line
        return Matches(tuple(self._found), self._total, self._next_line)

    def _fold_case(self, text: str) -> str:
        """Return a text in the form in which it is searched."""
        return text.casefold() if self._ignore_case else text

    def _find_matches(self, lines: list[str]) -> list[int]:
        """Return the indexes of matching lines."""
        folded_lines = map(str.casefold, lines) if self._ignore_case else lines
        return [index for index, line in enumerate(folded_lines) if self._words in line]

    def _add_lines(self, number: int, lines: list[str], matching: list[int]) -> None:
        """Add the matches in some lines.

        Args:
            number: The number of the first of these lines.
            lines: The lines.
            matching: The indexes in `lines` of those that match.
        """
        self._add_context(lines)
        for count, index in enumerate(matching):
            if self._next_line is None and self._size_bytes > RESPONSE_BYTES:
                self._next_line = number + index
            if self._next_line is not None:
                self._total += len(matching) - count
                break
            self._total += 1
            match = LineMatch(number + index, self._cut_to_match(lines[index]))
            if self._context:
                before = self._recent + lines[max(0, index - self._context) : index]
                match.before = [_cut_line(line) for line in before[-self._context :]]
                match.after = [*map(_cut_line, lines[index + 1 : index + 1 + self._context])]
            self._found.append(match)
            self._size_bytes += match.size_bytes
        if self._context:
            self._recent = (self._recent + lines[-self._context :])[-self._context :]

    def _add_context(self, lines: list[str]) -> None:
        """Add lines to previous matches that still lack lines after them."""
        for match in reversed(self._found):
            missing = min(self._context - len(match.after), len(lines))
            if missing <= 0:
                return
            match.after += [_cut_line(line) for line in lines[:missing]]

    def _add_part(self, block: LineBlock) -> None:
        """Search a part of a long line."""
        if not self._first <= block.first_line <= self._last:
            return
        if self._long_line is None:
            self._long_line = _LongLine(_cut_line(block.text))
        text = self._long_line.tail + block.text
        if not self._long_line.is_match and self._words in self._fold_case(text):
            self._long_line.is_match = True
            self._long_line.visible = self._cut_to_match(text)
        self._long_line.tail = text[-(len(self._words) + _CHARS_BEFORE_MATCH) :]
        if block.ends_line:
            matching = [0] if self._long_line.is_match else []
            self._add_lines(block.first_line, [self._long_line.visible], matching)
            self._last_line = block.first_line
            self._long_line = None

    def _cut_to_match(self, line: str) -> str:
        """Return a line; of a long line, the part around its first match."""
        if len(line) <= LONGEST_SHOWN_CHARS:
            return line
        start = find_boundary_before(line, self._find_match_position(line) - _CHARS_BEFORE_MATCH)
        if start <= 0:
            return _cut_line(line)
        visible = line[start : start + 2 * LONGEST_SHOWN_CHARS]
        if len(visible) < LONGEST_SHOWN_CHARS:
            return f"…{visible}"
        return f"…{visible[: find_boundary_before(visible, LONGEST_SHOWN_CHARS - 2)]}…"

    def _find_match_position(self, line: str) -> int:
        """Return the position of the first match in a line that contains one."""
        folded = self._fold_case(line)
        position = folded.find(self._words)
        if len(folded) == len(line):
            return position
        # Case folding turns a character into up to three, so the position in the folded line is
        # converted to a position in the line.
        ends = list(accumulate(len(character.casefold()) for character in line))
        return bisect_right(ends, position)


def _cut_line(line: str) -> str:
    """Return a line; of a long line, the beginning and an ellipsis."""
    is_short = len(line) <= LONGEST_SHOWN_CHARS
    return line if is_short else f"{line[: find_boundary_before(line, LONGEST_SHOWN_CHARS - 1)]}…"


@dataclass(frozen=True, slots=True)
class JsonExcerpt:
    """A JSON value, or the description of a value that is too large for one response."""

    pointer: str
    text: str | None
    """The value as compact JSON; `None` if it is too large."""
    shape: dict[str, JsonValue] | None
    """The description of a value that is too large."""
    plain_text: str
    """The value or its description as plain text."""


def excerpt_json(value: JsonValue | LargeValue, pointer: str) -> JsonExcerpt:
    """Return a value as text, or its description if the text is longer than `RESPONSE_BYTES`."""
    if isinstance(value, LargeValue):
        return _describe_container(value, value.size_bytes, value.length, value.members, pointer)
    text = json_text(value)
    size_bytes = len(text.encode())
    if size_bytes <= RESPONSE_BYTES:
        return JsonExcerpt(pointer, text, None, value if isinstance(value, str) else text)
    if isinstance(value, dict | list):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        return _describe_container(value, size_bytes, len(value), members, pointer)
    shape: dict[str, JsonValue] = {"type": _json_type(value), "size": size_bytes}
    if isinstance(value, str):
        start = value[: find_boundary_before(value, _SHOWN_STRING_CHARS)]
        shape |= {"length": len(value), "start": start}
        shape["hint"] = (
            "Too long for one answer; `start` is its beginning. Find a passage with `grep`, or "
            "read all of the resource from `/api/resources/{uri}/content`."
        )
    else:
        shape["hint"] = "Too long for one answer: read it from `/api/resources/{uri}/content`."
    return JsonExcerpt(pointer, None, shape, json_text(shape))


def _describe_container(
    value: JsonValue | LargeValue,
    size_bytes: int,
    length: int,
    members: Iterable[tuple[str | int, JsonValue | LargeValue]],
    pointer: str,
) -> JsonExcerpt:
    """Return the description of a large object or array, with its first members."""
    shape: dict[str, JsonValue] = {"type": _json_type(value), "size": size_bytes}
    shape |= {"length": length, "keys": _describe_members(members, pointer)}
    shape["hint"] = (
        "Too large for one answer. Ask for one of its members, by the `pointer` of its key or "
        f"by another; it has {length}."
    )
    return JsonExcerpt(pointer, None, shape, json_text(shape))


def _describe_members(
    members: Iterable[tuple[str | int, JsonValue | LargeValue]], pointer: str
) -> list[JsonValue]:
    """Return the names, pointers, types and lengths of the first members."""
    keys: list[JsonValue] = []
    bytes_left = _SHOWN_KEYS_BYTES
    for key, member in members:
        described: dict[str, JsonValue] = {
            "key": key,
            "pointer": child_pointer(pointer, key),
            "type": _json_type(member),
        }
        if isinstance(member, LargeValue):
            described["length"] = member.length
        elif isinstance(member, dict | list | str):
            described["length"] = len(member)
        bytes_left -= len(json_text(described).encode())
        if bytes_left < 0 or len(keys) == SHOWN_KEYS:
            break
        keys.append(described)
    return keys


def _json_type(value: JsonValue | LargeValue) -> str:
    if isinstance(value, LargeValue):
        return "array" if value.is_array else "object"
    # Numbers that keep their spelling are a subclass of `Decimal`.
    return "number" if isinstance(value, Decimal) else _TYPES[type(value)]


def format_plain_text(found: LineExcerpt | Matches | JsonExcerpt) -> str:
    """Return an excerpt as plain text.

    Matches are written like the output of `grep -n`: `12:` before a match, `11-` before a line of
    context.
    """
    if isinstance(found, JsonExcerpt):
        return found.plain_text
    if isinstance(found, LineExcerpt):
        return "".join(f"{line}\n" for line in found.lines)
    return "".join(f"{line}\n" for line in _format_matches(found))


def _format_matches(matches: Matches) -> list[str]:
    """Return matches and their context as the lines that `grep -n` prints, each line once."""
    texts: dict[int, str] = {}
    for match in matches.found:
        start = match.line - len(match.before)
        surrounding = [*match.before, "", *match.after]
        texts |= {
            number: f"{number}-{text}"
            for number, text in enumerate(surrounding, start)
            if number not in texts
        }
        texts[match.line] = f"{match.line}:{match.text}"
    has_context = any(match.before or match.after for match in matches.found)
    printed: list[str] = []
    previous = min(texts, default=0)
    for number in sorted(texts):
        if has_context and number > previous + 1:
            printed.append("--")
        printed.append(texts[number])
        previous = number
    return printed
