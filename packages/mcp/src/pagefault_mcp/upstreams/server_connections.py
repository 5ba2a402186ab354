"""Connections to the servers behind the proxy: programs, and servers at an address.

Both have the interface of a pipe.
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
    """A client that follows redirects, such as those that add or remove a trailing slash.

    Redirects to another origin are not followed, since any header may have credentials.
    """

    async def send(
        self,
        request: httpx.Request,
        **options: Any,  # noqa: ANN401 - those of httpx
    ) -> httpx.Response:
        """Send a request; return the last answer, which may be a redirect."""
        answer, url = await super().send(request, **options), request.url
        for _ in range(_MAX_REDIRECTS):
            redirected = answer.next_request
            # Some redirects change the method to GET, which has no body.
            if redirected is None or redirected.method != request.method:
                break
            if (redirected.url.scheme, redirected.url.netloc) != (url.scheme, url.netloc):
                break
            await answer.aclose()
            answer = await super().send(redirected, **options)
        return answer


# The pause between the end of input, SIGTERM and SIGKILL.
_GRACE_SECONDS = 5.0
# The number of checks whether the output of an ended server is still read.
_CHECKS = 50
_CONNECT_SECONDS = 10.0
_PIECE_BYTES = 256 * 1024

Write = Callable[[bytes], Awaitable[None]]


class CannotStartError(Exception):
    """A server cannot be started; the message is for the operator."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server at an address, with the headers of its requests, and its transport."""

    url: str
    headers: Sequence[tuple[str, str]]
    transport: Literal["auto", "http", "sse"]


class ServerProcess:
    """A server that runs as a child process, with our standard error.

    `write` raises BrokenResourceError or ClosedResourceError after the end of the process. `name`
    is the name of the program.
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
        """Yield its standard output until it ends."""
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            while True:
                self._is_waiting = True
                piece = await self._stdout.receive(_PIECE_BYTES)
                self._is_waiting = False
                yield piece
        self._is_read.set()

    async def leave(self) -> None:
        """End the process, and wait for its remaining output, with a timeout.

        Its children may keep running with its standard output open. The time that the host takes to
        read does not count.
        """
        await self.end()
        seconds, checks = _GRACE_SECONDS / _CHECKS, _CHECKS
        while checks and not self._is_read.is_set():
            with anyio.move_on_after(seconds):
                await self._is_read.wait()
            checks -= self._is_waiting
        await self._stdout.aclose()

    async def end(self) -> None:
        """Close the standard input; if the process keeps running, terminate it, then kill it."""
        await self._stdin.aclose()
        for number in (signal.SIGTERM, signal.SIGKILL):
            with anyio.move_on_after(_GRACE_SECONDS):
                await self._process.wait()
                return
            self._send(number)

    def interrupt(self) -> None:
        """Terminate the process."""
        self._send(signal.SIGTERM)

    def _send(self, number: int) -> None:
        # `terminate` and `kill` of asyncio first ask the system whether the process has ended. If
        # it has just ended, they consume its exit status, and asyncio's own wait then reports 255.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    async def ended(self) -> tuple[int, str]:
        """Wait for the end; return the exit status, and a message unless it is 0."""
        status = await self._process.wait()
        if not status:
            return 0, ""
        cause = f"status {status}" if status > 0 else f"signal {-status}"
        message = f"the server {self._command} ended with {cause}"
        return status if status > 0 else 128 - status, message


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
    """A server at an address; its name is that of its host."""

    name: str
    write: Write
    received: Callable[[], AsyncGenerator[bytes, None]]
    closing: anyio.Event = field(default_factory=anyio.Event)

    async def leave(self) -> None:
        """End the session, once open requests are answered or have timed out."""
        self.closing.set()

    def interrupt(self) -> None:
        """End the session."""
        self.closing.set()

    async def ended(self) -> tuple[int, str]:
        """Return status 0, since a server at an address has none."""
        return 0, ""


Connection: TypeAlias = ServerProcess | UpstreamConnection
"""A connected server."""
Connect: TypeAlias = Callable[[], AbstractAsyncContextManager[Connection]]


@asynccontextmanager
async def connect_server(
    server: Upstream, warn: Callable[[str], None]
) -> AsyncIterator[UpstreamConnection]:
    """Connect to a server at an address, and end its session at the end of the block."""
    # Imported here, since a proxy before a program does not need the HTTP client.
    import httpx  # noqa: PLC0415

    from pagefault_mcp.upstreams.http_upstream import HttpUpstream  # noqa: PLC0415
    from pagefault_mcp.upstreams.server_connections import UpstreamClient  # noqa: PLC0415

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
                await connection.closing.wait()

        await group.start(run)
        yield connection
        await connection.leave()
