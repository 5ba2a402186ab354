"""Streams of server-sent events to hosts.

Where a host has a session, each event has an id by which the host can come back to its stream.

Source: specification of MCP, 2025-11-25, "Streamable HTTP"; HTML Living Standard, "Server-sent
events".
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType

import anyio
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.mcp.exchanges import Exchange
from app.mcp.lines import Line
from app.mcp.sent_events import SentEvent, SentEvents

_PING_SECONDS = 15.0
_PING = b": nothing yet\n\n"
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


async def _nothing() -> None:
    """Do nothing."""


class EventStream(StreamingResponse):
    """A stream of events, and what is to be done when it has ended, or nobody takes it any more."""

    def __init__(
        self,
        events: AsyncGenerator[bytes, None],
        leave: Callable[[], Awaitable[None]] = _nothing,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        headers = {**headers, "cache-control": "no-store", "x-accel-buffering": "no"}
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
    first: Line | None = None,
    missed: Sequence[SentEvent] = (),
    is_primed: bool = False,
) -> AsyncGenerator[bytes, None]:
    """Yield what is sent on a stream.

    Args:
        sent: Keeps the events; `None` for a host that cannot come back.
        exchange: The stream.
        reader: As which it is read.
        first: A line that was taken already.
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
    line = first
    while True:
        if line is None:
            has_news = False
            with anyio.move_on_after(_PING_SECONDS):
                line = await exchange.next_line(reader)
                has_news = True
            if line is None:
                if has_news:
                    return
                yield _PING
                continue
        with line:
            event_id = None if sent is None else sent.keep(exchange.name, line)
            exchange.can_resume = exchange.can_resume or event_id is not None
            yield _head(event_id)
            for piece in line.pieces():
                yield _data(piece)
        yield b"\n\n"
        line = None


def _head(event_id: str | None) -> bytes:
    written = b"" if event_id is None else b"id: %s\n" % event_id.encode()
    return written + b"event: message\ndata: "


def _data(piece: bytes) -> bytes:
    return piece.replace(b"\r", b" ").removesuffix(b"\n")
