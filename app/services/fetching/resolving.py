"""Resolves host names. No other module calls the resolver of the system.

This resolver blocks, and cannot be cancelled. If the name servers do not answer, it returns only
after the timeout of the system. So each lookup runs in a new thread, and not in a thread of the
event loop's pool, which other lookups and the database client need. Even if the caller was
cancelled, its slot is occupied until the thread ends, so that blocked lookups are counted.
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

Called with the project, the host and the port.
"""

LOOKUP = "host-lookup"
"""The name of lookup threads."""

_PER_PROJECT = 4
_IN_ALL = 64

_Answer: TypeAlias = "asyncio.Future[tuple[IPAddress, ...]]"


class FetchSlots:
    """Limits the concurrent operations of each project, and of all projects. Not thread-safe.

    An operation on a foreign server may take a long time. If a project has used all of its slots,
    its next operation waits a short time for one of them. It cannot use slots of other projects.

    Args:
        per_project: The number of slots of one project, and of its tasks that may wait.
        in_all: The number of slots of all projects together.
        wait_seconds: The time that a task waits for a slot.
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
            FetchesBusyError: No slot became free in time, or too many tasks of the project wait.
        """
        if not self._is_free(project_id):
            await self._wait(project_id)
        self._slots_in_use[project_id] += 1

    def release(self, project_id: str) -> None:
        """Free a slot."""
        self._slots_in_use -= Counter([project_id])
        freed, self._freed = self._freed, anyio.Event()
        freed.set()

    async def _wait(self, project_id: str) -> None:
        """Wait for a free slot. No other task runs before the caller acquires it."""
        if self._waiting[project_id] >= self._per_project:
            raise FetchesBusyError
        self._waiting[project_id] += 1
        try:
            with anyio.move_on_after(self._wait_seconds):
                while not self._is_free(project_id):
                    await self._freed.wait()
        finally:
            self._waiting -= Counter([project_id])
        # The timeout may have ended at the moment at which a slot became free, so check again.
        if not self._is_free(project_id):
            raise FetchesBusyError

    def _is_free(self, project_id: str) -> bool:
        return (
            self._slots_in_use[project_id] < self._per_project
            and self._slots_in_use.total() < self._in_all
        )


class HostResolver:
    """The system's resolver, which also reads unusual spellings of addresses (`0x7f.1`).

    Args:
        wait_seconds: The time that a lookup waits for a slot.
    """

    def __init__(self, *, wait_seconds: float) -> None:
        self._slots = FetchSlots(
            per_project=_PER_PROJECT, in_all=_IN_ALL, wait_seconds=wait_seconds
        )

    async def __call__(self, project_id: str, host: str, port: int) -> tuple[IPAddress, ...]:
        """Return the addresses of a host.

        Raises:
            OSError: The name does not resolve.
            FetchesBusyError: Too many lookups of the project, or of all, are pending.
        """
        await self._slots.acquire(project_id)
        loop = asyncio.get_running_loop()
        answer: _Answer = loop.create_future()
        ended = partial(self._ended, project_id, answer)
        try:
            # A daemon thread, so that a blocked lookup does not delay the end of the process.
            Thread(
                target=_look_up, name=LOOKUP, args=(host, port, loop, ended), daemon=True
            ).start()
        except BaseException:
            self._slots.release(project_id)
            raise
        return await answer

    def _ended(
        self, project_id: str, answer: _Answer, outcome: tuple[IPAddress, ...] | Exception
    ) -> None:
        self._slots.release(project_id)
        if answer.done():
            # The caller was cancelled.
            return
        if isinstance(outcome, Exception):
            answer.set_exception(outcome)
            # Mark the error as retrieved, in case the caller is cancelled now.
            answer.exception()
        else:
            answer.set_result(outcome)


def _look_up(
    host: str,
    port: int,
    loop: asyncio.AbstractEventLoop,
    ended: Callable[[tuple[IPAddress, ...] | Exception], None],
) -> None:
    """Resolve a host in a thread, and pass the outcome to the event loop."""
    outcome: tuple[IPAddress, ...] | Exception
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        outcome = tuple(dict.fromkeys(ip_address(answer[4][0]) for answer in answers))
    except Exception as exc:  # noqa: BLE001 - the caller raises it
        outcome = exc
    try:
        loop.call_soon_threadsafe(ended, outcome)
    except RuntimeError:
        # The event loop was closed meanwhile.
        return
