"""The broker: it wakes the reader of the log of events after an event was written.

The broker transports no events. `Feeds` is the reader, which then reads the new events from the
database. Brokers that also notice the events of other processes are in `app/wiring/brokers/`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from app.services.concurrency.background import run_beside


class Listener(Protocol):
    """The reader of the log in this process."""

    @property
    def has_streams(self) -> bool:
        """True if at least one stream of events is open in this process."""

    def wake(self, project_id: str | None, number: int | None) -> None:
        """Schedule a read of the log of a project. Does not wait.

        Args:
            project_id: The project; `None` for all projects.
            number: The number of the newest event, if it is known.
        """


class EventBroker:
    """Wakes the reader of the log after this process has written an event.

    Subclasses also wake the reader after writes of other processes. They have to wake the reader
    after each commit of an event, and after each period in which notifications may have been lost.
    They may do so late, more than once, or without a new event.
    """

    is_notified = True
    """False if notifications of other processes do not arrive, so that their events are late."""

    def __init__(self) -> None:
        self._listener: Listener | None = None

    @asynccontextmanager
    async def listening(self, listener: Listener) -> AsyncIterator[None]:
        """Wake a listener after each write during the block."""
        self._listener = listener
        try:
            async with run_beside(self._watch_other_processes(listener)):
                yield
        finally:
            self._listener = None

    async def _watch_other_processes(self, listener: Listener) -> None:
        """Wake a listener after writes of other processes, until cancelled.

        Subclasses override this method. Here it does nothing.
        """

    def announce(self, project_id: str, number: int) -> None:
        """Wake the listener. Call this after the commit of an event. Does not wait or raise.

        Args:
            project_id: The project of the event.
            number: The number of the event in the log of the project.
        """
        if self._listener is not None:
            self._listener.wake(project_id, number)
