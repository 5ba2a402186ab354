"""Stored bytes as the body of an answer, in one piece, piece by piece, or read by the server.

Nothing is opened until the answer is sent. The first bytes are read before the headers are sent, so
missing bytes become a problem and not a truncated body.

A piece stays in memory until its reader takes it. So memory is reserved in the budget before
anything is read, and pieces become small while the budget is nearly used up.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import anyio
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.errors import StoreUnavailableError
from app.http.ranges import ByteRange
from app.http.response_memory import body_message, start_message
from app.services.memory_budget.budget import HeldMemory, MemoryBudget
from app.services.resources.content_sources import ContentSources
from app.wiring.services import Services
from pagefault_dialects.model.media import CHUNK_BYTES

OpenRange = Callable[[int, int], Awaitable[AsyncIterator[bytes]]]
"""Opens the bytes from the first number up to and without the second. It raises if the bytes are
not there, and the iterator it returns yields exactly that many."""

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Headers as they are sent: names in lower case."""

FindFile = Callable[[], Awaitable[Path | None]]
"""The file that all of the bytes are, `None` if there is none. It raises if it is not there."""

SMALL_BYTES = 64 * 1024
"""The length of a small piece. An answer of one such piece is not counted."""
NARROW_BYTES = 2 * SMALL_BYTES
"""Memory for a reader of small pieces: a connection takes a second one before the sender waits."""
_WINDOW_BYTES = 4 * CHUNK_BYTES
"""Memory for reading ahead in an object of a bucket, besides the piece that is being sent."""
_PATHSEND = "http.response.pathsend"


@dataclass(frozen=True, slots=True)
class BodyPart:
    """Bytes of the content, after a text that introduces them."""

    introduction: bytes
    span: ByteRange


@dataclass(frozen=True, slots=True)
class ContentMemory:
    """The memory that is reserved for one answer while it is sent."""

    budget: MemoryBudget
    """Of the process."""
    wide_bytes: int
    """Memory for reading and sending large pieces."""
    reserved: HeldMemory
    """Memory that was taken, at least `NARROW_BYTES`."""

    def widen(self) -> bool:
        """Reserve memory for large pieces. Return False above a quarter of the budget."""
        more_bytes = self.wide_bytes - self.reserved.size_bytes
        if more_bytes <= 0:
            return True
        if self.budget.held_bytes + more_bytes > self.budget.limit_bytes // 4:
            return False
        self.reserved.grow(more_bytes)
        return True

    def narrow_if_short(self) -> bool:
        """Release the memory for large pieces if half of the budget is used. Return True if so."""
        if self.budget.held_bytes <= self.budget.limit_bytes // 2:
            return False
        self.reserved.resize(min(self.reserved.size_bytes, NARROW_BYTES))
        return True


@asynccontextmanager
async def content_memory(scope: Scope, size_bytes: int) -> AsyncIterator[ContentMemory]:
    """Reserve memory for one reader of content for the length of the block.

    Args:
        scope: The scope of the request.
        size_bytes: The length of the longest range.

    Raises:
        OverloadedError: There is none after a short wait.
    """
    services: Services = scope["state"]["services"]
    memory = services[MemoryBudget]
    wide_bytes = min(CHUNK_BYTES, size_bytes)
    if services[ContentSources].files is None:
        wide_bytes += min(_WINDOW_BYTES, size_bytes)
    async with memory.holding(NARROW_BYTES) as reserved:
        yield ContentMemory(memory, wide_bytes, reserved)


class ContentPiece(Response):
    """Sends a range that is read at once, of `CHUNK_BYTES` at most.

    Args:
        span: What to send.
        open_range: Opens a range of the content.
        status: The status of the answer.
        headers: All of its headers, as they are sent.
    """

    def __init__(
        self, span: ByteRange, *, open_range: OpenRange, status: int, headers: RawHeaders
    ) -> None:
        self._span = span
        self._open_range = open_range
        # Starlette's constructor encodes all headers, which takes longer than reading the bytes.
        self.status_code = status
        self.background = None
        self.raw_headers = list(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read it, and send it in one message; piece by piece if memory is short.

        Raises:
            OverloadedError: There is no memory for it; nothing was sent.
        """
        if self._span.size_bytes <= SMALL_BYTES:
            body = await self._read()
            await send(start_message(self))
            await send(body_message(body, more=False))
            return
        async with content_memory(scope, self._span.size_bytes) as room:
            if room.widen():
                body = await self._read()
                await send(start_message(self))
                await send(body_message(body))
            else:
                await self._send_pieces(room, send)
            # The server waits here until the client has taken most of it.
            await send(body_message(b"", more=False))

    async def _send_pieces(self, room: ContentMemory, send: Send) -> None:
        async with aclosing(_pieces(self._open_range, self._span, room)) as pieces:
            piece = await anext(pieces)
            await send(start_message(self))
            await _send_and_wait(send, piece)
            async for piece in pieces:
                await _send_and_wait(send, piece)

    async def _read(self) -> bytes:
        chunks = await self._open_range(self._span.start, self._span.end)
        try:
            body = b"".join([chunk async for chunk in chunks])
        except BaseException:
            # One that was read to its end has nothing left to let go of.
            await _close(chunks)
            raise
        if len(body) != self._span.size_bytes:
            # Another process has cut the file. The answer can still be an error.
            raise StoreUnavailableError("blob store")
        return body


class ContentStream(StreamingResponse):
    """Sends parts one after the other, one open range and one piece at a time.

    Args:
        parts: What to send, in order.
        closing: What follows the last of them.
        open_range: Opens a range of the content.
        status: The status of the answer.
        headers: Its headers but for the length.
        find_file: Given if the one part is all of the content; servers that offer it read the file
            themselves.
    """

    def __init__(
        self,
        parts: Sequence[BodyPart],
        closing: bytes = b"",
        *,
        open_range: OpenRange,
        status: int,
        headers: Mapping[str, str],
        find_file: FindFile | None = None,
    ) -> None:
        self._parts = parts
        self._closing = closing
        self._open_range = open_range
        self._find_file = find_file
        size_bytes = len(closing) + sum(
            len(part.introduction) + part.span.size_bytes for part in parts
        )
        # The base class wants an iterator; `stream_response` reads the parts instead.
        super().__init__(
            (), status_code=status, headers={**headers, "Content-Length": str(size_bytes)}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer, and listen for a client that goes away meanwhile.

        Raises:
            OverloadedError: There is no memory for it; nothing was sent.
        """
        if await self._leave_to_server(scope, send):
            return
        longest = max(part.span.size_bytes for part in self._parts)
        async with content_memory(scope, longest) as self._room:
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        """Send the headers once the first piece is read, then every part, then the closing."""
        for index, part in enumerate(self._parts):
            async with aclosing(_pieces(self._open_range, part.span, self._room)) as pieces:
                piece = await anext(pieces, b"")
                if index == 0:
                    await send(start_message(self))
                if part.introduction:
                    await send(body_message(part.introduction))
                await _send_and_wait(send, piece)
                async for piece in pieces:
                    await _send_and_wait(send, piece)
        await send(body_message(self._closing, more=False))

    async def _leave_to_server(self, scope: Scope, send: Send) -> bool:
        """Let the server read the file, if it offers to and there is one."""
        if self._find_file is None or _PATHSEND not in (scope.get("extensions") or {}):
            return False
        path = await self._find_file()
        if path is None:
            return False
        await send(start_message(self))
        await send({"type": _PATHSEND, "path": str(path)})
        return True


async def _send_and_wait(send: Send, chunk: bytes) -> None:
    """Send a chunk, and return when the client has taken most of it.

    The next one is read only then: it would be held beside this one.
    """
    await send(body_message(chunk))
    # The server waits at the next message, whatever is in it.
    await send(body_message(b""))


async def _pieces(
    open_range: OpenRange, span: ByteRange, room: ContentMemory
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a range, in pieces as large as there is room for."""
    position = span.start
    while position < span.end:
        is_wide = room.widen()
        end = span.end if is_wide else min(position + SMALL_BYTES, span.end)
        before = position
        chunks = await open_range(position, end)
        try:
            async for chunk in chunks:
                position += len(chunk)
                yield chunk
                if is_wide and position < end and room.narrow_if_short():
                    break
        finally:
            await _close(chunks)
        if position == before:
            # The length was announced: a body of another one must not pass for whole.
            raise StoreUnavailableError("blob store")


async def _close(chunks: AsyncIterator[bytes]) -> None:
    if aclose := getattr(chunks, "aclose", None):
        # A client that goes away cancels this task; the file has to be let go of all the same.
        with anyio.CancelScope(shield=True):
            await aclose()
