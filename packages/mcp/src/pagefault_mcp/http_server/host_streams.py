"""Streams of server-sent events to a host over HTTP, which can be resumed after they broke.

In a session, each event has an id. If a stream breaks, the host sends the id of the last event that
it received, and gets the later events of the stream. For this, the recent events of a session are
kept in memory, up to a number and a size. If a response was too large to be kept, the host gets an
error instead.

Source: specification of MCP, 2025-11-25, "Streamable HTTP", "Resumability and Redelivery"; HTML
Living Standard, "Server-sent events".
"""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from pagefault_mcp.messages.lines import Line, RequestId, find_answered_ids
from pagefault_mcp.messages.rewritten_messages import encode_error_line

MAX_EVENTS = 256
"""The maximum number of events of a session that are kept."""
MAX_BYTES = 4 * 1024 * 1024
"""The maximum size of the kept events of a session."""
_MAX_DIGITS = 20
_TOO_LARGE = (
    f"the answer was sent over a stream that broke, and has more than {MAX_BYTES} bytes, so it is "
    "not sent again; the session's history has it if it is the result of a tool"
)


class NoSuchEventError(Exception):
    """The event was never sent, or later events were dropped."""


@dataclass(frozen=True, slots=True)
class SentEvent:
    """An event that was sent on a stream."""

    event_id: str
    stream: str
    """The name of the stream."""
    number: int
    """The number of the event among the events of all streams of the session."""
    text: bytes | None
    """The data; `None` if it was too large to be kept."""
    answered_ids: tuple[RequestId, ...] = ()
    """If the data was too large: the ids of the requests whose responses were in the data."""

    def make_texts(self) -> Sequence[bytes]:
        """Return the data of the event. If it was not kept, return an error for each response."""
        if self.text is not None:
            return [self.text]
        return [encode_error_line(request_id, _TOO_LARGE) for request_id in self.answered_ids]


class SentEvents:
    """The recent events of all streams of one session."""

    def __init__(self) -> None:
        self._events: deque[SentEvent] = deque()
        self._kept_bytes = 0
        self._last_number = 0
        # For each stream, the number of its last event that was dropped; 0 if none was.
        self._last_dropped: dict[str, int] = {}
        self._ended_streams: set[str] = set()

    def begin(self, stream: str) -> str:
        """Begin or resume a stream; return an event id from which it can be resumed."""
        self._last_dropped.setdefault(stream, 0)
        self._ended_streams.discard(stream)
        return f"{stream}-{self._last_number}"

    def mark_ended(self, stream: str) -> None:
        """Mark a stream as ended. Its recent events can still be requested."""
        if stream in self._last_dropped:
            self._ended_streams.add(stream)
            self._forget_if_ended(stream)

    def add(self, stream: str, line: Line) -> str:
        """Add a message that is sent on a stream, and return the id of its event."""
        self._last_number += 1
        event_id = f"{stream}-{self._last_number}"
        is_kept = line.size_bytes <= MAX_BYTES
        text = line.read() if is_kept else None
        answered_ids = () if is_kept else tuple(find_answered_ids(line.messages))
        self._events.append(SentEvent(event_id, stream, self._last_number, text, answered_ids))
        self._kept_bytes += len(text or b"")
        while len(self._events) > MAX_EVENTS or self._kept_bytes > MAX_BYTES:
            oldest = self._events.popleft()
            self._kept_bytes -= len(oldest.text or b"")
            self._last_dropped[oldest.stream] = oldest.number
            self._forget_if_ended(oldest.stream)
        return event_id

    def find_later_events(self, event_id: str) -> tuple[str, list[SentEvent]]:
        """Return the name of the stream of an event, and the later events of that stream.

        Raises:
            NoSuchEventError: The event was never sent, or later events were dropped.
        """
        stream, _, digits = event_id.rpartition("-")
        is_number = digits.isascii() and digits.isdigit() and len(digits) < _MAX_DIGITS
        number = int(digits) if is_number else -1
        last_dropped = self._last_dropped.get(stream)
        if last_dropped is None or not last_dropped <= number <= self._last_number:
            raise NoSuchEventError
        later_events = [
            event for event in self._events if event.stream == stream and event.number > number
        ]
        return stream, later_events

    def _forget_if_ended(self, stream: str) -> None:
        """Forget a stream that has ended, and has no kept events."""
        if stream in self._ended_streams and all(event.stream != stream for event in self._events):
            del self._last_dropped[stream]
            self._ended_streams.discard(stream)


_MAX_QUEUED_LINES = 1_000
_KEEP_ALIVE_SECONDS = 15.0
_KEEP_ALIVE = b": nothing yet\n\n"


@dataclass(eq=False)
class Exchange:
    """The messages for one response to a host: to a POST, or to a GET that opens a stream.

    If the host resumes a broken stream, its exchange gets another connection.
    """

    name: str = ""
    """The name of the stream within the session."""
    waiting: set[object] = field(default_factory=set)
    """The ids of the requests of the POST without a response, as they were sent to the server."""
    original_ids: dict[str, object] = field(default_factory=dict)
    """The ids and progress tokens that the host has sent, by the ids that replace them."""
    lines: deque[Line] = field(default_factory=deque)
    """The messages that are not sent yet. The consumer of a line closes it."""
    has_ended: bool = False
    """True if no more messages will arrive."""
    connection_number: int = 0
    """The number of the connection that gets the messages, which is the last one attached."""
    is_attached: bool = True
    """True while a connection is attached."""
    can_resume: bool = False
    """True if the host has received an event id with which it can resume the stream."""
    _changed: anyio.Event = field(default_factory=anyio.Event)
    """Set when `next_line` has to look for a line, the end or another connection."""

    def put(self, line: Line) -> None:
        """Queue a line. Above the limit, the oldest line is dropped."""
        self.lines.append(line)
        if len(self.lines) > _MAX_QUEUED_LINES:
            self.lines.popleft().close()
        self._changed.set()

    def attach(self) -> int:
        """Attach a connection in place of the current one; return its number."""
        self.connection_number += 1
        self.is_attached = True
        self._changed.set()
        return self.connection_number

    def end(self) -> None:
        """Mark the exchange as ended. Queued messages are still sent."""
        self.has_ended = True
        self._changed.set()

    async def next_line(self, connection_number: int = 0) -> Line | None:
        """Wait for the next line, and return it.

        Return `None` at the end, or if another connection was attached in the meantime.
        """
        while connection_number == self.connection_number and not self.lines:
            if self.has_ended:
                return None
            self._changed = anyio.Event()
            await self._changed.wait()
        return self.lines.popleft() if connection_number == self.connection_number else None

    def close(self) -> None:
        """End the exchange, and drop its unsent messages."""
        self.end()
        while self.lines:
            self.lines.popleft().close()


class HostEventResponse(StreamingResponse):
    """A response with a stream of events. It calls `on_end` when the stream ends or breaks."""

    def __init__(
        self,
        events: AsyncGenerator[bytes, None],
        on_end: Callable[[], Awaitable[None]],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        headers = {**(headers or {}), "cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(events, headers=headers, media_type="text/event-stream")
        self._events = events
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._events.aclose()
                await self._on_end()


async def encode_events(
    sent_events: SentEvents | None,
    exchange: Exchange,
    *,
    connection_number: int = 0,
    missed_events: Sequence[SentEvent] = (),
    is_primed: bool = False,
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a stream of events, until the exchange ends.

    Args:
        sent_events: The recent events; `None` for a host that cannot resume.
        exchange: The messages of the stream.
        connection_number: The number of the connection. The stream ends when another connection is
            attached.
        missed_events: Events that the host did not receive before the stream broke.
        is_primed: Begin the stream with an event that has only an id. With this id, the host can
            resume the stream.
    """
    for event in missed_events:
        for text in event.make_texts():
            yield _encode_head(event.event_id) + _encode_data(text) + b"\n\n"
    if sent_events is not None and exchange.name:
        start_id = sent_events.begin(exchange.name)
        if is_primed:
            exchange.can_resume = True
            yield b"id: %s\ndata: \n\n" % start_id.encode()
    while True:
        line: Line | None = None
        with anyio.move_on_after(_KEEP_ALIVE_SECONDS) as waiting:
            line = await exchange.next_line(connection_number)
        if waiting.cancelled_caught:
            yield _KEEP_ALIVE
            continue
        if line is None:
            return
        with line:
            event_id = None if sent_events is None else sent_events.add(exchange.name, line)
            exchange.can_resume = exchange.can_resume or event_id is not None
            yield _encode_head(event_id)
            for piece in line.pieces():
                yield _encode_data(piece)
        yield b"\n\n"


def _encode_head(event_id: str | None) -> bytes:
    """Return the fields of an event up to its data."""
    id_field = b"" if event_id is None else b"id: %s\n" % event_id.encode()
    return id_field + b"event: message\ndata: "


def _encode_data(piece: bytes) -> bytes:
    """Return a piece of JSON without line ends, which would end the data."""
    return piece.replace(b"\r", b" ").removesuffix(b"\n")
