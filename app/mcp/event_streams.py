"""Server-sent events of any length: the data of each in the lines that it came on.

Source: HTML Living Standard, "Server-sent events"; a line ends with LF or CR LF here.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass, field

from app.mcp.calls import answered_ids, is_id
from app.mcp.lines import Excerpt, Line, read_lines
from app.mcp.members import Span
from app.models.json_value import JsonValue

_LONGEST_FIELD_BYTES = 8192
_DATA = b"data:"
_LONGEST_BLANK = 32


@dataclass(slots=True)
class ServerEvent:
    """An event: its type, what a broken stream is resumed by, and its data."""

    name: str = "message"
    event_id: str | None = None
    retry_seconds: float | None = None
    data: list[Excerpt] = field(default_factory=list)

    def pieces(self) -> Iterator[bytes]:
        """Yield the data as one line of JSON, in pieces that fit into memory."""
        for index, item in enumerate(self.data):
            if index:
                # A line end in JSON stands between its tokens.
                yield b" "
            yield from (piece.replace(b"\r", b" ") for piece in item.pieces())
        yield b"\n"

    def text(self) -> bytes:
        """Return the data."""
        return b"".join(self.pieces()).strip()

    def is_message(self, warn: Callable[[str], None]) -> bool:
        """Return whether the data is a message, or a batch of them; warn if it is anything else."""
        if not self.data:
            return False
        is_one = len(self.data) == 1 and bool(self.data[0].members)
        if not (is_one or isinstance(self._said(), dict | list)):
            warn("the server said something that is no message")
            return False
        return True

    def _said(self) -> JsonValue:
        said: JsonValue = None
        with suppress(ValueError, RecursionError):
            said = json.loads(self.text())
        return said

    def answered_ids(self) -> set[object]:
        """Return the ids of the requests that the messages in the data answer."""
        if len(self.data) == 1 and self.data[0].members:
            return set(answered_ids(self.data))
        said = self._said()
        return {
            each["id"]
            for each in (said if isinstance(said, list) else [said])
            if isinstance(each, dict) and "method" not in each and is_id(each.get("id"))
        }


async def read_events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[ServerEvent, None]:
    """Yield events; what one holds is gone when the next is asked for."""
    event = ServerEvent()
    with ExitStack() as held:
        async with aclosing(read_lines(pieces)) as lines:
            async for line in lines:
                held.enter_context(line)
                if line.size_bytes <= 2 and not line.read().strip():
                    if event.data or event.event_id is not None:
                        yield event
                    held.pop_all().close()
                    event = ServerEvent()
                else:
                    _read_field(event, line)


def _read_field(event: ServerEvent, line: Line) -> None:
    if line.read(Span(0, len(_DATA))) == _DATA:
        if line.size_bytes <= _LONGEST_BLANK and not line.read()[len(_DATA) :].strip():
            # The first event of a stream may be one that has nothing but an id.
            return
        event.data.append(Excerpt(line, Span(len(_DATA), line.size_bytes - 1)))
        return
    name, _, value = line.read(Span(0, _LONGEST_FIELD_BYTES)).partition(b":")
    said = value.strip().decode("utf-8", "replace")
    if name == b"event":
        event.name = said
    elif name == b"id":
        event.event_id = said
    elif name == b"retry" and said.isascii() and said.isdigit():
        event.retry_seconds = int(said[:9]) / 1000
