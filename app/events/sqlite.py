"""A broker for several processes over one SQLite file.

The file tells nobody that it was changed, but it counts its changes. A process that has subscribers
looks at the counter, once for all of them; its own commits wake it without.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import structlog

from app.errors import ServiceError
from app.events.broker import Listener
from app.events.memory import MemoryBroker

_log = structlog.get_logger(__name__)
_LOOK_SECONDS = 0.1
_RETRY_SECONDS = 1.0


class SqliteBroker:
    """See EventBroker.

    Args:
        change_count: Gives a number that changes whenever the file does.
    """

    def __init__(self, change_count: Callable[[], Awaitable[int]]) -> None:
        self._change_count = change_count
        self._own = MemoryBroker()

    @asynccontextmanager
    async def listening(self, listener: Listener) -> AsyncIterator[None]:
        """See EventBroker.listening."""
        # Not a task group: it would hand on whatever the block raises as a group of errors.
        looking = asyncio.create_task(self._keep_looking(listener))
        try:
            async with self._own.listening(listener):
                yield
        finally:
            looking.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([looking])

    def announce(self, project_id: str, number: int) -> None:
        """See EventBroker.announce."""
        self._own.announce(project_id, number)

    async def _keep_looking(self, listener: Listener) -> None:
        seen: int | None = None
        while True:
            await anyio.sleep(_LOOK_SECONDS)
            if not listener.is_any:
                continue
            try:
                count = await self._change_count()
            except ServiceError as exc:
                _log.warning("change counter not read", code=exc.problem_code)
                await anyio.sleep(_RETRY_SECONDS)
                continue
            except Exception:  # noqa: BLE001 - it is told, and tried again: nobody else looks
                _log.exception("change counter not read")
                await anyio.sleep(_RETRY_SECONDS)
                continue
            if count != seen:
                seen = count
                listener.wake(None, None)
