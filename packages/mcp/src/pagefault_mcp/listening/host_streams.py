"""What is sent to a host that is served over HTTP, and the streams of events that it goes over.

Where a host has a session, each event has an id by which the host can come back to its stream.

Source: specification of MCP, 2025-11-25, "Streamable HTTP"; HTML Living Standard, "Server-sent
events".
"""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from pagefault_mcp.listening.sent_events import SentEvent, SentEvents
from pagefault_mcp.messages.lines import Line

_MOST_WAITING_LINES = 1_000
_PING_SECONDS = 15.0
_PING = b": nothing yet\n\n"


@dataclass(eq=False)
class Exchange:
    """What a host has posted and waits for, or the stream that it has opened."""

    name: str = ""
    """Its name within the session."""
    waiting: set[object] = field(default_factory=set)
    """The ids of its requests that are not answered, as the server knows them."""
    renamed: dict[str, object] = field(default_factory=dict)
    """What stands for ids and tokens of the host, by the names that the server knows."""
    lines: deque[Line] = field(default_factory=deque)
    """What is to be sent. Whoever takes a line closes it."""
    has_ended: bool = False
    """Nothing more will come."""
    reader: int = 0
    """Which connection takes the lines: the last one that was attached."""
    is_attached: bool = True
    """Whether there is one."""
    can_resume: bool = False
    """Whether the host was told an event by which it can go on."""
    _news: anyio.Event = field(default_factory=anyio.Event)

    def put(self, line: Line) -> None:
        """Take a line; of too many the oldest are dropped, since nobody takes them."""
        self.lines.append(line)
        if len(self.lines) > _MOST_WAITING_LINES:
            self.lines.popleft().close()
        self._news.set()

    def attach(self) -> int:
        """Let a connection take the lines, in the place of any other; return which it is."""
        self.reader += 1
        self.is_attached = True
        self._news.set()
        return self.reader

    def end(self) -> None:
        """Say that nothing more will come."""
        self.has_ended = True
        self._news.set()

    async def next_line(self, reader: int = 0) -> Line | None:
        """Return the next line; `None` at the end, or if another connection takes them."""
        while reader == self.reader and not self.lines:
            if self.has_ended:
                return None
            self._news = anyio.Event()
            await self._news.wait()
        return self.lines.popleft() if reader == self.reader else None

    def close(self) -> None:
        """Drop what was not taken."""
        self.end()
        while self.lines:
            self.lines.popleft().close()


class HostEventResponse(StreamingResponse):
    """A stream of events, and what is to be done when it has ended, or nobody takes it any more."""

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
    """Yield what is sent on a stream.

    Args:
        sent: Keeps the events; `None` for a host that cannot come back.
        exchange: The stream.
        reader: As which it is read.
        missed: Events that the host did not get when they were sent.
        is_primed: Whether the host is told at once by which event it can come back.
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
    written = b"" if event_id is None else b"id: %s\n" % event_id.encode()
    return written + b"event: message\ndata: "


def _data(piece: bytes) -> bytes:
    return piece.replace(b"\r", b" ").removesuffix(b"\n")
