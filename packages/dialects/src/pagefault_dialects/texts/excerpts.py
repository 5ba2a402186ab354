"""Excerpts of a text that fit one answer: lines of a range, matching lines, a JSON value.

Matching is by plain text. A line that is too long is cut to begin shortly before its first match.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate

from pagefault_dialects.json.pointer_scanner import LargeValue
from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.texts.cuts import boundary_at_or_before
from pagefault_dialects.texts.line_blocks import LineBlock

ANSWER_BYTES = 64 * 1024
"""The most bytes of a text in one answer."""
SHOWN_KEYS = 200
"""The most members of a large value that are described."""
_TYPES: dict[type, str] = {
    **{type(None): "null", bool: "boolean", int: "number", float: "number"},
    **{dict: "object", list: "array", str: "string"},
}
_SHOWN_KEYS_BYTES = 16 * 1024
_SHOWN_STRING_CHARS = 4_000
LONGEST_LINE_CHARS = 8_000
# To find the end of the character at which a line is cut.
_LOOK_AHEAD_CHARS = 256
LONGEST_SHOWN_CHARS = 500
_SHOWN_BEFORE_CHARS = 150
# The cost of a line besides its text, so that the number of empty lines is limited.
_LINE_BYTES = 32


@dataclass(frozen=True, slots=True)
class LineExcerpt:
    """Lines from `first_line` on; `next_line` is the first line that did not fit.

    `cut_lines` are the numbers of lines that were shortened. Each ends with a note of the number of
    omitted characters.
    """

    first_line: int
    lines: tuple[str, ...]
    cut_lines: tuple[int, ...]
    next_line: int | None

    @property
    def last_line(self) -> int:
        """The number of the last line; `first_line - 1` if there is none."""
        return self.first_line + len(self.lines) - 1


class LineCollector:
    """A collector of the lines from `first` to `last`."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self._last = last
        self._lines: list[str] = []
        self._cut_lines: list[int] = []
        self._size_bytes = 0
        self._next_line: int | None = None
        self._head = ""
        self._chars = 0

    @property
    def is_done(self) -> bool:
        """True if no further line is needed."""
        return self._next_line is not None or self._first + len(self._lines) > self._last

    def feed(self, block: LineBlock) -> None:
        """Read the next block of the text."""
        if block.is_part:
            self._take_part(block)
            return
        if block.first_line + block.text.count("\n") < self._first:
            return
        for line in block.lines()[max(0, self._first - block.first_line) :]:
            if self.is_done:
                return
            self._take(line, len(line))

    def excerpt(self) -> LineExcerpt:
        """Return the collected lines."""
        return LineExcerpt(self._first, tuple(self._lines), tuple(self._cut_lines), self._next_line)

    def _take_part(self, block: LineBlock) -> None:
        if block.first_line < self._first or self.is_done:
            return
        room = LONGEST_LINE_CHARS + _LOOK_AHEAD_CHARS - len(self._head)
        self._head += block.text[:room]
        self._chars += len(block.text)
        if block.ends:
            self._take(self._head, self._chars)
            self._head, self._chars = "", 0

    def _take(self, line: str, chars: int) -> None:
        is_cut = chars > LONGEST_LINE_CHARS
        if is_cut:
            end = boundary_at_or_before(line, LONGEST_LINE_CHARS)
            line = f"{line[:end]}[… {chars - end} more characters in this line …]"
        number = self._first + len(self._lines)
        size_bytes = len(line.encode()) + 1
        if self._lines and self._size_bytes + size_bytes > ANSWER_BYTES:
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
    text: str
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        """The bytes that it takes in an answer."""
        texts = (self.text, *self.before, *self.after)
        return sum(len(text.encode()) + _LINE_BYTES for text in texts)


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches that fit, the number of all, and the first line that did not fit."""

    found: tuple[LineMatch, ...]
    total: int
    next_line: int | None


@dataclass(slots=True)
class _LongLine:
    """A line that is read in parts."""

    visible: str
    is_match: bool = False
    tail: str = ""


class MatchCollector:
    """A collector of the matches in the lines from `first` to `last`.

    Args:
        words: The text to match.
        ignore_case: Whether `ß` matches `SS` as well.
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
        self._recent: list[str] = []
        self._line = 0
        self._long: _LongLine | None = None

    @property
    def is_done(self) -> bool:
        """True if no further line is needed."""
        return self._line >= self._last

    def feed(self, block: LineBlock) -> None:
        """Read the next block of the text."""
        if self.is_done:
            return
        if block.is_part:
            self._take_part(block)
            return
        skipped = max(0, self._first - block.first_line)
        last = block.first_line + block.text.count("\n")
        if skipped or last > self._last or self._words in self._folded(block.text):
            lines = block.lines()[skipped : self._last - block.first_line + 1]
            self._take(block.first_line + skipped, lines, self._matching(lines))
        elif self._context:
            # A block may have a million lines, and only those at its edges are near a match.
            before, after = block.edges(self._context)
            self._complete(before)
            self._recent = (self._recent + after)[-self._context :]
        self._line = last

    def matches(self) -> Matches:
        """Return the matches."""
        size_bytes = sum(match.size_bytes for match in self._found)
        # The lines after a match were read after its size was counted.
        while size_bytes > ANSWER_BYTES and len(self._found) > 1:
            dropped = self._found.pop()
            size_bytes -= dropped.size_bytes
            self._next_line = dropped.line
        return Matches(tuple(self._found), self._total, self._next_line)

    def _folded(self, text: str) -> str:
        return text.casefold() if self._ignore_case else text

    def _matching(self, lines: list[str]) -> list[int]:
        words = self._words
        if self._ignore_case:
            return [index for index, line in enumerate(lines) if words in line.casefold()]
        return [index for index, line in enumerate(lines) if words in line]

    def _take(self, number: int, lines: list[str], matching: list[int]) -> None:
        self._complete(lines)
        for position, index in enumerate(matching):
            if self._next_line is None and self._size_bytes > ANSWER_BYTES:
                self._next_line = number + index
            if self._next_line is not None:
                self._total += len(matching) - position
                break
            self._total += 1
            match = LineMatch(number + index, self._visible_part(lines[index]))
            if self._context:
                near = self._recent + lines[max(0, index - self._context) : index]
                match.before = [_head(line) for line in near[-self._context :]]
                match.after = [*map(_head, lines[index + 1 : index + 1 + self._context])]
            self._found.append(match)
            self._size_bytes += match.size_bytes
        if self._context:
            self._recent = (self._recent + lines[-self._context :])[-self._context :]

    def _complete(self, lines: list[str]) -> None:
        """Add the context lines that these lines are to previous matches."""
        for match in reversed(self._found):
            missing = min(self._context - len(match.after), len(lines))
            if missing <= 0:
                return
            match.after += [_head(line) for line in lines[:missing]]

    def _take_part(self, block: LineBlock) -> None:
        if not self._first <= block.first_line <= self._last:
            return
        if self._long is None:
            self._long = _LongLine(_head(block.text))
        text = self._long.tail + block.text
        if not self._long.is_match and self._words in self._folded(text):
            self._long.is_match = True
            self._long.visible = self._visible_part(text)
        self._long.tail = text[-(len(self._words) + _SHOWN_BEFORE_CHARS) :]
        if block.ends:
            self._take(block.first_line, [self._long.visible], [0] if self._long.is_match else [])
            self._line = block.first_line
            self._long = None

    def _visible_part(self, line: str) -> str:
        if len(line) <= LONGEST_SHOWN_CHARS:
            return line
        start = self._position(line) - _SHOWN_BEFORE_CHARS
        if start <= 0:
            return _head(line)
        start = boundary_at_or_before(line, start)
        visible = line[start : start + 2 * LONGEST_SHOWN_CHARS]
        if len(visible) < LONGEST_SHOWN_CHARS:
            return f"…{visible}"
        return f"…{visible[: boundary_at_or_before(visible, LONGEST_SHOWN_CHARS - 2)]}…"

    def _position(self, line: str) -> int:
        """Return where the first match begins."""
        folded = self._folded(line)
        position = folded.find(self._words)
        if len(folded) == len(line):
            return position
        # Folding turns one character into up to three.
        ends = list(accumulate(len(character.casefold()) for character in line))
        return bisect_right(ends, position)


def _head(line: str) -> str:
    is_short = len(line) <= LONGEST_SHOWN_CHARS
    return line if is_short else f"{line[: boundary_at_or_before(line, LONGEST_SHOWN_CHARS - 1)]}…"


@dataclass(frozen=True, slots=True)
class JsonExcerpt:
    """A value as compact JSON text; if it is too large, `text` is `None` and `shape` is set."""

    pointer: str
    text: str | None
    shape: dict[str, JsonValue] | None
    words: str
    """The form for readers of plain text."""


def json_excerpt(value: JsonValue | LargeValue, pointer: str) -> JsonExcerpt:
    """Return the value at a pointer, at most 64 KiB of it."""
    if isinstance(value, LargeValue):
        return _outlined(value, value.size_bytes, value.length, value.members, pointer)
    text = json_text(value)
    size_bytes = len(text.encode())
    if size_bytes <= ANSWER_BYTES:
        return JsonExcerpt(pointer, text, None, value if isinstance(value, str) else text)
    if isinstance(value, dict | list):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        return _outlined(value, size_bytes, len(value), members, pointer)
    shape: dict[str, JsonValue] = {"type": _type_of(value), "size": size_bytes}
    if isinstance(value, str):
        start = value[: boundary_at_or_before(value, _SHOWN_STRING_CHARS)]
        shape |= {"length": len(value), "start": start}
        shape["hint"] = (
            "Too long for one answer; `start` is its beginning. Find a passage with `grep`, or "
            "read all of the resource from `/api/resources/{uri}/content`."
        )
    else:
        shape["hint"] = "Too long for one answer: read it from `/api/resources/{uri}/content`."
    return JsonExcerpt(pointer, None, shape, json_text(shape))


def _outlined(
    value: JsonValue | LargeValue,
    size_bytes: int,
    length: int,
    members: Iterable[tuple[str | int, JsonValue | LargeValue]],
    pointer: str,
) -> JsonExcerpt:
    """Return the shape of a large object or array, with its first members."""
    shape: dict[str, JsonValue] = {"type": _type_of(value), "size": size_bytes}
    shape |= {"length": length, "keys": _keys(members, pointer)}
    shape["hint"] = (
        "Too large for one answer. Ask for one of its members, by the `pointer` of its key or "
        f"by another; it has {length}."
    )
    return JsonExcerpt(pointer, None, shape, json_text(shape))


def _keys(
    members: Iterable[tuple[str | int, JsonValue | LargeValue]], pointer: str
) -> list[JsonValue]:
    """Return the first members, described, with their pointers."""
    keys: list[JsonValue] = []
    room = _SHOWN_KEYS_BYTES
    for key, member in members:
        described: dict[str, JsonValue] = {
            "key": key,
            "pointer": child_pointer(pointer, key),
            "type": _type_of(member),
        }
        if isinstance(member, LargeValue):
            described["length"] = member.length
        elif isinstance(member, dict | list | str):
            described["length"] = len(member)
        room -= len(json_text(described).encode())
        if room < 0 or len(keys) == SHOWN_KEYS:
            break
        keys.append(described)
    return keys


def _type_of(value: JsonValue | LargeValue) -> str:
    if isinstance(value, LargeValue):
        return "array" if value.is_array else "object"
    # Numbers that keep their spelling are a subclass of `Decimal`.
    return "number" if isinstance(value, Decimal) else _TYPES[type(value)]


def text_alone(found: LineExcerpt | Matches | JsonExcerpt) -> str:
    """Return lines, a value, or matches like `grep`: `12:` for a match, `11-` for its context."""
    if isinstance(found, JsonExcerpt):
        return found.words
    if isinstance(found, LineExcerpt):
        return "".join(f"{line}\n" for line in found.lines)
    return "".join(f"{line}\n" for line in _printed(found))


def _printed(matches: Matches) -> list[str]:
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
