"""Send streams of server-sent events to a host over HTTP, and resume them after they broke.

In a session, each event has an id. If a stream breaks, the host sends the id of the last event that
it received, and receives the later events of the stream. For this, the recent events of a session
are kept in memory, up to a number and a size. If a response was too large to be kept, the host gets
an error in its place.

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
from pagefault_mcp.messages.rewritten_messages import error_line

MAX_EVENTS = 256
MAX_BYTES = 4 * 1024 * 1024
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
    number: int
    """The number of the event; events of all streams are numbered together."""
    text: bytes | None
    """The data; `None` if it was too large to be kept."""
    answers: tuple[RequestId, ...] = ()
    """The ids of the requests that the event answered, if its data was too large."""

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
        # For each stream, the number of the last event that was dropped.
        self._dropped: dict[str, int] = {}
        self._ended: set[str] = set()

    def begin(self, stream: str) -> str:
        """Begin or resume a stream; return an event id from which it can be resumed."""
        self._dropped.setdefault(stream, 0)
        self._ended.discard(stream)
        return f"{stream}-{self._last_number}"

    def mark_ended(self, stream: str) -> None:
        """Mark a stream as ended. Its recent events can still be requested."""
        if stream in self._dropped:
            self._ended.add(stream)
            self._remove_ended(stream)

    def add(self, stream: str, line: Line) -> str:
        """Add a message that is sent on a stream, and return the id of its event."""
        self._last_number += 1
        event_id = f"{stream}-{self._last_number}"
        is_kept = line.size_bytes <= MAX_BYTES
        text = line.read() if is_kept else None
        answers = () if is_kept else tuple(find_answered_ids(line.messages))
        self._events.append(SentEvent(event_id, stream, self._last_number, text, answers))
        self._kept_bytes += len(text or b"")
        while len(self._events) > MAX_EVENTS or self._kept_bytes > MAX_BYTES:
            oldest = self._events.popleft()
            self._kept_bytes -= len(oldest.text or b"")
            self._dropped[oldest.stream] = oldest.number
            self._remove_ended(oldest.stream)
        return event_id

    def after(self, event_id: str) -> tuple[str, list[SentEvent]]:
        """Return the name of an event's stream, and the later events of that stream.

        Raises:
            NoSuchEventError: The event was never sent, or later events were dropped.
        """
        stream, _, digits = event_id.rpartition("-")
        is_number = digits.isascii() and digits.isdigit() and len(digits) < _MAX_DIGITS
        number = int(digits) if is_number else -1
        dropped = self._dropped.get(stream)
        if dropped is None or not dropped <= number <= self._last_number:
            raise NoSuchEventError
        missed = [
            event for event in self._events if event.stream == stream and event.number > number
        ]
        return stream, missed

    def _remove_ended(self, stream: str) -> None:
        if stream in self._ended and all(event.stream != stream for event in self._events):
            del self._dropped[stream]
            self._ended.discard(stream)


_MAX_QUEUED_LINES = 1_000
_KEEP_ALIVE_SECONDS = 15.0
_KEEP_ALIVE = b": nothing yet\n\n"


@dataclass(eq=False)
class Exchange:
    """The messages for one POST of a host, or for the stream that the host has opened by GET."""

    name: str = ""
    """The name of the stream within the session."""
    waiting: set[object] = field(default_factory=set)
    """The ids of the unanswered requests of the POST, as they were sent to the server."""
    original_ids: dict[str, object] = field(default_factory=dict)
    """The ids and progress tokens of the host, by the ids that replace them."""
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
    _is_changed: anyio.Event = field(default_factory=anyio.Event)

    def put(self, line: Line) -> None:
        """Queue a line. Above the limit, the oldest line is dropped."""
        self.lines.append(line)
        if len(self.lines) > _MAX_QUEUED_LINES:
            self.lines.popleft().close()
        self._is_changed.set()

    def attach(self) -> int:
        """Attach a connection in place of the current one; return its number."""
        self.connection_number += 1
        self.is_attached = True
        self._is_changed.set()
        return self.connection_number

    def end(self) -> None:
        """Mark the exchange as ended: no more messages will arrive."""
        self.has_ended = True
        self._is_changed.set()

    async def next_line(self, connection_number: int = 0) -> Line | None:
        """Return the next line; `None` at the end, or if another connection was attached."""
        while connection_number == self.connection_number and not self.lines:
            if self.has_ended:
                return None
            self._is_changed = anyio.Event()
            await self._is_changed.wait()
        return self.lines.popleft() if connection_number == self.connection_number else None

    def close(self) -> None:
        """End the exchange, and drop its unsent messages."""
        self.end()
        while self.lines:
            self.lines.popleft().close()


class HostEventResponse(StreamingResponse):
    """A response with a stream of events, which calls a function when it ends or breaks."""

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
    sent: SentEvents | None,
    exchange: Exchange,
    *,
    connection_number: int = 0,
    missed: Sequence[SentEvent] = (),
    is_primed: bool = False,
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a stream of events, until the exchange ends.

    Args:
        sent: The recent events; `None` for a host that cannot resume.
        exchange: The stream.
        connection_number: The number of the connection.
        missed: Events that the host did not receive before the stream broke.
        is_primed: Whether the stream begins with an event that has only an id, with which the host
            can resume the stream.
    """
    for event in missed:
        for text in event.texts():
            yield _head(event.event_id) + _data(text) + b"\n\n"
    if sent is not None and exchange.name:
        beginning = sent.begin(exchange.name)
        if is_primed:
            exchange.can_resume = True
            yield b"id: %s\ndata: \n\n" % beginning.encode()
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
            event_id = None if sent is None else sent.add(exchange.name, line)
            exchange.can_resume = exchange.can_resume or event_id is not None
            yield _head(event_id)
            for piece in line.pieces():
                yield _data(piece)
        yield b"\n\n"


def _head(event_id: str | None) -> bytes:
    id_field = b"" if event_id is None else b"id: %s\n" % event_id.encode()
    return id_field + b"event: message\ndata: "


def _data(piece: bytes) -> bytes:
    return piece.replace(b"\r", b" ").removesuffix(b"\n")
