"""Text cut into blocks of whole lines as it arrives."""

from dataclasses import dataclass

# A line that is longer comes in parts, so that a text of one line takes no more memory either.
LONGEST_WHOLE_LINE_CHARS = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines, or with `is_part` a part of one line; `ends` says whether it is the last one.

    `text` is without the end of its last line.
    """

    first_line: int
    text: str
    is_part: bool = False
    ends: bool = True

    def lines(self) -> list[str]:
        """The lines, without their ends."""
        lines = self.text.split("\n")
        if "\r" in self.text:
            return [line.removesuffix("\r") for line in lines]
        return lines

    def edges(self, count: int) -> tuple[list[str], list[str]]:
        """The first and the last lines, so many of each; the same ones where there are no more."""
        first = self.text.split("\n", count)[:count]
        last = self.text.rsplit("\n", count)[-count:]
        return [line.removesuffix("\r") for line in first], [
            line.removesuffix("\r") for line in last
        ]


class LineBlocks:
    """Makes blocks of the characters of a text.

    Args:
        first_line: The number of the line that the characters begin in.
    """

    def __init__(self, first_line: int = 1) -> None:
        self._line = first_line
        self._rest = ""
        self._is_inside = False

    def feed(self, text: str) -> list[LineBlock]:
        """The blocks that further characters complete."""
        blocks = []
        text = self._rest + text
        self._rest = ""
        if self._is_inside:
            end = text.find("\n")
            if end < 0:
                return [self._part(text)]
            blocks.append(self._last_part(text[:end]))
            text = text[end + 1 :]
        end = text.rfind("\n")
        if end >= 0:
            blocks.append(LineBlock(self._line, text[:end]))
            self._line += text.count("\n")
            text = text[end + 1 :]
        if len(text) > LONGEST_WHOLE_LINE_CHARS:
            self._is_inside = True
            return [*blocks, self._part(text)]
        self._rest = text
        return blocks

    def finish(self) -> list[LineBlock]:
        """The block that the end of the text completes, if there is one."""
        rest, self._rest = self._rest, ""
        if self._is_inside:
            return [self._last_part(rest)]
        return [LineBlock(self._line, rest)] if rest else []

    def _part(self, text: str) -> LineBlock:
        # It may turn out to be half of the line's end.
        if text.endswith("\r"):
            text, self._rest = text[:-1], "\r"
        return LineBlock(self._line, text, is_part=True, ends=False)

    def _last_part(self, text: str) -> LineBlock:
        block = LineBlock(self._line, text.removesuffix("\r"), is_part=True)
        self._is_inside = False
        self._line += 1
        return block
