"""A client that sends the next request after each answer, at little cost of its own.

It keeps its connections, sends bytes that are ready, and reads of an answer only the status and the
length. Run it on a core of its own (`benchmarks.machine.on_cores`), on uvloop.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from benchmarks.figures import WrongAnswerError

Ask = Callable[[], bytes]
"""Makes the next request, all bytes of it."""

_PATIENCE_SECONDS = 60.0
_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


def request(
    method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> bytes:
    """A request as it goes over the wire."""
    fields = {"Host": "127.0.0.1", **(headers or {})}
    if body:
        fields["Content-Length"] = str(len(body))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join(lines).encode() + _END + body


@dataclass(slots=True)
class _Round:
    """A period in which responses are counted."""

    ended: asyncio.Future[None]
    busy: int
    answers: int = 0
    is_over: bool = False


class _Connection(asyncio.Protocol):
    """One connection with one request at a time on it."""

    def __init__(self, ask: Ask, statuses: Collection[int]) -> None:
        self._ask = ask
        self._statuses = frozenset(b"%d" % status for status in statuses)
        self._transport: asyncio.WriteTransport | None = None
        self._round: _Round | None = None
        self._begun = b""
        self._missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes.
        self._transport = cast(asyncio.WriteTransport, transport)

    def start(self, counted: _Round) -> None:
        """Ask, and go on asking until the round is over."""
        self._round = counted
        self._send()

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
        elif not self._begins(data):
            return
        if self._missing == 0:
            self._answered()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._round is not None:
            self._fail("the connection was closed before the answer")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _begins(self, data: bytes) -> bool:
        """Read status and length, once all headers are there."""
        data = self._begun + data
        end = data.find(_END)
        if end < 0:
            self._begun = data
            return False
        self._begun = b""
        length = _LENGTH.search(data, 0, end + 2)
        if length is None or data[9:12] not in self._statuses:
            self._fail(data.decode(errors="replace")[:2_000])
            return False
        self._missing = int(length[1]) - (len(data) - end - 4)
        return True

    def _answered(self) -> None:
        counted = self._round
        if counted is None:
            return
        counted.answers += 1
        if not counted.is_over:
            self._send()
            return
        self._round = None
        counted.busy -= 1
        if not counted.busy and not counted.ended.done():
            counted.ended.set_result(None)

    def _send(self) -> None:
        if self._transport is not None:
            self._transport.write(self._ask())

    def _fail(self, said: str) -> None:
        counted, self._round = self._round, None
        if counted is not None and not counted.ended.done():
            counted.ended.set_exception(WrongAnswerError(said))


class Load:
    """Open connections to one server, all of which ask the same way."""

    def __init__(self, connections: Sequence[_Connection]) -> None:
        self._connections = connections

    async def run(self, seconds: float) -> tuple[int, float]:
        """Ask for so long; how many answers there were, and in how many seconds.

        Raises:
            WrongAnswerError: An answer had another status, or none came.
        """
        loop = asyncio.get_running_loop()
        counted = _Round(loop.create_future(), len(self._connections))
        started = loop.time()
        for connection in self._connections:
            connection.start(counted)
        # Requests in progress at the end are waited for, and counted with their time.
        over = loop.call_at(started + seconds, setattr, counted, "is_over", True)
        try:
            await asyncio.wait_for(counted.ended, seconds + _PATIENCE_SECONDS)
        except TimeoutError as exc:
            raise WrongAnswerError("some requests are not answered") from exc
        finally:
            over.cancel()
        return counted.answers, loop.time() - started


@asynccontextmanager
async def loading(
    port: int, ask: Ask, *, connections: int, statuses: Collection[int] = (200,)
) -> AsyncIterator[Load]:
    """Connections for the length of the block.

    Args:
        port: Of a server on loopback.
        ask: Returns the next request.
        connections: How many there are at once.
        statuses: Those that a right answer has.
    """
    loop = asyncio.get_running_loop()
    opened = [
        (await loop.create_connection(lambda: _Connection(ask, statuses), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    try:
        yield Load(opened)
    finally:
        for connection in opened:
            connection.close()
