"""Connections to the MCP servers behind the proxy: child processes, and servers at a URL.

The proxy writes lines to a connection, and reads lines from it. `ServerProcess` and
`UpstreamConnection` have the same methods for that.
"""

import os
import signal
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

import anyio
import anyio.abc
import httpx

_MAX_REDIRECTS = 5


class UpstreamClient(httpx.AsyncClient):
    """A client that follows redirects to the same origin, such as those that add a slash to a URL.

    Redirects to another origin are not followed, since any header may have credentials.
    """

    async def send(
        self,
        request: httpx.Request,
        **options: Any,  # noqa: ANN401 - those of httpx
    ) -> httpx.Response:
        """Send a request; return the last response, a redirect if it cannot be followed."""
        response, url = await super().send(request, **options), request.url
        for _ in range(_MAX_REDIRECTS):
            next_request = response.next_request
            # Some redirects change the method to GET, so the message would be lost.
            if next_request is None or next_request.method != request.method:
                break
            if (next_request.url.scheme, next_request.url.netloc) != (url.scheme, url.netloc):
                break
            await response.aclose()
            response = await super().send(next_request, **options)
        return response


# The time that a process has to exit after the end of its input, and again after SIGTERM.
_GRACE_SECONDS = 5.0
# The wait for the last output of a process that has exited is divided into this many parts.
_WAITS = 50
_CONNECT_SECONDS = 10.0
_PIECE_BYTES = 256 * 1024

Write = Callable[[bytes], Awaitable[None]]


class CannotStartError(Exception):
    """A server cannot be started; the message is for the operator."""


@dataclass(frozen=True, slots=True)
class UpstreamOptions:
    """The URL of a server, and the options to connect to it."""

    url: str
    headers: Sequence[tuple[str, str]]
    """The headers of every request to the server."""
    transport: Literal["auto", "http", "sse"]


class ServerProcess:
    """A server that runs as a child process. It shares the standard error of this process.

    Attributes:
        name: The name of the program, without its folder.
        write: Writes to the standard input of the process. Raises BrokenResourceError or
            ClosedResourceError after the process has ended.
    """

    def __init__(self, process: anyio.abc.Process, program: str) -> None:
        assert process.stdin is not None  # noqa: S101 - opened with a pipe
        assert process.stdout is not None  # noqa: S101 - opened with a pipe
        self._process = process
        self._program = program
        self.name = PurePath(program).name
        self._stdin, self._stdout = process.stdin, process.stdout
        self.write = process.stdin.send
        self._output_ended = anyio.Event()
        self._is_receiving = True

    async def receive_pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the standard output of the process in pieces, until its end."""
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            while True:
                self._is_receiving = True
                piece = await self._stdout.receive(_PIECE_BYTES)
                self._is_receiving = False
                yield piece
        self._output_ended.set()

    async def disconnect(self) -> None:
        """End the process, and wait with a timeout until its last output is received.

        The timeout is needed since children of the process may keep its standard output open. Only
        the time of waiting for output counts, not the time in which the host reads output.
        """
        await self.end()
        remaining_waits = _WAITS
        while remaining_waits and not self._output_ended.is_set():
            with anyio.move_on_after(_GRACE_SECONDS / _WAITS):
                await self._output_ended.wait()
            if self._is_receiving:
                remaining_waits -= 1
        await self._stdout.aclose()

    async def end(self) -> None:
        """Close the standard input. If the process does not exit, terminate it, then kill it."""
        await self._stdin.aclose()
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            with anyio.move_on_after(_GRACE_SECONDS):
                await self._process.wait()
                return
            self._send_signal(signal_number)

    def terminate(self) -> None:
        """Send SIGTERM to the process, and return immediately."""
        self._send_signal(signal.SIGTERM)

    def _send_signal(self, signal_number: int) -> None:
        # The methods `terminate` and `kill` of asyncio poll the process first. If it has just
        # ended, they consume its exit status, and asyncio's own wait then reports status 255.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal_number)

    async def wait_for_exit(self) -> tuple[int, str]:
        """Wait until the process exits.

        Returns:
            The exit status as of a shell, and a sentence for the operator. The sentence is empty
            for status 0.
        """
        status = await self._process.wait()
        if not status:
            return 0, ""
        cause = f"status {status}" if status > 0 else f"signal {-status}"
        message = f"the server {self._program} ended with {cause}"
        return status if status > 0 else 128 - status, message


@asynccontextmanager
async def start_server(command: Sequence[str]) -> AsyncIterator[ServerProcess]:
    """Start a server as a child process, and end it at the end of the block.

    Raises:
        CannotStartError: The program cannot be started.
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
    """A connection to a server at a URL, with the methods of `ServerProcess`."""

    name: str
    """The host name of the URL."""
    write: Write
    receive_pieces: Callable[[], AsyncGenerator[bytes, None]]
    closing: anyio.Event = field(default_factory=anyio.Event)
    """Set when the session has to end."""

    async def disconnect(self) -> None:
        """End the session, after open requests have got their responses or timed out."""
        self.closing.set()

    def terminate(self) -> None:
        """End the session."""
        self.closing.set()

    async def wait_for_exit(self) -> tuple[int, str]:
        """Return status 0, since a server at a URL has no exit status."""
        return 0, ""


Connection: TypeAlias = ServerProcess | UpstreamConnection
"""A connection to a server."""
Connect: TypeAlias = Callable[[], AbstractAsyncContextManager[Connection]]
"""Connects to a server for the length of a block."""


@asynccontextmanager
async def connect_server(
    server: UpstreamOptions, warn: Callable[[str], None]
) -> AsyncIterator[UpstreamConnection]:
    """Connect to a server at a URL, and end its session at the end of the block."""
    # Imported here, since that module imports this one.
    from pagefault_mcp.upstreams.http_upstream import HttpUpstream  # noqa: PLC0415

    timeout = httpx.Timeout(None, connect=_CONNECT_SECONDS)
    async with (
        UpstreamClient(headers=list(server.headers), timeout=timeout) as client,
        anyio.create_task_group() as group,
    ):
        upstream = HttpUpstream(client, server.url, warn, server.transport)
        connection = UpstreamConnection(
            httpx.URL(server.url).host, upstream.write, upstream.receive_pieces
        )

        async def run(*, task_status: anyio.abc.TaskStatus[None]) -> None:
            async with upstream.lifespan():
                task_status.started()
                await connection.closing.wait()

        await group.start(run)
        yield connection
        await connection.disconnect()
