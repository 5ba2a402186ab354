"""A parser for server-sent events of any length.

The data of an event may be too large for memory. It is not copied: an event refers to the lines of
the stream, which are in temporary files if they are long.

Source: HTML Living Standard, "Server-sent events"; a line ends with LF or CR LF here.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass, field

import httpx

from pagefault_dialects.json.values import JsonValue
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import Line, LinePiece, find_answered_ids, is_id, read_lines

_LONGEST_FIELD_BYTES = 8192
_DATA_FIELD = b"data:"
_LAST_EVENT_HEADER = "last-event-id"
_RETRY_SECONDS = 1.0
_SHORTEST_RETRY_SECONDS = 0.05
_LONGEST_RETRY_SECONDS = 60.0
# A longer `data` field is not read to find out that it is blank.
_LONGEST_BLANK_FIELD_BYTES = 32


@dataclass(slots=True)
class ServerEvent:
    """A server-sent event."""

    name: str = "message"
    event_id: str | None = None
    retry_seconds: float | None = None
    data: list[LinePiece] = field(default_factory=list)
    """The values of the `data` fields, as pieces of their lines."""

    def pieces(self) -> Iterator[bytes]:
        """Yield the data as one line of JSON, in pieces that fit into memory."""
        for index, item in enumerate(self.data):
            if index:
                # In JSON, line ends occur only between tokens, where a blank means the same.
                yield b" "
            yield from (piece.replace(b"\r", b" ") for piece in item.pieces())
        yield b"\n"

    def text(self) -> bytes:
        """Return the data as one line of JSON, without the line end."""
        return b"".join(self.pieces()).strip()

    def is_message(self, warn: Callable[[str], None]) -> bool:
        """Return whether the event is a message or a batch.

        Events of other types, such as keep-alives, are not messages. If an event has the type
        `message`, but its data is not a message, a warning is logged.
        """
        if not self.data or self.name not in ("", "message"):
            return False
        is_one_object = len(self.data) == 1 and bool(self.data[0].members)
        if not (is_one_object or isinstance(self._parse_data(), dict | list)):
            warn("the server said something that is no message")
            return False
        return True

    def _parse_data(self) -> JsonValue:
        value: JsonValue = None
        with suppress(ValueError, RecursionError):
            value = json.loads(self.text())
        return value

    def find_answered_ids(self) -> set[object]:
        """Return the ids of the requests whose responses are in the data."""
        if len(self.data) == 1 and self.data[0].members:
            return set(find_answered_ids(self.data))
        value = self._parse_data()
        return {
            item["id"]
            for item in (value if isinstance(value, list) else [value])
            if isinstance(item, dict) and "method" not in item and is_id(item.get("id"))
        }


@dataclass(slots=True)
class StreamPosition:
    """The position up to which a stream was received, for a request that resumes the stream."""

    event_id: str = ""
    """The id of the last event; empty if the stream cannot be resumed."""
    wait_seconds: float = _RETRY_SECONDS
    """The delay before the stream is resumed."""

    def advance(self, event: ServerEvent) -> None:
        """Move the position behind an event."""
        if event.event_id is not None:
            self.event_id = event.event_id
        if event.retry_seconds is not None:
            delay = max(event.retry_seconds, _SHORTEST_RETRY_SECONDS)
            self.wait_seconds = min(delay, _LONGEST_RETRY_SECONDS)

    def build_headers(self, session_headers: Mapping[str, str]) -> httpx.Headers:
        """Return the headers of a request that opens or resumes the stream.

        Args:
            session_headers: The headers of the session.
        """
        last_event = {_LAST_EVENT_HEADER: self.event_id} if self.event_id else {}
        headers = {"accept": "text/event-stream", **session_headers, **last_event}
        return httpx.Headers(headers, encoding="utf-8")


async def read_events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[ServerEvent, None]:
    """Yield the events of a stream. The data of an event is valid until the next event is read.

    Args:
        pieces: The bytes of the stream.
    """
    event = ServerEvent()
    # Closes the lines with the data of the event.
    with ExitStack() as data_lines:
        async with aclosing(read_lines(pieces)) as lines:
            async for line in lines:
                # Closes the line, unless it has data of the event.
                with ExitStack() as current_line:
                    current_line.enter_context(line)
                    # An empty line, of a line end only, ends the event.
                    if line.size_bytes > 2 or line.read().strip():
                        previous_count = len(event.data)
                        _read_field(event, line)
                        if len(event.data) > previous_count:
                            data_lines.push(current_line.pop_all())
                        continue
                if event != ServerEvent(event.name):
                    yield event
                data_lines.pop_all().close()
                event = ServerEvent()


def _read_field(event: ServerEvent, line: Line) -> None:
    """Add the field on a line to an event."""
    if line.read(Span(0, len(_DATA_FIELD))) == _DATA_FIELD:
        if (
            line.size_bytes <= _LONGEST_BLANK_FIELD_BYTES
            and not line.read()[len(_DATA_FIELD) :].strip()
        ):
            # The data is blank: the first event of a stream may have only an id.
            return
        event.data.append(LinePiece(line, Span(len(_DATA_FIELD), line.size_bytes - 1)))
        return
    name, _, text = line.read(Span(0, _LONGEST_FIELD_BYTES)).rstrip(b"\r\n").partition(b":")
    value = text.strip().decode("utf-8", "replace")
    if name == b"event":
        event.name = value
    elif name == b"id":
        # An id that is invalid in a header cannot be used to resume the stream.
        is_whole = value.isprintable() and line.size_bytes <= _LONGEST_FIELD_BYTES
        event.event_id = value if is_whole else ""
    elif name == b"retry" and value.isascii() and value.isdigit():
        event.retry_seconds = int(value[:9]) / 1000
