"""Which lines of a text are wanted: `10-50`, `10-`, `10`, or `-50` for the last fifty."""

import re
from dataclasses import dataclass

_RANGE = re.compile(r"([1-9][0-9]{0,17})(-(?:[1-9][0-9]{0,17})?)?|-([1-9][0-9]{0,17})")


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines from `first` to `last`, counted from 1, both included; `last` of `None` is the end.

    With `tail`, the last so many lines instead.
    """

    first: int = 1
    last: int | None = None
    tail: int | None = None

    def within(self, total: int) -> tuple[int, int]:
        """The first and the last line in a text of `total` lines; nothing where last < first."""
        if self.tail is not None:
            return max(1, total - self.tail + 1), total
        return self.first, total if self.last is None else min(self.last, total)


def parse_line_range(text: str) -> LineRange | None:
    """The range a text spells; `None` if it spells none."""
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
