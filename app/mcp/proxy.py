"""The proxy between a host and a server of MCP that talk over pipes, line by line.

It passes on the bytes it got. Two kinds of messages are looked into: calls of tools, which are
noted in the history, and their answers, which are stored before they are passed on. What cannot be
stored is passed on as it came. Nothing waits for an answer that is being stored.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager

import anyio
import anyio.abc

from app.errors import ServiceError
from app.mcp.answers import with_content
from app.mcp.calls import PassingRequests, ToolCall
from app.mcp.lines import Line, read_lines
from app.mcp.members import Span
from app.mcp.result_store import ResultStore

# Answers that are being stored; the server is not read from while there are more.
_MOST_ANSWERS = 64

Write = Callable[[bytes], Awaitable[None]]


class Proxy:
    """Passes messages on between a host and a server, and keeps results of tools.

    Args:
        write_to_host: Writes bytes to the host.
        write_to_server: Writes bytes to the server.
        warn: Says a sentence to the person who runs it.
    """

    def __init__(
        self, write_to_host: Write, write_to_server: Write, warn: Callable[[str], None]
    ) -> None:
        self._write_to_host = write_to_host
        self._write_to_server = write_to_server
        self._warn = warn
        self._requests = PassingRequests()
        self._store: ResultStore | None = None
        self._store_is_settled = anyio.Event()
        self._noted: dict[str, anyio.Event] = {}
        self._to_host = anyio.Lock()
        self._answers = anyio.Semaphore(_MOST_ANSWERS)

    async def keep_store(
        self, opened: AbstractAsyncContextManager[ResultStore], until: anyio.Event
    ) -> None:
        """Hold a store open until an event; calls wait until it is open, or cannot be opened."""
        try:
            async with opened as self._store:
                self._store_is_settled.set()
                await until.wait()
        except Exception as exc:
            if self._store_is_settled.is_set():
                raise
            self._warn(f"results are passed on and not stored: {_reason(exc)}")
        finally:
            self._store_is_settled.set()

    async def from_host(self, pieces: AsyncIterator[bytes]) -> None:
        """Pass on what the host says until it leaves; note the calls of tools."""
        async with anyio.create_task_group() as group:
            async for line in read_lines(pieces):
                with line:
                    call = self._requests.note(line)
                    if call is not None:
                        self._noted[call.call_id] = anyio.Event()
                    for piece in line.pieces():
                        await self._write_to_server(piece)
                if call is not None:
                    group.start_soon(self._note, call)

    async def from_server(self, pieces: AsyncIterator[bytes]) -> None:
        """Pass on what the server says until it ends, and every answer that is being stored."""
        async with anyio.create_task_group() as group:
            async for line in read_lines(pieces):
                call = self._requests.answered(line)
                if call is None:
                    with line:
                        await self._pass_on(line.pieces())
                else:
                    await self._answers.acquire()
                    group.start_soon(self._answer, call, line)

    async def _note(self, call: ToolCall) -> None:
        try:
            await self._store_is_settled.wait()
            if self._store is not None:
                await self._store.note_call(call)
        except Exception as exc:  # noqa: BLE001 - a host goes on working without a history
            self._warn(f"the call of {call.name} is not in the history: {_reason(exc)}")
        finally:
            self._noted[call.call_id].set()

    async def _answer(self, call: ToolCall, line: Line) -> None:
        try:
            with line:
                shown = await self._shown(call, line)
                await self._pass_on(line.pieces() if shown is None else _written(line, shown))
        finally:
            self._answers.release()

    async def _shown(self, call: ToolCall, line: Line) -> list[bytes | Span] | None:
        """Store an answer; return what the host gets in its place, or `None` for itself."""
        await self._noted[call.call_id].wait()
        del self._noted[call.call_id]
        if self._store is None:
            return None
        result = line.members.get("result")
        try:
            if result is None:
                await self._store.keep(call, line, line.members["error"], success=False)
                return None
            if not await self._store.keep(call, line, result, success=True):
                return None
            rendering = await self._store.rendering(call, self._requests.revision)
            return with_content(
                line, result, rendering, is_typed=call.name in self._requests.typed_tools
            )
        except Exception as exc:  # noqa: BLE001 - a host gets its result, whatever fails here
            self._warn(f"a result of {call.name} is passed on and not stored: {_reason(exc)}")
            return None

    async def _pass_on(self, pieces: Iterator[bytes]) -> None:
        async with self._to_host:
            for piece in pieces:
                await self._write_to_host(piece)


def _written(line: Line, pieces: list[bytes | Span]) -> Iterator[bytes]:
    for piece in pieces:
        if isinstance(piece, Span):
            yield from line.pieces(piece)
        else:
            yield piece


def _reason(error: Exception) -> str:
    return error.detail if isinstance(error, ServiceError) else str(error)


async def received(stream: anyio.abc.ByteReceiveStream) -> AsyncGenerator[bytes, None]:
    """Yield what a pipe gives until it ends."""
    while True:
        try:
            yield await stream.receive(256 * 1024)
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return
