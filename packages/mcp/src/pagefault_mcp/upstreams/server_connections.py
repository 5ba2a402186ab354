"""Connections to the servers that the proxy stands before: programs, and those at addresses.

Either is at the other end of a pipe, as far as the proxy knows.
"""

import os
import signal
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal, TypeAlias

import anyio
import anyio.abc

# A server is told to end, then made to.
_GRACE_SECONDS = 5.0
# How often it is looked whether one that has ended is still waited for.
_LOOKS = 50
_CONNECT_SECONDS = 10.0
_PIECE_BYTES = 256 * 1024

Write = Callable[[bytes], Awaitable[None]]


class CannotStartError(Exception):
    """A server cannot be started; the words are for who runs the proxy."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server at an address, the headers that every request to it carries, and how it is asked."""

    url: str
    headers: Sequence[tuple[str, str]]
    transport: Literal["auto", "http", "sse"]


class ServerProcess:
    """A server that was started by its command. Its standard error is ours.

    To `write` to one that has ended raises BrokenResourceError or ClosedResourceError. Its `name`
    is that of the program.
    """

    def __init__(self, process: anyio.abc.Process, name: str) -> None:
        assert process.stdin is not None  # noqa: S101 - asked for
        assert process.stdout is not None  # noqa: S101 - asked for
        self._process = process
        self._command = name
        self.name = PurePath(name).name
        self._stdin, self._stdout = process.stdin, process.stdout
        self.write = process.stdin.send
        self._is_read = anyio.Event()
        self._is_waiting = True

    async def received(self) -> AsyncGenerator[bytes, None]:
        """Yield what it writes to its standard output, until it ends."""
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            while True:
                self._is_waiting = True
                piece = await self._stdout.receive(_PIECE_BYTES)
                self._is_waiting = False
                yield piece
        self._is_read.set()

    async def leave(self) -> None:
        """End it as `end` does, and wait no more than a while for what it writes.

        What it has started may go on, and hold its standard output open. How long a host takes to
        read what was written does not count.
        """
        await self.end()
        seconds, looks = _GRACE_SECONDS / _LOOKS, _LOOKS
        while looks and not self._is_read.is_set():
            with anyio.move_on_after(seconds):
                await self._is_read.wait()
            looks -= self._is_waiting
        await self._stdout.aclose()

    async def end(self) -> None:
        """Close its standard input; one that goes on is told to end, then made to."""
        await self._stdin.aclose()
        for number in (signal.SIGTERM, signal.SIGKILL):
            with anyio.move_on_after(_GRACE_SECONDS):
                await self._process.wait()
                return
            self._send(number)

    def interrupt(self) -> None:
        """Terminate it."""
        self._send(signal.SIGTERM)

    def _send(self, number: int) -> None:
        # `terminate` and `kill` of asyncio first ask the system whether the process has ended. If
        # it has just ended, they consume its exit status, and asyncio's own wait then reports 255.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    async def ended(self) -> tuple[int, str]:
        """Return the exit status of one that has ended, and a sentence unless that is 0."""
        status = await self._process.wait()
        if not status:
            return 0, ""
        told = f"status {status}" if status > 0 else f"signal {-status}"
        said = f"the server {self._command} ended with {told}"
        return status if status > 0 else 128 - status, said


@asynccontextmanager
async def start_server(command: Sequence[str]) -> AsyncIterator[ServerProcess]:
    """Start a server, and end it at the end of the block.

    Raises:
        CannotStartError: It cannot be started.
    """
    try:
        process = await anyio.open_process(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None
        )
    except OSError as exc:
        raise CannotStartError(f"cannot start {command[0]}: {exc.strerror}") from exc
    connection = ServerProcess(process, command[0])
    try:
        yield connection
    finally:
        if process.returncode is None:
            with anyio.CancelScope(shield=True):
                await connection.end()


@dataclass(slots=True, eq=False)
class UpstreamConnection:
    """A server at an address, which is named by its host."""

    name: str
    write: Write
    received: Callable[[], AsyncGenerator[bytes, None]]
    left: anyio.Event = field(default_factory=anyio.Event)

    async def leave(self) -> None:
        """End its session, when what was asked is answered or has taken too long."""
        self.left.set()

    def interrupt(self) -> None:
        """End its session."""
        self.left.set()

    async def ended(self) -> tuple[int, str]:
        """Return that nothing went wrong: it has no status."""
        return 0, ""


Connection: TypeAlias = ServerProcess | UpstreamConnection
"""A server that can be spoken to."""
Connect: TypeAlias = Callable[[], AbstractAsyncContextManager[Connection]]


@asynccontextmanager
async def connect_server(
    server: Upstream, warn: Callable[[str], None]
) -> AsyncIterator[UpstreamConnection]:
    """Connect to a server at an address, and end its session at the end of the block."""
    # A client of HTTP, of which nothing is needed before a server that is a program.
    import httpx  # noqa: PLC0415

    from pagefault_mcp.upstreams.http_upstream import HttpUpstream  # noqa: PLC0415
    from pagefault_mcp.upstreams.upstream_client import UpstreamClient  # noqa: PLC0415

    timeout = httpx.Timeout(None, connect=_CONNECT_SECONDS)
    async with (
        UpstreamClient(headers=list(server.headers), timeout=timeout) as client,
        anyio.create_task_group() as group,
    ):
        upstream = HttpUpstream(client, server.url, warn, server.transport)
        connection = UpstreamConnection(
            httpx.URL(server.url).host, upstream.write, upstream.received
        )

        async def run(*, task_status: anyio.abc.TaskStatus[None]) -> None:
            async with upstream.running():
                task_status.started()
                await connection.left.wait()

        await group.start(run)
        yield connection
        await connection.leave()
