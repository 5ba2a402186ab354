"""Splits a text into blocks of lines while it arrives, and indexes its lines.

`LineIndexer` reads the bytes of a text once. With its index, a reader finds a line without reading
all the text before that line.
"""

import codecs
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from pagefault_dialects.media.legacy_charsets import TextDecoder
from pagefault_dialects.text_windows import is_wide

LONGEST_WHOLE_LINE_CHARS = 1024 * 1024
"""Longer lines are split into parts, so that a text without line ends does not fill the memory."""
_CHECKPOINT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Some whole lines, or a part of one long line."""

    first_line: int
    """The number of the first line, or of the long line."""
    text: str
    """The text without the end of its last line."""
    is_part: bool = False
    """True for a part of a long line."""
    ends_line: bool = True
    """True unless further parts of the same line follow."""

    def split_lines(self) -> list[str]:
        """Return the lines, without line ends."""
        lines = self.text.split("\n")
        if "\r" in self.text:
            return [line.removesuffix("\r") for line in lines]
        return lines

    def split_ends(self, count: int) -> tuple[list[str], list[str]]:
        """Return the first `count` and the last `count` lines, which may overlap.

        The lines between them are not split.
        """
        first = self.text.split("\n", count)[:count]
        last = self.text.rsplit("\n", count)[-count:]
        return [line.removesuffix("\r") for line in first], [
            line.removesuffix("\r") for line in last
        ]


class LineBlockSplitter:
    """A splitter of a text into blocks of lines.

    Args:
        first_line: The number of the first line of the text.
    """

    def __init__(self, first_line: int = 1) -> None:
        # The number of the next line.
        self._line = first_line
        # The characters after the last line end.
        self._rest = ""
        self._is_inside_long_line = False

    def feed(self, text: str) -> list[LineBlock]:
        """Return the blocks that the next characters complete."""
        blocks = []
        text = self._rest + text
        self._rest = ""
        if self._is_inside_long_line:
            end = text.find("\n")
            if end < 0:
                return [self._make_part(text)]
            blocks.append(self._end_long_line(text[:end]))
            text = text[end + 1 :]
        end = text.rfind("\n")
        if end >= 0:
            blocks.append(LineBlock(self._line, text[:end]))
            self._line += text.count("\n")
            text = text[end + 1 :]
        if len(text) > LONGEST_WHOLE_LINE_CHARS:
            self._is_inside_long_line = True
            return [*blocks, self._make_part(text)]
        self._rest = text
        return blocks

    def finish(self) -> list[LineBlock]:
        """Return the last block, if there is one, after the end of the text."""
        rest, self._rest = self._rest, ""
        if self._is_inside_long_line:
            return [self._end_long_line(rest)]
        return [LineBlock(self._line, rest)] if rest else []

    def _make_part(self, text: str) -> LineBlock:
        # A carriage return may be the first half of a line end.
        if text.endswith("\r"):
            text, self._rest = text[:-1], "\r"
        return LineBlock(self._line, text, is_part=True, ends_line=False)

    def _end_long_line(self, text: str) -> LineBlock:
        block = LineBlock(self._line, text.removesuffix("\r"), is_part=True)
        self._is_inside_long_line = False
        self._line += 1
        return block


@dataclass(frozen=True, slots=True)
class LineIndex:
    """An index of the lines of one text. It has the number of lines before about every MiB."""

    encoding: str
    """Python's name of the encoding."""
    total_lines: int
    offsets: tuple[int, ...]
    """The checkpoints: positions in the text, in bytes. The first is 0."""
    line_ends: tuple[int, ...]
    """For each checkpoint, the number of line ends in the bytes before it."""

    @property
    def is_dense(self) -> bool:
        """True if there are line ends between all checkpoints, so that no line is long.

        Never true for encodings with several bytes for each character.
        """
        ends = pairwise(self.line_ends)
        return not is_wide(self.encoding) and all(before < after for before, after in ends)

    def find_checkpoint(self, line: int) -> tuple[int, int]:
        """Return the last checkpoint before a line: its byte offset, and the line at the offset.

        A checkpoint may be inside of an earlier line, but not inside of the line itself.
        """
        index = max(0, bisect_left(self.line_ends, line - 1) - 1)
        return self.offsets[index], self.line_ends[index] + 1


class LineIndexer:
    """A builder of the index of a text from its bytes, chunk by chunk.

    Args:
        declared_type: The declared MIME type, perhaps with a charset.
    """

    def __init__(self, declared_type: str | None = None) -> None:
        self._decoder = TextDecoder(declared_type)
        # The number of bytes that were read.
        self._position = 0
        self._line_end_count = 0
        # True if there are characters after the last line end.
        self._has_open_line = False
        self._offsets = [0]
        self._line_ends = [0]

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes. The first chunk needs four bytes, unless the text is shorter."""
        # Once the encoding is known, line ends are counted in the bytes, without decoding.
        text = "" if self._counts_bytes and self._decoder.is_encoding_fixed else self._decode(chunk)
        if not self._counts_bytes:
            self._count(text.encode())
            return
        self._count(chunk if self._position else chunk.removeprefix(codecs.BOM_UTF8))
        self._position += len(chunk)
        if self._position - self._offsets[-1] >= _CHECKPOINT_BYTES:
            self._offsets.append(self._position)
            self._line_ends.append(self._line_end_count)

    def finish(self) -> LineIndex:
        """Return the index of the whole text."""
        rest = self._decode(b"", final=True)
        if not self._counts_bytes:
            self._count(rest.encode())
        return LineIndex(
            self._decoder.encoding,
            self._line_end_count + self._has_open_line,
            tuple(self._offsets),
            tuple(self._line_ends),
        )

    @property
    def _counts_bytes(self) -> bool:
        """True if the byte of a line feed is always a line feed."""
        return not is_wide(self._decoder.encoding)

    def _decode(self, chunk: bytes, *, final: bool = False) -> str:
        return self._decoder.decode(chunk, final=final)

    def _count(self, text: bytes) -> None:
        if text:
            self._line_end_count += text.count(b"\n")
            self._has_open_line = not text.endswith(b"\n")
