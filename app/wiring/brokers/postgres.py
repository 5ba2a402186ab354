"""Notifications over PostgreSQL, by LISTEN and NOTIFY.

A transaction with a notification holds a lock of the whole server during its commit. So
notifications are sent outside of the transactions that write events. They do not arrive through a
pooler in transaction mode, which uses another connection for each transaction.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import psycopg

from app.wiring.brokers.notifications import CHANNEL, REPLY_SECONDS, Receive, Send

# A notification may be lost in a crash, so its commit does not wait for the disk. With `true`, the
# setting is for this transaction only.
_NOTIFY = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, %s)"


class PostgresChannel:
    """A channel over PostgreSQL; see `NotificationChannel`.

    Args:
        conninfo: The connection string of libpq.
    """

    errors = (psycopg.Error,)
    advice = (
        "events of other processes come up to a second late; set PAGEFAULT_DB__LISTEN_URL to an "
        "address of the database without a pooler, or with one in session mode"
    )

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo

    @asynccontextmanager
    async def sender(self) -> AsyncIterator[Send]:
        """See NotificationChannel."""
        async with await self._connect() as connection:
            # Behind a pooler, notifications of another client may arrive here. Without a handler,
            # the driver would collect them.
            connection.add_notify_handler(lambda _: None)
            yield lambda payload: connection.execute(_NOTIFY, (CHANNEL, payload))

    @asynccontextmanager
    async def receiver(self) -> AsyncIterator[Receive]:
        """See NotificationChannel."""
        async with await self._connect() as connection:
            with anyio.fail_after(REPLY_SECONDS):
                await connection.execute(f"LISTEN {CHANNEL}".encode())
            yield partial(_receive, connection)

    async def _connect(self) -> psycopg.AsyncConnection:
        return await psycopg.AsyncConnection.connect(
            self._conninfo,
            autocommit=True,
            prepare_threshold=None,
            fallback_application_name="pagefault",
            connect_timeout=round(REPLY_SECONDS),
        )


async def _receive(connection: psycopg.AsyncConnection, seconds: float) -> AsyncIterator[str]:
    async for notification in connection.notifies(timeout=seconds):
        yield notification.payload
    # A query detects connections that were lost without a reset.
    with anyio.fail_after(REPLY_SECONDS):
        await connection.execute("SELECT 1")
