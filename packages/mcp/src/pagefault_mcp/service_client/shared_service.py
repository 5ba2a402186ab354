"""A transport of httpx to the service that the proxies of a user share.

The service listens on a socket in a folder that only the user can access. A proxy that cannot
connect to the socket starts the service.
"""

import fcntl
import os
import subprocess
import sys
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Final

import anyio
import httpx

from pagefault_mcp.errors import reason_of
from pagefault_mcp.service_client.running_service import LIMITS
from pagefault_mcp.service_client.service_exchange import ServiceRequestError
from pagefault_mcp.service_client.shared_folder import (
    SharedSetup,
    filter_environment,
    find_socket,
    is_same_file,
    lock_file,
    make_folder,
)

# After a failed start, requests fail at once for this time; else each would wait for another start.
_RETRY_SECONDS = 5.0
# The longest wait for a start, or for the shutdown of the previous service.
_LONGEST_START_SECONDS = 30.0
_LONGEST_MESSAGE_BYTES = 4_096
# A larger log is truncated at the next start.
_LARGEST_LOG_BYTES = 1024 * 1024
_NO_MESSAGE = "it has ended without a word"


class _NotStartedError(Exception):
    """The service cannot be started; the message has the reason."""


class SharedService(httpx.AsyncBaseTransport):
    """A transport to the service that the proxies of a setup share.

    The service is in use from the first request until the transport is closed, and ends some time
    after its last use.
    """

    def __init__(self, setup: SharedSetup) -> None:
        self._setup: Final = setup
        self._folder: Final = setup.folder()
        # Holds the shared lock on the file `used`.
        self._locks = AsyncExitStack()
        self._lock_descriptor: int | None = None
        self._sender: httpx.AsyncHTTPTransport | None = None
        self._previous_sender: httpx.AsyncHTTPTransport | None = None
        self._connecting = anyio.Lock()
        self._failure = ""
        self._retry_at = 0.0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the service, and start it first if it does not run.

        Raises:
            ServiceRequestError: The service does not start.
            httpx.TransportError: The service does not answer.
        """
        sender = self._sender
        if sender is not None:
            with suppress(httpx.ConnectError):
                return await sender.handle_async_request(request)
        # The connection was refused, so no part of the request has been sent.
        sender = await self._find_or_start(sender)
        return await sender.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections, and release the lock that keeps the service running."""
        for sender in (self._sender, self._previous_sender):
            if sender is not None:
                await sender.aclose()
        await self._locks.aclose()

    async def _find_or_start(
        self, failed: httpx.AsyncHTTPTransport | None
    ) -> httpx.AsyncHTTPTransport:
        """Return a transport to the service; start the service if needed.

        Args:
            failed: The transport that could not connect, if there was one.

        Raises:
            ServiceRequestError: The service cannot be started, or a start has just failed.
        """
        async with self._connecting:
            if self._sender is not None and self._sender is not failed:
                # Another request has connected meanwhile.
                return self._sender
            if time.monotonic() < self._retry_at:
                raise ServiceRequestError(self._failure)
            try:
                with anyio.fail_after(_LONGEST_START_SECONDS):
                    return await self._connect()
            except (OSError, _NotStartedError) as exc:
                self._failure = f"the shared service cannot be started: {self._failure_reason(exc)}"
                self._retry_at = time.monotonic() + _RETRY_SECONDS
                raise ServiceRequestError(self._failure) from exc

    def _failure_reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError) and not error.args:
            log = self._folder / "log"
            return f"it has not answered for {_LONGEST_START_SECONDS:g} seconds; {log} may say why"
        return reason_of(error)

    async def _connect(self) -> httpx.AsyncHTTPTransport:
        """Connect to the service, and start it unless it listens; return the transport."""
        await self._lock_service()
        async with lock_file(self._folder / "starting", fcntl.LOCK_EX):
            if not await _listens(find_socket(self._folder)):
                await self._start()
            address = find_socket(self._folder)
        if address is None:
            raise _NotStartedError(_NO_MESSAGE)
        if self._previous_sender is not None:
            await self._previous_sender.aclose()
        # The previous service still answers open requests while it shuts down.
        self._previous_sender = self._sender
        # Without verification, no certificates are loaded, which is slow.
        self._sender = httpx.AsyncHTTPTransport(uds=str(address), verify=False, limits=LIMITS)
        return self._sender

    async def _lock_service(self) -> None:
        """Take the shared lock that keeps the service running, unless this proxy has it already."""
        make_folder(self._folder)
        path = self._folder / "used"
        if self._lock_descriptor is not None and is_same_file(
            path, os.fstat(self._lock_descriptor)
        ):
            return
        self._lock_descriptor = None
        await self._locks.aclose()
        # A service that shuts down holds an exclusive lock until it has ended.
        self._lock_descriptor = await self._locks.enter_async_context(
            lock_file(path, fcntl.LOCK_SH)
        )

    async def _start(self) -> None:
        """Run the command that starts the service.

        The command exits when the service listens, or has failed to start.
        """
        setup = self._setup
        options: list[str | Path] = ["--folder", self._folder, "--data-dir", setup.data_dir]
        options += [] if setup.project is None else ["--project", setup.project]
        options += [] if setup.env_file is None else ["--env-file", setup.env_file]
        command = [*_program(), "serve-proxies", *map(str, options)]
        no_stream = subprocess.DEVNULL
        with (self._folder / "log").open("a+b") as log:
            if log.tell() > _LARGEST_LOG_BYTES:
                log.truncate(0)
            end_of_log = log.seek(0, os.SEEK_END)
            process = await anyio.run_process(
                command,
                stdin=no_stream,
                stdout=no_stream,
                stderr=log,
                env=filter_environment(),
                check=False,
            )
            if process.returncode != 0:
                log.seek(end_of_log)
                raise _NotStartedError(
                    _last_line(log.read()) or f"{_NO_MESSAGE}; is there room in {self._folder}?"
                )


async def _listens(socket: Path | None) -> bool:
    if socket is None:
        return False
    try:
        await (await anyio.connect_unix(socket)).aclose()
    except OSError:
        return False
    return True


def _program() -> list[str]:
    """Return the command of this process, without its arguments."""
    # On macOS `sys.orig_argv` begins with an interpreter outside of the virtual environment.
    return [sys.executable, *sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv[1:])]]


def _last_line(log: bytes) -> str:
    lines = log[-_LONGEST_MESSAGE_BYTES:].decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("pagefault: ") if lines else ""
