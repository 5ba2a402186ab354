"""Resolves the host names of URLs to fetch. No other module calls the resolver of the system.

`socket.getaddrinfo` blocks, and cannot be cancelled. If the name servers do not answer, it returns
only after the timeout of the system. So each lookup runs in a thread of its own, not in the thread
pool of the event loop, which the database client needs. The number of these threads is limited. A
lookup counts until its thread ends, even if its caller was cancelled.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import ip_address
from threading import Thread
from typing import TypeAlias

import anyio

from app.errors import FetchesBusyError
from app.services.fetching.targets import IPAddress

Resolve: TypeAlias = Callable[[str, str, int], Awaitable[Sequence[IPAddress]]]
"""Returns the addresses of a host, in order of preference, or raises `OSError`.

The arguments are the project, the host and the port.
"""

LOOKUP = "host-lookup"
"""The name of the threads of lookups."""

_LOOKUPS_PER_PROJECT = 4
_MAX_LOOKUPS = 64

_AddressFuture: TypeAlias = "asyncio.Future[tuple[IPAddress, ...]]"


class FetchSlots:
    """Limits the concurrent lookups or fetches of each project, and of all projects.

    An operation on a server of others may take a long time. If all slots of a project are in use,
    its next operation waits a short time for one of them. The object is not thread-safe.

    Args:
        per_project: The number of slots of one project. As many of its operations may wait.
        in_all: The number of slots of all projects together.
        wait_seconds: The time that an operation waits for a slot.
    """

    def __init__(self, *, per_project: int, in_all: int, wait_seconds: float) -> None:
        self._per_project = per_project
        self._in_all = in_all
        self._wait_seconds = wait_seconds
        self._slots_in_use: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()
        self._freed = anyio.Event()

    @asynccontextmanager
    async def slot(self, project_id: str) -> AsyncIterator[None]:
        """Occupy a slot of a project during the block.

        Raises:
            FetchesBusyError: See `acquire`.
        """
        await self.acquire(project_id)
        try:
            yield
        finally:
            self.release(project_id)

    async def acquire(self, project_id: str) -> None:
        """Acquire a slot of a project; `release` frees it.

        Raises:
            FetchesBusyError: No slot became free in time, or too many operations of the project
                wait.
        """
        if not self._is_free(project_id):
            await self._wait(project_id)
        self._slots_in_use[project_id] += 1

    def release(self, project_id: str) -> None:
        """Free a slot of a project, and wake all operations that wait."""
        self._slots_in_use -= Counter([project_id])
        freed, self._freed = self._freed, anyio.Event()
        freed.set()

    async def _wait(self, project_id: str) -> None:
        """Wait until a slot is free. The caller acquires the slot without an `await` in between."""
        if self._waiting[project_id] >= self._per_project:
            raise FetchesBusyError
        self._waiting[project_id] += 1
        try:
            with anyio.move_on_after(self._wait_seconds):
                while not self._is_free(project_id):
                    await self._freed.wait()
        finally:
            self._waiting -= Counter([project_id])
        # A slot may have become free at the moment of the timeout.
        if not self._is_free(project_id):
            raise FetchesBusyError

    def _is_free(self, project_id: str) -> bool:
        return (
            self._slots_in_use[project_id] < self._per_project
            and self._slots_in_use.total() < self._in_all
        )


class HostResolver:
    """Calls the resolver of the system, which also reads unusual spellings of addresses (`0x7f.1`).

    Args:
        wait_seconds: The time that a lookup waits for a slot.
    """

    def __init__(self, *, wait_seconds: float) -> None:
        self._slots = FetchSlots(
            per_project=_LOOKUPS_PER_PROJECT, in_all=_MAX_LOOKUPS, wait_seconds=wait_seconds
        )

    async def __call__(self, project_id: str, host: str, port: int) -> tuple[IPAddress, ...]:
        """Return the addresses of a host.

        Raises:
            OSError: The name does not resolve.
            FetchesBusyError: Too many lookups of the project, or of all projects, are running.
        """
        await self._slots.acquire(project_id)
        loop = asyncio.get_running_loop()
        future: _AddressFuture = loop.create_future()
        finish = partial(self._finish, project_id, future)
        try:
            # A daemon thread, so that a blocked lookup does not delay the end of the process.
            Thread(
                target=_look_up, name=LOOKUP, args=(host, port, loop, finish), daemon=True
            ).start()
        except BaseException:
            self._slots.release(project_id)
            raise
        return await future

    def _finish(
        self, project_id: str, future: _AddressFuture, outcome: tuple[IPAddress, ...] | Exception
    ) -> None:
        """Free the slot of a lookup, and pass its outcome to the caller. Runs in the event loop."""
        self._slots.release(project_id)
        if future.done():
            # The caller was cancelled.
            return
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
            # If the caller is cancelled now, nobody reads the error. This call prevents a warning
            # of asyncio about that.
            future.exception()
        else:
            future.set_result(outcome)


def _look_up(
    host: str,
    port: int,
    loop: asyncio.AbstractEventLoop,
    finish: Callable[[tuple[IPAddress, ...] | Exception], None],
) -> None:
    """Resolve a host, and call `finish` in the event loop with the addresses or the error."""
    outcome: tuple[IPAddress, ...] | Exception
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        outcome = tuple(
            dict.fromkeys(ip_address(socket_address[0]) for *_, socket_address in entries)
        )
    except Exception as exc:  # noqa: BLE001 - the caller raises it
        outcome = exc
    try:
        loop.call_soon_threadsafe(finish, outcome)
    except RuntimeError:
        # The event loop was closed meanwhile.
        return
