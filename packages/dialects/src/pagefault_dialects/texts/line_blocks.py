"""The lines of a text as it arrives: cut into blocks, and counted.

An index of lines is made in one pass over the bytes. With it, a reader finds a line without reading
the text before it.
"""

import codecs
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from pagefault_dialects.media.legacy_charsets import TextDecoder
from pagefault_dialects.text_windows import is_wide

# A longer line is split into parts, which limits the memory of a text without line ends.
LONGEST_WHOLE_LINE_CHARS = 1024 * 1024
_CHECKPOINT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines, or with `is_part` a part of one line; `ends` is true for its last part.

    `text` excludes the end of its last line.
    """

    first_line: int
    text: str
    is_part: bool = False
    ends: bool = True

    def lines(self) -> list[str]:
        """Return the lines, without their ends."""
        lines = self.text.split("\n")
        if "\r" in self.text:
            return [line.removesuffix("\r") for line in lines]
        return lines

    def edges(self, count: int) -> tuple[list[str], list[str]]:
        """Return the first and the last `count` lines; the same ones if there are no more."""
        first = self.text.split("\n", count)[:count]
        last = self.text.rsplit("\n", count)[-count:]
        return [line.removesuffix("\r") for line in first], [
            line.removesuffix("\r") for line in last
        ]


class LineBlocks:
    """A splitter of a text into blocks.

    Args:
        first_line: The number of the line at the start of the text.
    """

    def __init__(self, first_line: int = 1) -> None:
        self._line = first_line
        self._rest = ""
        self._is_inside = False

    def feed(self, text: str) -> list[LineBlock]:
        """Return the blocks that further characters complete."""
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
        """Return the block that the end of the text completes, if there is one."""
        rest, self._rest = self._rest, ""
        if self._is_inside:
            return [self._last_part(rest)]
        return [LineBlock(self._line, rest)] if rest else []

    def _part(self, text: str) -> LineBlock:
        # It may be the first half of a line end.
        if text.endswith("\r"):
            text, self._rest = text[:-1], "\r"
        return LineBlock(self._line, text, is_part=True, ends=False)

    def _last_part(self, text: str) -> LineBlock:
        block = LineBlock(self._line, text.removesuffix("\r"), is_part=True)
        self._is_inside = False
        self._line += 1
        return block


@dataclass(frozen=True, slots=True)
class LineIndex:
    """The lines of one text.

    `line_ends[n]` is the number of line ends in the bytes before `offsets[n]`; the first of each is
    0.
    """

    encoding: str
    total_lines: int
    offsets: tuple[int, ...]
    line_ends: tuple[int, ...]

    @property
    def is_dense(self) -> bool:
        """True if line ends are frequent, so that each line is read whole from a near offset."""
        ends = pairwise(self.line_ends)
        return not is_wide(self.encoding) and all(before < after for before, after in ends)

    def place_before(self, line: int) -> tuple[int, int]:
        """Return a byte offset at or before the beginning of a line, and its line."""
        # An offset in the middle of the line before is suitable, and in the line itself is not.
        found = max(0, bisect_left(self.line_ends, line - 1) - 1)
        return self.offsets[found], self.line_ends[found] + 1


class LineIndexer:
    """A counter of the lines of a text as its bytes arrive.

    Args:
        declared_type: The declared MIME type, perhaps with a charset.
    """

    def __init__(self, declared_type: str | None = None) -> None:
        self._decoder = TextDecoder(declared_type)
        self._position = 0
        self._ends = 0
        self._is_open = False
        self._offsets = [0]
        self._line_ends = [0]

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes; the first call needs four bytes, if there are so many."""
        text = "" if self._counts_bytes and self._decoder.is_final else self._decode(chunk)
        if not self._counts_bytes:
            self._count(text.encode())
            return
        self._count(chunk if self._position else chunk.removeprefix(codecs.BOM_UTF8))
        self._position += len(chunk)
        if self._position - self._offsets[-1] >= _CHECKPOINT_BYTES:
            self._offsets.append(self._position)
            self._line_ends.append(self._ends)

    def finish(self) -> LineIndex:
        """Return the index of the whole text."""
        rest = self._decode(b"", final=True)
        if not self._counts_bytes:
            self._count(rest.encode())
        return LineIndex(
            self._decoder.encoding,
            self._ends + self._is_open,
            tuple(self._offsets),
            tuple(self._line_ends),
        )

    @property
    def _counts_bytes(self) -> bool:
        return not is_wide(self._decoder.encoding)

    def _decode(self, chunk: bytes, *, final: bool = False) -> str:
        return self._decoder.decode(chunk, final=final)

    def _count(self, text: bytes) -> None:
        if text:
            self._ends += text.count(b"\n")
            self._is_open = not text.endswith(b"\n")
