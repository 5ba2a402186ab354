"""From host names to addresses: the only place that asks the resolver.

The system's resolver is asked by a blocking call that nothing can cancel, and a name whose servers
do not answer holds it for as long as the system likes. So every lookup has a thread of its own
instead of one of the event loop's few, which other lookups and the database's client need. A slot
is held until the thread has ended, not until somebody gives its answer up: what hangs is counted.
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
"""Every address that a project's host has, in the order to try them; `OSError` if it has none.

It is given the project, the host and the port.
"""

LOOKUP = "host-lookup"
"""The name of the thread of a lookup."""

_PER_PROJECT = 4
_IN_ALL = 64

_Answer: TypeAlias = "asyncio.Future[tuple[IPAddress, ...]]"


class FetchSlots:
    """Slots: how much of one kind is under way at once, for each project and in all.

    What waits for somebody else's server may take as long as that server likes. A project that has
    taken all of its slots waits for one of its own, a short time, and leaves the others theirs.
    Used by the tasks of one event loop.

    Args:
        per_project: How many one project may have. As many of its tasks may wait for one.
        in_all: How many all projects together may have.
        wait_seconds: How long a task waits for a slot.
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
        """Hold a slot of a project for the length of the block.

        Raises:
            FetchesBusyError: See `take`.
        """
        await self.take(project_id)
        try:
            yield
        finally:
            self.give_back(project_id)

    async def take(self, project_id: str) -> None:
        """Take a slot of a project, to be given back by `give_back`.

        Raises:
            FetchesBusyError: None was free in time, or too many of the project wait already.
        """
        if not self._is_free(project_id):
            await self._wait(project_id)
        self._slots_in_use[project_id] += 1

    def give_back(self, project_id: str) -> None:
        """Give a slot back that was taken."""
        self._slots_in_use -= Counter([project_id])
        freed, self._freed = self._freed, anyio.Event()
        freed.set()

    async def _wait(self, project_id: str) -> None:
        """Return as soon as a slot is free; nothing else runs before the caller takes it."""
        if self._waiting[project_id] >= self._per_project:
            raise FetchesBusyError
        self._waiting[project_id] += 1
        try:
            with anyio.move_on_after(self._wait_seconds):
                while not self._is_free(project_id):
                    await self._freed.wait()
        finally:
            self._waiting -= Counter([project_id])
        # Asked again, since the time may have run out just when one was given back.
        if not self._is_free(project_id):
            raise FetchesBusyError

    def _is_free(self, project_id: str) -> bool:
        return (
            self._slots_in_use[project_id] < self._per_project
            and self._slots_in_use.total() < self._in_all
        )


class HostResolver:
    """Asks the system, which also turns odd spellings (`0x7f.1`) into the address they mean.

    Args:
        wait_seconds: How long a lookup waits while too many others are unanswered.
    """

    def __init__(self, *, wait_seconds: float) -> None:
        self._slots = FetchSlots(
            per_project=_PER_PROJECT, in_all=_IN_ALL, wait_seconds=wait_seconds
        )

    async def __call__(self, project_id: str, host: str, port: int) -> tuple[IPAddress, ...]:
        """Return the addresses of a host.

        Raises:
            OSError: The name does not resolve.
            FetchesBusyError: Too many lookups of the project, or of all, are unanswered.
        """
        await self._slots.take(project_id)
        loop = asyncio.get_running_loop()
        answer: _Answer = loop.create_future()
        ended = partial(self._ended, project_id, answer)
        try:
            # A daemon, so that one that hangs does not keep the process from ending.
            Thread(
                target=_look_up, name=LOOKUP, args=(host, port, loop, ended), daemon=True
            ).start()
        except BaseException:
            self._slots.give_back(project_id)
            raise
        return await answer

    def _ended(
        self, project_id: str, answer: _Answer, outcome: tuple[IPAddress, ...] | Exception
    ) -> None:
        self._slots.give_back(project_id)
        if answer.done():
            # Nobody waits for it any more.
            return
        if isinstance(outcome, Exception):
            answer.set_exception(outcome)
            # Taken as seen: whoever has asked may be cancelled in this moment.
            answer.exception()
        else:
            answer.set_result(outcome)


def _look_up(
    host: str,
    port: int,
    loop: asyncio.AbstractEventLoop,
    ended: Callable[[tuple[IPAddress, ...] | Exception], None],
) -> None:
    """Ask the system, and hand the outcome to the event loop; runs in a thread."""
    outcome: tuple[IPAddress, ...] | Exception
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        outcome = tuple(dict.fromkeys(ip_address(answer[4][0]) for answer in answers))
    except Exception as exc:  # noqa: BLE001 - it is raised to whoever has asked
        outcome = exc
    try:
        loop.call_soon_threadsafe(ended, outcome)
    except RuntimeError:
        # The event loop was closed meanwhile: nobody waits, and nothing counts any more.
        return
