"""A broker for several processes over one SQLite file.

SQLite sends no notifications, but counts the changes of its file. A process with listeners polls
this counter. Commits of the process itself wake its listener directly.
"""

from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import structlog

from app.services.concurrency.background import log_failures, run_to_completion
from app.services.events.broker import EventBroker, Listener

_log = structlog.get_logger(__name__)
_POLL_SECONDS = 0.1
_RETRY_SECONDS = 1.0


class SqliteBroker(EventBroker):
    """An event broker that polls the change counter; see `EventBroker`.

    Args:
        change_count: Returns a number that changes with each commit to the file.
    """

    def __init__(self, change_count: Callable[[], Coroutine[Any, Any, int]]) -> None:
        super().__init__()
        self._change_count = change_count

    async def _watch_other_processes(self, listener: Listener) -> None:
        last_count: int | None = None
        while True:
            await anyio.sleep(_POLL_SECONDS)
            if not listener.has_streams:
                continue
            with log_failures(_log, "change counter not read"):
                # Closing a connection while a thread uses it crashes the process, so a cancellation
                # waits for the thread.
                count = await run_to_completion(self._change_count())
                if count != last_count:
                    last_count = count
                    listener.wake(None, None)
                continue
            await anyio.sleep(_RETRY_SECONDS)
