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
        """Cause the log of a project, or of all projects, to be read.

        `number` is that of the newest event.

        Never waits.
        """


class EventBroker:
    """Wakes the reader of the log in this process; subclasses also after writes of other processes.

    Wake-ups may be late, repeated or unnecessary. There must be one after every commit of an event,
    as soon as the event can be read, and after every time in which commits may have been missed.
    """

    is_notified = True
    """False if events of other processes are late, because notifications do not arrive."""

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
        """Wake the listener after this process has committed an event. Does not wait or raise."""
        if self._listener is not None:
            self._listener.wake(project_id, number)
