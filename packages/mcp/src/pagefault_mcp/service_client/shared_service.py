"""An httpx transport to the service that the proxies of a user share.

The service listens on a socket, whose path is in a folder that only the user can access; see
`shared_folder`. A proxy that cannot connect to the socket starts the service, with the command
`pagefault serve-proxies`.
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

from pagefault_mcp.errors import describe_error
from pagefault_mcp.service_client.service_connection import CLIENT_LIMITS
from pagefault_mcp.service_client.service_exchange import ServiceRequestError
from pagefault_mcp.service_client.shared_folder import (
    SharedSetup,
    filter_environment,
    find_socket,
    is_same_file,
    lock_file,
    make_folder,
)

# After a failed start, requests fail immediately for this time. Otherwise each of them would wait
# for another start.
_RETRY_SECONDS = 5.0
# The longest wait until a service has started, including the shutdown of the previous service.
_LONGEST_START_SECONDS = 30.0
_LONGEST_MESSAGE_BYTES = 4_096
# A larger log is deleted at the next start.
_LARGEST_LOG_BYTES = 1024 * 1024
_NO_MESSAGE = "it has ended without a word"


class _NotStartedError(Exception):
    """The service cannot be started; the message has the reason."""


class SharedService(httpx.AsyncBaseTransport):
    """A transport to the service that proxies with the same setup share.

    From the first request until `aclose`, the transport locks the file `used`, which keeps the
    service running. The service ends a few seconds after the last proxy has released its lock.
    """

    def __init__(self, setup: SharedSetup) -> None:
        self._setup: Final = setup
        self._folder: Final = setup.find_folder()
        # Closes the file `used`, which releases its lock.
        self._used_lock = AsyncExitStack()
        # The descriptor of the file `used` while it is locked.
        self._used_descriptor: int | None = None
        # The transport to the socket of the service.
        self._transport: httpx.AsyncHTTPTransport | None = None
        # The transport to the service before this one, whose last responses may still be read.
        self._previous_transport: httpx.AsyncHTTPTransport | None = None
        self._connect_lock = anyio.Lock()
        # Why the last start has failed; reported until `_retry_at`.
        self._failure = ""
        self._retry_at = 0.0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the service; start the service first if it does not run.

        Raises:
            ServiceRequestError: The service does not start.
            httpx.TransportError: The connection failed, or the service did not respond in time.
        """
        transport = self._transport
        if transport is not None:
            # If a connection is refused, no part of the request has been sent, so it is sent again.
            with suppress(httpx.ConnectError):
                return await transport.handle_async_request(request)
        transport = await self._find_or_start(transport)
        return await transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections, and release the lock that keeps the service running."""
        for transport in (self._transport, self._previous_transport):
            if transport is not None:
                await transport.aclose()
        await self._used_lock.aclose()

    async def _find_or_start(
        self, failed: httpx.AsyncHTTPTransport | None
    ) -> httpx.AsyncHTTPTransport:
        """Return a transport to the service; start the service if needed.

        Args:
            failed: The transport that could not connect, if there was one.

        Raises:
            ServiceRequestError: The service cannot be started, or a start failed a moment ago.
        """
        async with self._connect_lock:
            if self._transport is not None and self._transport is not failed:
                # While this request waited for the lock, another one has connected.
                return self._transport
            if time.monotonic() < self._retry_at:
                raise ServiceRequestError(self._failure)
            try:
                with anyio.fail_after(_LONGEST_START_SECONDS):
                    return await self._connect()
            except (OSError, _NotStartedError) as exc:
                self._failure = (
                    f"the shared service cannot be started: {self._describe_failure(exc)}"
                )
                self._retry_at = time.monotonic() + _RETRY_SECONDS
                raise ServiceRequestError(self._failure) from exc

    def _describe_failure(self, error: Exception) -> str:
        if isinstance(error, TimeoutError) and not error.args:
            log = self._folder / "log"
            return f"it has not answered for {_LONGEST_START_SECONDS:g} seconds; {log} may say why"
        return describe_error(error)

    async def _connect(self) -> httpx.AsyncHTTPTransport:
        """Return a new transport to the service, and start the service unless it listens.

        Raises:
            OSError: A file cannot be used, or the command cannot be run.
            _NotStartedError: The service has failed to start.
        """
        await self._lock_used_file()
        async with lock_file(self._folder / "starting", fcntl.LOCK_EX):
            if not await _is_listening(find_socket(self._folder)):
                await self._start()
            socket_path = find_socket(self._folder)
        if socket_path is None:
            raise _NotStartedError(_NO_MESSAGE)
        if self._previous_transport is not None:
            await self._previous_transport.aclose()
        # A service that shuts down still completes its open requests.
        self._previous_transport = self._transport
        # With `verify`, certificates would be loaded, which is slow and useless for a socket.
        self._transport = httpx.AsyncHTTPTransport(
            uds=str(socket_path), verify=False, limits=CLIENT_LIMITS
        )
        return self._transport

    async def _lock_used_file(self) -> None:
        """Lock the file `used`, unless this proxy has locked it already.

        If the file was removed since, a new one is locked instead.
        """
        make_folder(self._folder)
        path = self._folder / "used"
        if self._used_descriptor is not None and is_same_file(
            path, os.fstat(self._used_descriptor)
        ):
            return
        self._used_descriptor = None
        await self._used_lock.aclose()
        # A service that shuts down has an exclusive lock, so this waits until it has ended.
        self._used_descriptor = await self._used_lock.enter_async_context(
            lock_file(path, fcntl.LOCK_SH)
        )

    async def _start(self) -> None:
        """Run the command that starts the service in the background.

        The command exits as soon as the service listens, or has failed to start.

        Raises:
            OSError: The command cannot be run.
            _NotStartedError: The service has failed to start.
        """
        setup = self._setup
        options: list[str | Path] = ["--folder", self._folder, "--data-dir", setup.data_dir]
        options += [] if setup.project is None else ["--project", setup.project]
        options += [] if setup.env_file is None else ["--env-file", setup.env_file]
        command = [*_find_program(), "serve-proxies", *map(str, options)]
        with (self._folder / "log").open("a+b") as log:
            if log.tell() > _LARGEST_LOG_BYTES:
                log.truncate(0)
            end_of_log = log.seek(0, os.SEEK_END)
            process = await anyio.run_process(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=filter_environment(),
                check=False,
            )
            if process.returncode != 0:
                log.seek(end_of_log)
                raise _NotStartedError(
                    _read_last_line(log.read())
                    or f"{_NO_MESSAGE}; is there room in {self._folder}?"
                )


async def _is_listening(socket_path: Path | None) -> bool:
    if socket_path is None:
        return False
    try:
        await (await anyio.connect_unix(socket_path)).aclose()
    except OSError:
        return False
    return True


def _find_program() -> list[str]:
    """Return the command line of this process without the arguments of `pagefault`.

    It begins with the interpreter, and ends with the script, or with `-m` and the module.
    """
    # On macOS, the interpreter in `sys.orig_argv` is outside of the virtual environment.
    return [sys.executable, *sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv[1:])]]


def _read_last_line(log: bytes) -> str:
    """Return the last line of a log, the error of a failed start; empty if there is none."""
    lines = log[-_LONGEST_MESSAGE_BYTES:].decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("pagefault: ") if lines else ""
