"""The lines of a range, as many as fit one answer."""

from dataclasses import dataclass

from app.rendering.texts.blocks import LineBlock
from app.rendering.texts.graphemes import boundary_at_or_before

ANSWER_BYTES = 64 * 1024
LONGEST_LINE_CHARS = 8_000
# To see whether a character goes on behind the place where its line is cut.
_LOOK_AHEAD_CHARS = 256


@dataclass(frozen=True, slots=True)
class LineExcerpt:
    """Lines from `first_line` on; `next_line` is the first of those that did not fit.

    `cut_lines` are the numbers of those that are too long to be shown whole. Each ends with a note
    of how many characters are left out.
    """

    first_line: int
    lines: tuple[str, ...]
    cut_lines: tuple[int, ...]
    next_line: int | None

    @property
    def last_line(self) -> int:
        """The number of the last line; `first_line - 1` where there is none."""
        return self.first_line + len(self.lines) - 1


class LineCollector:
    """Collects the lines from `first` to `last`."""

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
        """Whether nothing more is wanted."""
        return self._next_line is not None or self._first + len(self._lines) > self._last

    def feed(self, block: LineBlock) -> None:
        """Take the next block of the text."""
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
        """What was collected."""
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
