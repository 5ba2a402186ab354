"""How many lines a text has, and where in its bytes they are.

An index is made in one pass over the bytes. With it, a reader gets to a line without reading what
stands before it.
"""

import codecs
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from app.models.text_windows import UTF_8, text_decoder, text_encoding

_CHECKPOINT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LineIndex:
    """The lines of one text.

    `line_ends[n]` is how many lines end in the bytes before `offsets[n]`; the first of each is 0.
    """

    encoding: str
    total_lines: int
    offsets: tuple[int, ...]
    line_ends: tuple[int, ...]

    @property
    def is_dense(self) -> bool:
        """Whether lines end all over the text, so that each is read whole from a place near by."""
        ends = pairwise(self.line_ends)
        return self.encoding == UTF_8 and all(before < after for before, after in ends)

    def place_before(self, line: int) -> tuple[int, int]:
        """A byte offset at or before the beginning of a line, and the line it is in."""
        # A place in the middle of the line before is near enough, and of the line itself is not.
        found = max(0, bisect_left(self.line_ends, line - 1) - 1)
        return self.offsets[found], self.line_ends[found] + 1


class LineIndexer:
    """Counts the lines of a text as its bytes arrive."""

    def __init__(self) -> None:
        self._encoding: str | None = None
        self._decoder: codecs.IncrementalDecoder | None = None
        self._position = 0
        self._ends = 0
        self._is_open = False
        self._offsets = [0]
        self._line_ends = [0]

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; the first of them are at least four, if there are so many."""
        bare = chunk
        if self._encoding is None:
            self._encoding = text_encoding(chunk[:4])
            if self._encoding == UTF_8:
                bare = chunk.removeprefix(codecs.BOM_UTF8)
            else:
                self._decoder = text_decoder(self._encoding)
        if self._decoder is not None:
            self._count(self._decoder.decode(chunk).encode())
            return
        self._count(bare)
        self._position += len(chunk)
        if self._position - self._offsets[-1] >= _CHECKPOINT_BYTES:
            self._offsets.append(self._position)
            self._line_ends.append(self._ends)

    def finish(self) -> LineIndex:
        """The index of all that came."""
        if self._decoder is not None:
            self._count(self._decoder.decode(b"", final=True).encode())
        return LineIndex(
            self._encoding or UTF_8,
            self._ends + self._is_open,
            tuple(self._offsets),
            tuple(self._line_ends),
        )

    def _count(self, text: bytes) -> None:
        if text:
            self._ends += text.count(b"\n")
            self._is_open = not text.endswith(b"\n")
