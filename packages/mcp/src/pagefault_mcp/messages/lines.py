"""Lines of a pipe, of any length: short ones in memory, long ones in a temporary file.

A line holds a message, or a batch of them, whose items are messages as well.
"""

import codecs
import json
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TypeAlias, TypeVar

import anyio.to_thread

from pagefault_mcp.messages.json_spans import MemberScanner, Span

IN_MEMORY_BYTES = 1024 * 1024
"""A longer line is kept in a file until it has been passed on."""

_PIECE_BYTES = 256 * 1024
_LOOKED_INTO = frozenset({"params", "result"})

Looked = TypeVar("Looked")


class Line:
    """A line of a pipe, with its end, and where the members of the object on it are.

    To be closed, which removes the file of a long one.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        # Closed by whoever takes the line.
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115
        self._scanner = MemberScanner()
        self._found: dict[Span, dict[str, Span]] = {}

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the file of a long line."""
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

    @property
    def whole(self) -> Span:
        """All of the line."""
        return Span(0, self.size_bytes)

    @cached_property
    def members(self) -> dict[str, Span]:
        """Where the value of each member of the object is; empty if the line is not one object.

        Of two members of one name the last counts, as for most readers of JSON.
        """
        return _named(self, self._scanner)

    @cached_property
    def batch(self) -> Sequence["LinePiece"]:
        """The messages on the line, if it is a batch of them; else none."""
        if not self._scanner.is_whole_list:
            return ()
        items = [LinePiece(self, span) for span in self._scanner.items]
        return [item for item in items if item.members] and items

    def members_at(self, place: Span) -> dict[str, Span]:
        """Return where the value of each member of an object on the line is; looked for once."""
        if place not in self._found:
            self._found[place] = _named(self, locate_piece_members(self, place))
        return self._found[place]

    @property
    def messages(self) -> Sequence["Message"]:
        """The messages of a batch, or the line itself."""
        return self.batch or (self,)

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


@dataclass(eq=False)
class LinePiece:
    """A piece of a line that is JSON: a message of a batch, or a value.

    What is said of where things are is said of the line.
    """

    line: Line
    whole: Span
    """Where on the line the piece is."""

    @cached_property
    def members(self) -> dict[str, Span]:
        """Where the value of each member of the object is; empty if it is not one object."""
        # There may be thousands of them on a line, which would all be kept.
        return _named(self.line, locate_piece_members(self.line, self.whole))

    def items(self) -> Iterator["LinePiece"]:
        """Yield the items of a list of any length, while it is read.

        Raises:
            ValueError: It is not one list, which may be found out last.
        """
        scanner = MemberScanner(self.whole.start)
        for piece in self.pieces():
            scanner.feed(piece)
            for span in scanner.take_items():
                item = LinePiece(self.line, span)
                # Nothing stands between the brackets of an empty list.
                if any(map(bytes.strip, item.pieces())):
                    yield item
        if not scanner.is_whole_list:
            raise ValueError

    def read(self, span: Span | None = None) -> bytes:
        """Return a piece of the line, or all of this one."""
        return self.line.read(span or self.whole)

    def pieces(self, span: Span | None = None) -> Iterator[bytes]:
        """Yield a piece of the line, or all of this one, in pieces that fit into memory."""
        return self.line.pieces(span or self.whole)


Message: TypeAlias = Line | LinePiece


def locate_piece_members(message: Message, held: Span) -> MemberScanner:
    """Return where on the line the members of a piece are, if it is an object."""
    scanner = MemberScanner(held.start)
    for piece in message.pieces(held):
        scanner.feed(piece)
    return scanner


def locate_members(message: Message, held: Span) -> dict[str, Span]:
    """Return where on the line the value of each member of an object is; none if it is no object.

    Args:
        message: The line, or a message on it.
        held: Where the object is.
    """
    return (message.line if isinstance(message, LinePiece) else message).members_at(held)


def _named(message: Message, scanner: MemberScanner) -> dict[str, Span]:
    try:
        found = scanner.members if scanner.is_whole else ()
        return {str(json.loads(message.read(key))): value for key, value in found}
    except ValueError:
        return {}


def join_lines(text: bytes) -> bytes:
    """Return JSON without line ends: they stand between its tokens, where a blank does as well."""
    return text.replace(b"\r", b" ").replace(b"\n", b" ")


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
        line.close()


async def read_text(pieces: AsyncIterator[bytes]) -> Line:
    """Return one JSON text, however many lines it has, as one; whoever takes it closes it.

    Raises:
        UnicodeDecodeError: It is not UTF-8.
    """
    line = Line()
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        async for piece in pieces:
            decoder.decode(piece)
            await _add(line, join_lines(piece))
        decoder.decode(b"", final=True)
    except BaseException:
        line.close()
        raise
    return line


async def look_into(text: Line, look: Callable[[Line], Looked]) -> Looked:
    """Return what is found in a text: in a thread if it is long, since all of it is read.

    Args:
        text: The text.
        look: Looks into it.
    """
    return await anyio.to_thread.run_sync(look, text) if text.is_long else look(text)


async def find_members(line: Line) -> None:
    """Find in a thread where the members of parameters and results are on a long line.

    It is known from then on, so that the event loop does not have to look for it.
    """
    if line.is_long:
        await anyio.to_thread.run_sync(_find_members, line)


def _find_members(line: Line) -> None:
    for message in line.messages:
        for name in _LOOKED_INTO & message.members.keys():
            line.members_at(message.members[name])


async def _add(line: Line, piece: bytes) -> None:
    """Take a piece in: of a long line in a thread, for it is written to a file."""
    if line.size_bytes + len(piece) <= IN_MEMORY_BYTES:
        line.add(piece)
    else:
        await anyio.to_thread.run_sync(line.add, piece)
