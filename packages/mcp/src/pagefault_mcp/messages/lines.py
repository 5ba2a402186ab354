"""Lines of a pipe, of any length: short lines in memory, long ones in a temporary file.

A line is a message of JSON-RPC, or a batch of messages. Lines are not parsed as a whole. Callers
locate the members that they need, and parse only these:

- `message.members`, `locate_object` and `locate_members` return the spans of the values in a
  message, in an object that is a member of a message, and in an object at a span.
- `read_message_member`, `read_member` and `parse_span` return the parsed value of a member of a
  message, of a member of a located object, and of a span.

A `Span` is a range of bytes of a line.
"""

import codecs
import json
import math
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TypeAlias, TypeGuard, TypeVar

import anyio.to_thread

from pagefault_dialects.json.values import JsonValue
from pagefault_mcp.messages.json_spans import MemberScanner, Span

IN_MEMORY_BYTES = 1024 * 1024
"""The length of the longest line in memory. A longer line is in a temporary file."""

_PIECE_BYTES = 256 * 1024
# The members of a message whose own members `locate_long_members` locates.
_LOCATED_MEMBERS = frozenset({"params", "result"})

Scanned = TypeVar("Scanned")


class Line:
    """A line of a pipe, with its line end.

    The consumer of a line has to close the line, which removes the temporary file of a long one.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        # Closed by the consumer of the line.
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115
        self._scanner = MemberScanner()
        self._members_by_span: dict[Span, dict[str, Span]] = {}

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the temporary file of a long line."""
        self._file.close()

    @property
    def is_long(self) -> bool:
        """True if the line is stored in a temporary file."""
        return self.size_bytes > IN_MEMORY_BYTES

    def add(self, piece: bytes) -> None:
        """Append the next piece of the line."""
        self._file.write(piece)
        self._scanner.feed(piece)
        self.size_bytes += len(piece)

    @property
    def whole_span(self) -> Span:
        """The span of the whole line."""
        return Span(0, self.size_bytes)

    @cached_property
    def members(self) -> dict[str, Span]:
        """The spans of the members' values, by name; empty if the line is not one object.

        If a name is repeated, its last value counts, as for most parsers of JSON.
        """
        return _name_members(self, self._scanner)

    @cached_property
    def batch(self) -> Sequence["LinePiece"]:
        """The messages of a batch; empty if the line is not a list with an object in it."""
        if not self._scanner.is_whole_list:
            return ()
        items = [LinePiece(self, span) for span in self._scanner.items]
        return items if any(item.members for item in items) else ()

    def locate_members_at(self, span: Span) -> dict[str, Span]:
        """Return the spans of the values of an object on the line, by name. They are cached.

        Args:
            span: The span of the object.
        """
        if span not in self._members_by_span:
            self._members_by_span[span] = _name_members(self, scan_members(self, span))
        return self._members_by_span[span]

    @property
    def messages(self) -> Sequence["Message"]:
        """The messages of the batch, or the line itself."""
        return self.batch or (self,)

    def read(self, span: Span | None = None) -> bytes:
        """Return the bytes of a span, or of the whole line."""
        start, end = span or (0, self.size_bytes)
        self._file.seek(start)
        return self._file.read(end - start)

    def pieces(self, span: Span | None = None) -> Iterator[bytes]:
        """Yield a span of the line, or all of it, in pieces of up to 256 KiB."""
        start, end = span or (0, self.size_bytes)
        for piece_start in range(start, end, _PIECE_BYTES):
            yield self.read(Span(piece_start, min(end, piece_start + _PIECE_BYTES)))


@dataclass(eq=False)
class LinePiece:
    """A JSON value on a line: a message of a batch, or a value in a message.

    All spans are relative to the line, not to the piece.
    """

    line: Line
    whole_span: Span
    """The span of the piece."""

    @cached_property
    def members(self) -> dict[str, Span]:
        """The spans of the members' values, by name; empty if the piece is not one object."""
        # These are not cached in the line, since a line may have thousands of pieces.
        return _name_members(self.line, scan_members(self.line, self.whole_span))

    def items(self) -> Iterator["LinePiece"]:
        """Yield the items of a list of any length, while the list is scanned.

        Raises:
            ValueError: The piece is not one list; raised after the last item.
        """
        scanner = MemberScanner(self.whole_span.start)
        for piece in self.pieces():
            scanner.feed(piece)
            for span in scanner.take_items():
                item = LinePiece(self.line, span)
                # In an empty list, the scanner finds one blank item.
                if any(map(bytes.strip, item.pieces())):
                    yield item
        if not scanner.is_whole_list:
            raise ValueError

    def read(self, span: Span | None = None) -> bytes:
        """Return the bytes of a span of the line, or of this piece."""
        return self.line.read(span or self.whole_span)

    def pieces(self, span: Span | None = None) -> Iterator[bytes]:
        """Yield the bytes of a span of the line, or of this piece, up to 256 KiB at a time."""
        return self.line.pieces(span or self.whole_span)


Message: TypeAlias = Line | LinePiece
"""A message of JSON-RPC: a whole line, or a piece of a batch."""


def scan_members(message: Message, span: Span) -> MemberScanner:
    """Return a scanner that has read a span of a message."""
    scanner = MemberScanner(span.start)
    for piece in message.pieces(span):
        scanner.feed(piece)
    return scanner


def locate_members(message: Message, span: Span) -> dict[str, Span]:
    """Return the spans of the values of an object, by name; empty for other values.

    Args:
        message: The line, or a message on the line.
        span: The span of the object.
    """
    return (message.line if isinstance(message, LinePiece) else message).locate_members_at(span)


def _name_members(message: Message, scanner: MemberScanner) -> dict[str, Span]:
    """Return the spans of the values that a scanner has found, by name."""
    try:
        spans = scanner.members if scanner.is_whole else ()
        return {str(json.loads(message.read(key))): value for key, value in spans}
    except ValueError:
        return {}


def join_lines(text: bytes) -> bytes:
    """Return JSON text with its line ends replaced by spaces."""
    # In JSON, line ends occur only between tokens.
    return text.replace(b"\r", b" ").replace(b"\n", b" ")


async def read_lines(pieces: AsyncIterator[bytes]) -> AsyncGenerator[Line, None]:
    """Yield the lines of a pipe, each with its line end. The consumer closes each line.

    Args:
        pieces: The bytes of the pipe.
    """
    line = Line()
    try:
        async for piece in pieces:
            start = 0
            while (end := piece.find(b"\n", start) + 1) > 0:
                await _append(line, piece[start:end])
                complete, line = line, Line()
                yield complete
                start = end
            await _append(line, piece[start:])
        if line.size_bytes:
            complete, line = line, Line()
            yield complete
    finally:
        line.close()


async def read_text(pieces: AsyncIterator[bytes]) -> Line:
    """Return a JSON text of any number of lines as one line, which the caller closes.

    Raises:
        UnicodeDecodeError: The text is not UTF-8.
    """
    line = Line()
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        async for piece in pieces:
            decoder.decode(piece)
            await _append(line, join_lines(piece))
        decoder.decode(b"", final=True)
    except BaseException:
        line.close()
        raise
    return line


async def scan_line(line: Line, scan: Callable[[Line], Scanned]) -> Scanned:
    """Return the result of `scan` for a line. If the line is long, `scan` runs in a thread."""
    return await anyio.to_thread.run_sync(scan, line) if line.is_long else scan(line)


async def locate_long_members(line: Line) -> None:
    """Locate the members of `params` and `result` in a long line, in a thread.

    The line caches their spans, so that the event loop does not have to scan the line later.
    """
    if line.is_long:
        await anyio.to_thread.run_sync(_locate_inner_members, line)


def _locate_inner_members(line: Line) -> None:
    """Locate the members of `params` and `result`; see `locate_long_members`."""
    for message in line.messages:
        for name in _LOCATED_MEMBERS & message.members.keys():
            line.locate_members_at(message.members[name])


async def _append(line: Line, piece: bytes) -> None:
    """Append a piece to a line; in a thread if the line is stored in a file."""
    if line.size_bytes + len(piece) <= IN_MEMORY_BYTES:
        line.add(piece)
    else:
        await anyio.to_thread.run_sync(line.add, piece)


MAX_PARSED_BYTES = 8 * 1024 * 1024
"""The length of the longest value that is parsed."""
_MAX_ID_BYTES = 1024 * 1024

RequestId: TypeAlias = str | float


def parse_span(message: Message, span: Span) -> JsonValue:
    """Return the parsed value of a span of a message; `None` if its bytes are not JSON."""
    try:
        value: JsonValue = json.loads(message.read(span))
    except (ValueError, RecursionError):
        return None
    return value


def read_member(
    message: Message, members: Mapping[str, Span], name: str, *, max_bytes: int = MAX_PARSED_BYTES
) -> JsonValue:
    """Return the parsed value of a member of an object; `None` if it is missing or too long.

    Args:
        message: The line, or a message on the line.
        members: The members of the object, as `locate_members` returns them.
        name: The name of the member.
        max_bytes: The length of the longest value that is parsed.
    """
    span = members.get(name)
    if span is None or span.end - span.start > max_bytes:
        return None
    return parse_span(message, span)


def read_message_member(message: Message, name: str) -> JsonValue:
    """Return the parsed value of a member of a message; `None` if it is missing or too long."""
    return read_member(message, message.members, name)


def locate_object(message: Message, name: str) -> Mapping[str, Span]:
    """Return the spans of the values of an object, by name. The object is a member of a message."""
    span = message.members.get(name)
    return {} if span is None else locate_members(message, span)


def read_id(message: Message) -> RequestId | None:
    """Return the id of a message; `None` if the id is missing or invalid."""
    value = read_member(message, message.members, "id", max_bytes=_MAX_ID_BYTES)
    return value if is_id(value) else None


def get_member(value: JsonValue, *path: str) -> JsonValue:
    """Return the value at a path of names in nested objects; `None` if a name is missing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def is_id(value: object) -> TypeGuard[RequestId]:
    """Return whether a value is a valid id of a request: a string or a finite number."""
    if isinstance(value, float):
        return math.isfinite(value)
    # `True` is an instance of int, but not a valid id.
    return isinstance(value, str | int) and not isinstance(value, bool)


def find_answered_ids(messages: Sequence[Message]) -> Iterator[RequestId]:
    """Yield the ids of those messages that are responses."""
    for message in messages:
        span = message.members.get("id")
        value = None if span is None or "method" in message.members else parse_span(message, span)
        if is_id(value):
            yield value
