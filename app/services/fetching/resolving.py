"""From host names to addresses: the only place that asks the resolver.

The system's resolver is asked by a blocking call that nothing can cancel, and a name whose servers
do not answer holds it for as long as the system likes. So every lookup has a thread of its own
instead of one of the event loop's few, which other lookups and the database's client need. A slot
is held until the thread has ended, not until somebody gives its answer up: what hangs is counted.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from ipaddress import ip_address
from threading import Thread
from typing import TypeAlias

from app.services.fetching.addresses import IPAddress
from app.services.fetching.slots import FetchSlots

Resolve: TypeAlias = Callable[[str, str, int], Awaitable[Sequence[IPAddress]]]
"""Every address that a project's host has, in the order to try them; `OSError` if it has none.

It is given the project, the host and the port.
"""

LOOKUP = "host-lookup"
"""What the thread of a lookup is called."""

_PER_PROJECT = 4
_IN_ALL = 64

_Answer: TypeAlias = "asyncio.Future[tuple[IPAddress, ...]]"


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
