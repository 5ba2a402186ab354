"""A broker for several processes over one PostgreSQL server.

Transactions that write events say so by NOTIFY, which the server delivers with their commit, and
not at all if they are rolled back. Each process keeps one connection that listens. While it is
lost, wake-ups are missed; so everybody is woken when it stands again, and reads the log.
"""

from contextlib import suppress

import anyio
import psycopg
import structlog

from app.services.concurrency.background import log_failures
from app.services.events.broker import EventBroker, Listener

_log = structlog.get_logger(__name__)
_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 5.0
# A connection that was cut without a word is found out by asking; notifications need no asking.
_ASK_SECONDS = 10.0
_ANSWER_SECONDS = 5.0
_EXPECTED = (psycopg.Error, TimeoutError)


class PostgresBroker(EventBroker):
    """See EventBroker.

    Args:
        conninfo: Where the server is, as libpq takes it.
        channel: The channel that events are told on.
    """

    def __init__(self, conninfo: str, channel: str) -> None:
        super().__init__()
        self._conninfo = conninfo
        self._channel = channel

    async def _hear_others(self, listener: Listener) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while True:
            with log_failures(_log, "not listening for events", expected=_EXPECTED):
                async with await psycopg.AsyncConnection.connect(
                    self._conninfo, autocommit=True, connect_timeout=round(_ANSWER_SECONDS)
                ) as connection:
                    with anyio.fail_after(_ANSWER_SECONDS):
                        await connection.execute(f"LISTEN {self._channel}")
                    pause = _FIRST_PAUSE_SECONDS
                    await self._hear(connection, listener)
            await anyio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    async def _hear(self, connection: psycopg.AsyncConnection, listener: Listener) -> None:
        while True:
            # What was told between two askings is not lost, but costs nothing to look for.
            listener.wake(None, None)
            async for notification in connection.notifies(timeout=_ASK_SECONDS):
                number, _, project_id = notification.payload.partition(" ")
                with suppress(ValueError):
                    listener.wake(project_id, int(number))
            with anyio.fail_after(_ANSWER_SECONDS):
                await connection.execute("SELECT 1")
