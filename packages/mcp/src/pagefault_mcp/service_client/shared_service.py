"""The service that stores for all proxies of a user: a proxy finds it, or starts it.

It is asked over a socket in a folder that only the user gets into. Whoever cannot reach it starts
it, at first and whenever it has ended since.
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
from pagefault_mcp.service_client.service_exchange import NoAnswerError
from pagefault_mcp.service_client.shared_folder import (
    SharedSetup,
    filter_environment,
    is_at,
    lock_file,
    make_folder,
    socket_of,
)

# How long nothing is started after a start that failed: each result would wait for another.
_FAILED_SECONDS = 5.0
# How long a result waits for a start, or for the end of a service that is ending.
_LONGEST_START_SECONDS = 30.0
_MOST_SAID_BYTES = 4_096
# With how much of a log, at the most, another start goes on writing it.
_LARGEST_LOG_BYTES = 1024 * 1024
_ENDED_AT_ONCE = "it has ended without a word"


class _NotStartedError(Exception):
    """The service does not start; the words say why."""


class SharedService(httpx.AsyncBaseTransport):
    """Sends requests to the service that the proxies of a setup share.

    It is used from the first request on until this is closed, and ends some time after its last
    user has gone.
    """

    def __init__(self, setup: SharedSetup) -> None:
        self._setup: Final = setup
        self._folder: Final = setup.folder()
        self._held = AsyncExitStack()
        self._used: int | None = None
        self._sender: httpx.AsyncHTTPTransport | None = None
        self._earlier: httpx.AsyncHTTPTransport | None = None
        self._one_at_a_time = anyio.Lock()
        self._failure = ""
        self._not_before = 0.0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request.

        Raises:
            NoAnswerError: The service does not start.
            httpx.TransportError: It does not answer.
        """
        sender = self._sender
        if sender is not None:
            with suppress(httpx.ConnectError):
                return await sender.handle_async_request(request)
        # Nothing of the request has been sent.
        sender = await self._find(sender)
        return await sender.handle_async_request(request)

    async def aclose(self) -> None:
        """Use the service no longer."""
        for sender in (self._sender, self._earlier):
            if sender is not None:
                await sender.aclose()
        await self._held.aclose()

    async def _find(self, failed: httpx.AsyncHTTPTransport | None) -> httpx.AsyncHTTPTransport:
        """Find the service, or start it; after a failure say for a while what it was."""
        async with self._one_at_a_time:
            if self._sender is not None and self._sender is not failed:
                # Another request has found it meanwhile.
                return self._sender
            if time.monotonic() < self._not_before:
                raise NoAnswerError(self._failure)
            try:
                with anyio.fail_after(_LONGEST_START_SECONDS):
                    return await self._connect()
            except (OSError, _NotStartedError) as exc:
                self._failure = f"the shared service cannot be started: {self._why(exc)}"
                self._not_before = time.monotonic() + _FAILED_SECONDS
                raise NoAnswerError(self._failure) from exc

    def _why(self, error: Exception) -> str:
        """Return why it is not started."""
        if isinstance(error, TimeoutError) and not error.args:
            log = self._folder / "log"
            return f"it has not answered for {_LONGEST_START_SECONDS:g} seconds; {log} may say why"
        return reason_of(error)

    async def _connect(self) -> httpx.AsyncHTTPTransport:
        """Use the service, and start it unless it listens; return what sends requests to it."""
        await self._use()
        async with lock_file(self._folder / "starting", fcntl.LOCK_EX):
            if not await _listens(socket_of(self._folder)):
                await self._start()
            address = socket_of(self._folder)
        if address is None:
            raise _NotStartedError(_ENDED_AT_ONCE)
        if self._earlier is not None:
            await self._earlier.aclose()
        # A service that is ending still answers what it was asked by the one before.
        self._earlier = self._sender
        # To verify nothing takes no certificates, which take long to load.
        self._sender = httpx.AsyncHTTPTransport(uds=str(address), verify=False, limits=LIMITS)
        return self._sender

    async def _use(self) -> None:
        """Hold the lock by which the service knows its users; another one if the folder is new."""
        make_folder(self._folder)
        path = self._folder / "used"
        if self._used is not None and is_at(path, os.fstat(self._used)):
            return
        self._used = None
        await self._held.aclose()
        # A service that is ending holds this until it has ended.
        self._used = await self._held.enter_async_context(lock_file(path, fcntl.LOCK_SH))

    async def _start(self) -> None:
        """Start the service; what is run here ends as soon as that serves, or cannot."""
        setup = self._setup
        given: list[str | Path] = ["--folder", self._folder, "--data-dir", setup.data_dir]
        given += [] if setup.project is None else ["--project", setup.project]
        given += [] if setup.env_file is None else ["--env-file", setup.env_file]
        command = [*_program(), "serve-proxies", *map(str, given)]
        nothing = subprocess.DEVNULL
        with (self._folder / "log").open("a+b") as log:
            if log.tell() > _LARGEST_LOG_BYTES:
                log.truncate(0)
            before = log.seek(0, os.SEEK_END)
            done = await anyio.run_process(
                command,
                stdin=nothing,
                stdout=nothing,
                stderr=log,
                env=filter_environment(),
                check=False,
            )
            if done.returncode != 0:
                log.seek(before)
                raise _NotStartedError(
                    _last_line(log.read()) or f"{_ENDED_AT_ONCE}; is there room in {self._folder}?"
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
    """Return the program that this process was started as, without its arguments."""
    # On macOS `sys.orig_argv` begins with an interpreter outside of the virtual environment.
    return [sys.executable, *sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv[1:])]]


def _last_line(said: bytes) -> str:
    lines = said[-_MOST_SAID_BYTES:].decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("pagefault: ") if lines else ""
