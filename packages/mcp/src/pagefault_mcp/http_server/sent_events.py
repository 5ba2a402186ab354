"""Recent events of a session's streams, for hosts that resume a broken stream.

A host sends the id of the last event it received, and receives the later events of that stream.
Number and size of the events are limited, and the oldest are dropped first. An answer that was too
large to be kept is replaced by an error.

Source: specification of MCP, 2025-11-25, "Resumability and Redelivery".
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from pagefault_mcp.messages.lines import Line
from pagefault_mcp.messages.message_values import RequestId, answered_ids
from pagefault_mcp.messages.rewritten_messages import error_line

MOST_EVENTS = 256
MOST_BYTES = 4 * 1024 * 1024
_MOST_DIGITS = 20
_TOO_LARGE = (
    f"the answer was sent over a stream that broke, and has more than {MOST_BYTES} bytes, so it is "
    "not sent again; the session's history has it if it is the result of a tool"
)


class NoSuchEventError(Exception):
    """The event was never sent, or later events were dropped."""


@dataclass(frozen=True, slots=True)
class SentEvent:
    """An event that was sent on a stream."""

    event_id: str
    stream: str
    number: int
    """Its number among the events of all streams."""
    text: bytes | None
    """Its data; `None` if it was too large to be kept."""
    answers: tuple[RequestId, ...] = ()
    """The requests that it answers, if its data was too large."""

    def texts(self) -> Sequence[bytes]:
        """Return the data of the event, or an error for each request that it answered."""
        if self.text is not None:
            return [self.text]
        return [error_line(request_id, _TOO_LARGE) for request_id in self.answers]


class SentEvents:
    """The recent events of all streams of one session."""

    def __init__(self) -> None:
        self._events: deque[SentEvent] = deque()
        self._kept_bytes = 0
        self._last_number = 0
        # The last dropped event of each known stream.
        self._dropped: dict[str, int] = {}
        self._ended: set[str] = set()

    def begin(self, stream: str) -> str:
        """Begin or resume a stream; return the id of its position so far."""
        self._dropped.setdefault(stream, 0)
        self._ended.discard(stream)
        return f"{stream}-{self._last_number}"

    def end(self, stream: str) -> None:
        """Mark the end of a stream, which stays known while its events are kept."""
        if stream in self._dropped:
            self._ended.add(stream)
            self._forget(stream)

    def keep(self, stream: str, line: Line) -> str:
        """Keep a message that is sent on a stream; return the id of the event."""
        self._last_number += 1
        event_id = f"{stream}-{self._last_number}"
        is_kept = line.size_bytes <= MOST_BYTES
        text = line.read() if is_kept else None
        answers = () if is_kept else tuple(answered_ids(line.messages))
        self._events.append(SentEvent(event_id, stream, self._last_number, text, answers))
        self._kept_bytes += len(text or b"")
        while len(self._events) > MOST_EVENTS or self._kept_bytes > MOST_BYTES:
            oldest = self._events.popleft()
            self._kept_bytes -= len(oldest.text or b"")
            self._dropped[oldest.stream] = oldest.number
            self._forget(oldest.stream)
        return event_id

    def after(self, event_id: str) -> tuple[str, list[SentEvent]]:
        """Return the stream of an event, and its later events.

        Raises:
            NoSuchEventError: The event was never sent, or later ones were dropped.
        """
        stream, _, digits = event_id.rpartition("-")
        is_number = digits.isascii() and digits.isdigit() and len(digits) < _MOST_DIGITS
        number = int(digits) if is_number else -1
        dropped = self._dropped.get(stream)
        if dropped is None or not dropped <= number <= self._last_number:
            raise NoSuchEventError
        missed = [each for each in self._events if each.stream == stream and each.number > number]
        return stream, missed

    def _forget(self, stream: str) -> None:
        if stream in self._ended and all(each.stream != stream for each in self._events):
            del self._dropped[stream]
            self._ended.discard(stream)
