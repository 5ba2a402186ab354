"""A broker for several processes over one PostgreSQL server.

Transactions that write events send a NOTIFY, which the server delivers if they commit. Each process
keeps one connection that listens. Notifications are missed while it is lost, so all listeners are
woken when it is open again, and read the log.
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
# A query finds connections that were lost without a reset.
_CHECK_SECONDS = 10.0
_ANSWER_SECONDS = 5.0
_EXPECTED = (psycopg.Error, TimeoutError)


class PostgresBroker(EventBroker):
    """See EventBroker.

    Args:
        conninfo: The connection string of libpq.
        channel: The channel of the notifications.
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
            # Also after each check: reading the log once more is cheap.
            listener.wake(None, None)
            async for notification in connection.notifies(timeout=_CHECK_SECONDS):
                number, _, project_id = notification.payload.partition(" ")
                with suppress(ValueError):
                    listener.wake(project_id, int(number))
            with anyio.fail_after(_ANSWER_SECONDS):
                await connection.execute("SELECT 1")
