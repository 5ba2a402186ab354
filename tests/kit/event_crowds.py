"""Many streams of server-sent events at once: each a connection of its own, on one event loop.

A protocol rather than a client: two hundred of them have to cost less than the server they watch.
"""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass

import anyio

WAIT_SECONDS = 120.0
"""The time-out of every wait here."""

_HEAD_END = b"\r\n\r\n"
_BLOCK_END = b"\n\n"


@dataclass(frozen=True, slots=True)
class HeardEvent:
    """An event as it came."""

    position: int
    type: str
    data: bytes


class EventSocket(asyncio.Protocol):
    """One stream. `opened_at` is the position that its first block names."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._body = b""
        self._has_head = False
        self._is_over = False
        self._is_closed = False
        self._news = asyncio.Event()
        self.opened_at: int | None = None
        self.events: list[HeardEvent] = []
        self.has_ended_whole = False

    @property
    def positions(self) -> list[int]:
        """The positions of the received events."""
        return [event.position for event in self.events]

    @property
    def last_position(self) -> int | None:
        """The position to continue from."""
        return self.events[-1].position if self.events else self.opened_at

    async def until_open(self) -> "EventSocket":
        """Itself, once the place it begins at is known."""
        await self._until(lambda: self.opened_at is not None)
        assert self.opened_at is not None, "the stream has ended before its first block"
        return self

    async def until_position(self, position: int) -> bool:
        """Return whether it has got this position or a later one; false if it ended before."""

        def is_heard() -> bool:
            return bool(self.events) and self.events[-1].position >= position

        await self._until(is_heard)
        return is_heard()

    async def until_over(self) -> None:
        """Return when the stream has ended."""
        await self._until(lambda: False)

    def pause(self) -> None:
        """Take nothing more."""
        assert self._transport is not None
        self._transport.pause_reading()

    def resume(self) -> None:
        """Continue to receive."""
        assert self._transport is not None
        self._transport.resume_reading()

    def close(self) -> None:
        """Leave: nothing is heard from now on."""
        self._is_closed = True
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self._is_closed:
            return
        self._received += data
        if not self._has_head:
            head, end, rest = self._received.partition(_HEAD_END)
            if not end:
                return
            assert head.startswith(b"HTTP/1.1 200"), head
            self._has_head, self._received = True, rest
        self._take_chunks()
        self._take_blocks()
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._is_over = True
        self._news.set()

    def _take_chunks(self) -> None:
        """Take the transfer coding off (RFC 9112, 7.1)."""
        start = 0
        while (end := self._received.find(b"\r\n", start)) >= 0:
            size = int(self._received[start:end], 16)
            if len(self._received) < end + 2 + size + 2:
                break
            self._body += self._received[end + 2 : end + 2 + size]
            start = end + 2 + size + 2
            if not size:
                self._is_over = True
        self._received = self._received[start:]

    def _take_blocks(self) -> None:
        *blocks, self._body = self._body.split(_BLOCK_END)
        for block in blocks:
            lines = (line.partition(b": ") for line in block.split(b"\n"))
            said = {name: value for name, _, value in lines}
            if b"data" in said:
                event = HeardEvent(int(said[b"id"]), said[b"event"].decode(), said[b"data"])
                self.events.append(event)
            elif b"id" in said:
                self.opened_at = int(said[b"id"])
        self.has_ended_whole = self._is_over and not self._body

    async def _until(self, is_so: Callable[[], bool]) -> None:
        with anyio.fail_after(WAIT_SECONDS):
            while not (is_so() or self._is_over):
                self._news.clear()
                await self._news.wait()


async def listen(
    port: int,
    key: str,
    path: str = "/api/events",
    *,
    last_event_id: int | None = None,
    receive_bytes: int | None = None,
) -> EventSocket:
    """A stream of a service on this machine; close it.

    Args:
        port: Where the service listens.
        key: Who listens.
        path: The route of the stream.
        last_event_id: The position behind which it begins.
        receive_bytes: How much the system takes for it before the sender has to wait.
    """
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {key}"]
    lines.append("Connection: close")
    if last_event_id is not None:
        lines.append(f"Last-Event-ID: {last_event_id}")
    request = "\r\n".join([*lines, "", ""]).encode()
    connected = socket.socket()
    connected.setblocking(False)
    if receive_bytes is not None:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connected, ("127.0.0.1", port))
    _, stream = await loop.create_connection(lambda: EventSocket(request), sock=connected)
    return stream
