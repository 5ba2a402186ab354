"""A broker for several processes over one SQLite file.

The file tells nobody that it was changed, but it counts its changes. A process that has subscribers
looks at the counter, once for all of them; its own commits wake it without.
"""

from collections.abc import Awaitable, Callable

import anyio
import structlog

from app.services.concurrency.background import log_failures
from app.services.events.broker import EventBroker, Listener

_log = structlog.get_logger(__name__)
_LOOK_SECONDS = 0.1
_RETRY_SECONDS = 1.0


class SqliteBroker(EventBroker):
    """See EventBroker.

    Args:
        change_count: Gives a number that changes whenever the file does.
    """

    def __init__(self, change_count: Callable[[], Awaitable[int]]) -> None:
        super().__init__()
        self._change_count = change_count

    async def _hear_others(self, listener: Listener) -> None:
        seen: int | None = None
        while True:
            await anyio.sleep(_LOOK_SECONDS)
            if not listener.is_any:
                continue
            with log_failures(_log, "change counter not read"):
                count = await self._change_count()
                if count != seen:
                    seen = count
                    listener.wake(None, None)
                continue
            await anyio.sleep(_RETRY_SECONDS)
