"""The broker wakes readers of the log; it carries no events."""

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
        """Cause a project's log to be read, or that of all; `number` is that of its newest event.

        Never waits.
        """


class EventBroker:
    """Wakes the reader of the log in this process; subclasses also after writes of other processes.

    A wake-up may come twice, late, or for nothing. It must come after every commit of an event
    that can be read by then, and after every moment in which one may have been missed.
    """

    is_notified = True
    """False if events of other processes come late, since notifications of them do not arrive."""

    def __init__(self) -> None:
        self._listener: Listener | None = None

    @asynccontextmanager
    async def listening(self, listener: Listener) -> AsyncIterator[None]:
        """Wake a listener while the block runs."""
        self._listener = listener
        try:
            async with run_beside(self._watch_other_processes(listener)):
                yield
        finally:
            self._listener = None

    async def _watch_other_processes(self, listener: Listener) -> None:
        """Wake a listener after commits of other processes, until cancelled; does nothing here."""

    def announce(self, project_id: str, number: int) -> None:
        """Wake the listener after this process has committed an event. Neither waits nor raises."""
        if self._listener is not None:
            self._listener.wake(project_id, number)
