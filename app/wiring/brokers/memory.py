"""A broker for one process: what it commits itself is all there is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.services.events.broker import Listener


class MemoryBroker:
    """See EventBroker."""

    def __init__(self) -> None:
        self._listener: Listener | None = None

    @asynccontextmanager
    async def listening(self, listener: Listener) -> AsyncIterator[None]:
        """See EventBroker.listening."""
        self._listener = listener
        try:
            yield
        finally:
            self._listener = None

    def announce(self, project_id: str, number: int) -> None:
        """See EventBroker.announce."""
        if self._listener is not None:
            self._listener.wake(project_id, number)
