"""Messages for a host over HTTP, and the streams of events that send them.

In a session, each event has an id, with which the host can resume the stream.

Source: specification of MCP, 2025-11-25, "Streamable HTTP"; HTML Living Standard, "Server-sent
events".
"""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from pagefault_mcp.http_server.sent_events import SentEvent, SentEvents
from pagefault_mcp.messages.lines import Line

_MOST_WAITING_LINES = 1_000
_PING_SECONDS = 15.0
_PING = b": nothing yet\n\n"


@dataclass(eq=False)
class Exchange:
    """An open POST of a host with its unsent answers, or a stream that it has opened."""

    name: str = ""
    """Its name within the session."""
    waiting: set[object] = field(default_factory=set)
    """The ids of its unanswered requests, as they were sent to the server."""
    renamed: dict[str, object] = field(default_factory=dict)
    """The ids and tokens of the host, by their replacements."""
    lines: deque[Line] = field(default_factory=deque)
    """The unsent messages. The consumer of a line closes it."""
    has_ended: bool = False
    """No more messages will arrive."""
    reader: int = 0
    """The number of the connection that takes the lines, the last one attached."""
    is_attached: bool = True
    """A connection is attached."""
    can_resume: bool = False
    """The host has received an event id with which it can resume."""
    _news: anyio.Event = field(default_factory=anyio.Event)

    def put(self, line: Line) -> None:
        """Queue a line; drop the oldest above the limit."""
        self.lines.append(line)
        if len(self.lines) > _MOST_WAITING_LINES:
            self.lines.popleft().close()
        self._news.set()

    def attach(self) -> int:
        """Attach a connection in place of the current one; return its number."""
        self.reader += 1
        self.is_attached = True
        self._news.set()
        return self.reader

    def end(self) -> None:
        """Mark the end of the messages."""
        self.has_ended = True
        self._news.set()

    async def next_line(self, reader: int = 0) -> Line | None:
        """Return the next line; `None` at the end, or if another connection was attached."""
        while reader == self.reader and not self.lines:
            if self.has_ended:
                return None
            self._news = anyio.Event()
            await self._news.wait()
        return self.lines.popleft() if reader == self.reader else None

    def close(self) -> None:
        """End the exchange, and drop its unsent messages."""
        self.end()
        while self.lines:
            self.lines.popleft().close()


class HostEventResponse(StreamingResponse):
    """A stream of events that detaches its connection when it ends or breaks."""

    def __init__(
        self,
        events: AsyncGenerator[bytes, None],
        leave: Callable[[], Awaitable[None]],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        headers = {**(headers or {}), "cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(events, headers=headers, media_type="text/event-stream")
        self._events = events
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._events.aclose()
                await self._leave()


async def events_of(
    sent: SentEvents | None,
    exchange: Exchange,
    *,
    reader: int = 0,
    missed: Sequence[SentEvent] = (),
    is_primed: bool = False,
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a stream.

    Args:
        sent: The recent events; `None` for a host that cannot resume.
        exchange: The stream.
        reader: The number of the connection.
        missed: Events that the host did not receive before the stream broke.
        is_primed: The stream begins with an event id, so that the host can resume it.
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
        with anyio.move_on_after(_PING_SECONDS) as waiting:
            line = await exchange.next_line(reader)
        if waiting.cancelled_caught:
            yield _PING
            continue
        if line is None:
            return
        with line:
            event_id = None if sent is None else sent.keep(exchange.name, line)
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
