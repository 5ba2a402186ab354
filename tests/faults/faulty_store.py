"""An S3 store with faults: a proxy before a sound one that refuses, hangs and loses answers.

Which fault a request meets is drawn from a seed. One connection carries one request.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from random import Random
from types import TracebackType
from typing import Literal
from urllib.parse import urlsplit

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.from_thread import start_blocking_portal
from anyio.streams.buffered import BufferedByteReceiveStream

Fault = Literal["refused", "hangs", "answer lost"]

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_REFUSAL = (
    b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nContent-Length: 40\r\n"
    b"Connection: close\r\n\r\n<Error><Code>SlowDown</Code></Error>    "
)
_LONGEST_HEAD = 64 * 1024
_GONE = (
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    anyio.IncompleteRead,
)


class FaultyStore:
    """Answers on a free loopback port from a thread; used as a context.

    Args:
        endpoint_url: The sound store, `http://127.0.0.1:PORT`.
        shares: How likely each fault is.
        most: How many there are of a fault at most; any number where nothing is said.
        seed: What the faults are drawn from.
    """

    def __init__(
        self,
        endpoint_url: str,
        shares: Mapping[Fault, float],
        *,
        most: Mapping[Fault, int] | None = None,
        seed: int = 0,
    ) -> None:
        self._port = urlsplit(endpoint_url).port or 80
        self._shares = shares
        self._most = most or {}
        self._random = Random(seed)  # noqa: S311 - no secret
        self._stack = ExitStack()
        self.met: Counter[Fault] = Counter()
        """The number of requests that met each fault."""
        self.is_faulty = True
        self.endpoint_url = ""

    def __enter__(self) -> "FaultyStore":
        portal = self._stack.enter_context(start_blocking_portal())
        serving = portal.wrap_async_context_manager(self._serving())
        self.endpoint_url = self._stack.enter_context(serving)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @asynccontextmanager
    async def _serving(self) -> AsyncIterator[str]:
        """Serve for the length of the block, at this address."""
        async with (
            await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(listener.serve, self._answer)
            port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - no database
            yield f"http://127.0.0.1:{port}"
            tasks.cancel_scope.cancel()

    async def _answer(self, caller: SocketStream) -> None:
        async with caller:
            with suppress(*_GONE):
                await self._meet(caller)

    async def _meet(self, caller: SocketStream) -> None:
        request = await _whole(caller)
        fault = self._drawn()
        if fault == "refused":
            await caller.send(_REFUSAL)
        elif fault == "hangs":
            # Until the caller has had enough.
            await caller.receive()
        else:
            await self._pass_on(request, None if fault else caller)

    async def _pass_on(self, request: bytes, caller: SocketStream | None) -> None:
        """Have the sound store answer; without a caller, nobody hears of it."""
        head, _, rest = request.partition(b"\r\n")
        async with await anyio.connect_tcp("127.0.0.1", self._port) as store:
            await store.send(head + b"\r\nConnection: close\r\n" + rest)
            with suppress(anyio.EndOfStream):
                while True:
                    piece = await store.receive()
                    if caller is not None:
                        await caller.send(piece)

    def _drawn(self) -> Fault | None:
        drawn = self._random.random()
        for fault, share in self._shares.items():
            drawn -= share
            if drawn < 0:
                if not self.is_faulty or self.met[fault] >= self._most.get(fault, 10**9):
                    return None
                self.met[fault] += 1
                return fault
        return None


async def _whole(caller: SocketStream) -> bytes:
    """All bytes of a request; what it says about its connection is taken out."""
    received = BufferedByteReceiveStream(caller)
    head = await received.receive_until(b"\r\n\r\n", _LONGEST_HEAD) + b"\r\n\r\n"
    length = _LENGTH.search(head)
    body = await received.receive_exactly(int(length[1])) if length else b""
    return re.sub(rb"\r\nconnection: [^\r]*", b"", head, flags=re.IGNORECASE) + body
