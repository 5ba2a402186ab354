"""Lines of a pipe, of any length: short ones in memory, long ones in a temporary file."""

import json
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from functools import cached_property
from types import TracebackType
from typing import IO

import anyio.to_thread

from app.mcp.members import MemberScanner, Span

IN_MEMORY_BYTES = 1024 * 1024
"""A longer line is kept in a file until it has been passed on."""

_PIECE_BYTES = 256 * 1024


class Line:
    """A line of a pipe, with its end, and where the members of the object on it are.

    To be closed, which removes the file of a long one.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        # Closed by whoever takes the line.
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115
        self._scanner = MemberScanner()

    def __enter__(self) -> "Line":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    @property
    def is_long(self) -> bool:
        """Whether it is kept in a file."""
        return self.size_bytes > IN_MEMORY_BYTES

    def add(self, piece: bytes) -> None:
        """Take the next piece of the line."""
        self._file.write(piece)
        self._scanner.feed(piece)
        self.size_bytes += len(piece)

    @cached_property
    def members(self) -> dict[str, Span]:
        """Where the value of each member of the object is; empty if the line is not one object.

        Of two members of one name the last counts, as for most readers of JSON.
        """
        if not self._scanner.is_whole:
            return {}
        members = {}
        for member in self._scanner.members:
            try:
                members[str(json.loads(self.read(member.key)))] = member.value
            except ValueError:
                return {}
        return members

    def read(self, span: Span | None = None) -> bytes:
        """Return a piece of the line, or all of it."""
        start, end = span or (0, self.size_bytes)
        self._file.seek(start)
        return self._file.read(end - start)

    def pieces(self, span: Span | None = None) -> Iterator[bytes]:
        """Yield a piece of the line, or all of it, in pieces that fit into memory."""
        start, end = span or (0, self.size_bytes)
        for at in range(start, end, _PIECE_BYTES):
            yield self.read(Span(at, min(end, at + _PIECE_BYTES)))


async def read_lines(pieces: AsyncIterator[bytes]) -> AsyncGenerator[Line, None]:
    """Yield the lines of a pipe, each with its line end; whoever takes one closes it.

    Args:
        pieces: What the pipe gives, as it comes.
    """
    line = Line()
    try:
        async for piece in pieces:
            start = 0
            while (end := piece.find(b"\n", start) + 1) > 0:
                await _add(line, piece[start:end])
                taken, line = line, Line()
                yield taken
                start = end
            await _add(line, piece[start:])
        if line.size_bytes:
            taken, line = line, Line()
            yield taken
    finally:
        line.__exit__(None, None, None)


async def _add(line: Line, piece: bytes) -> None:
    """Take a piece in: of a long line in a thread, for it is written to a file."""
    if line.size_bytes + len(piece) <= IN_MEMORY_BYTES:
        line.add(piece)
    else:
        await anyio.to_thread.run_sync(line.add, piece)
