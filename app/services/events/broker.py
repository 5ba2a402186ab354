"""The contract of a broker: it wakes, and carries nothing."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Listener(Protocol):
    """Whoever in this process reads the log."""

    @property
    def is_any(self) -> bool:
        """Whether anybody waits for events at all."""

    def wake(self, project_id: str | None, number: int | None) -> None:
        """Have a project's log read, or that of all; `number` is that of its newest event.

        Never waits.
        """


class EventBroker(Protocol):
    """Wakes whoever reads the log, in this process and from the others.

    A wake-up may come twice, late, or for nothing. It must come after every commit of an event
    that can be read by then, and after every moment in which one may have been missed.
    """

    def listening(self, listener: Listener) -> AbstractAsyncContextManager[None]:
        """Wake a listener for the length of the block."""

    def announce(self, project_id: str, number: int) -> None:
        """Wake this process: it has committed this event of a project. Neither waits nor raises."""
