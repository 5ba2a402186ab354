"""The broker wakes the readers of the log of events after a write. It transports no events."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from app.services.concurrency.background import run_beside


class Listener(Protocol):
    """A reader of the log in this process."""

    @property
    def is_any(self) -> bool:
        """True if any stream waits for events."""

    def wake(self, project_id: str | None, number: int | None) -> None:
        """Read the log of a project soon. Does not wait.

        Args:
            project_id: The project; `None` for all projects.
            number: The number of the newest event, if it is known.
        """


class EventBroker:
    """Wakes the reader of the log after writes of this process.

    Subclasses also wake it after writes of other processes. Wake-ups may be late, repeated or
    unnecessary. There must be one after each commit of an event, when the event can be read. There
    must also be one after each period in which notifications of commits may have been lost.
    """

    is_notified = True
    """False if events of other processes are late, because notifications do not arrive."""

    def __init__(self) -> None:
        self._listener: Listener | None = None

    @asynccontextmanager
    async def listening(self, listener: Listener) -> AsyncIterator[None]:
        """Wake a listener during the block."""
        self._listener = listener
        try:
            async with run_beside(self._watch_other_processes(listener)):
                yield
        finally:
            self._listener = None

    async def _watch_other_processes(self, listener: Listener) -> None:
        """Wake a listener after commits of other processes, until cancelled. Here, do nothing."""

    def announce(self, project_id: str, number: int) -> None:
        """Wake the listener after this process has committed an event. Does not wait or raise."""
        if self._listener is not None:
            self._listener.wake(project_id, number)
