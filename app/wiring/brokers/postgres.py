"""A broker for several processes over one PostgreSQL server, by LISTEN and NOTIFY.

A transaction that sends a notification locks the notifications of the whole server until its
commit. So no transaction with events sends one: each process sends the numbers of its newest events
afterwards, all at once, on a connection of its own.

A notification is a hint. It is lost if the process dies before it is sent, or if a listener has no
connection at that moment, and never arrives through a pooler that changes connections between
transactions. So the log is read every second as well, while there are listeners. Each process also
notifies itself regularly, to find out whether notifications arrive.
"""

import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from time import monotonic

import anyio
import psycopg
import structlog

from app.services.concurrency.background import log_failures, run_beside
from app.services.events.broker import EventBroker, Listener

_log = structlog.get_logger(__name__)
_SEND_SECONDS = 0.005
_POLL_SECONDS = 1.0
_CHECK_SECONDS = 5.0
_ANSWER_SECONDS = 5.0
_FIRST_PAUSE_SECONDS = 0.2
_MAX_PAUSE_SECONDS = 5.0
_EXPECTED = (psycopg.Error, TimeoutError)
# PostgreSQL takes 7,999 bytes.
_MAX_PAYLOAD_CHARS = 7_000
_MAX_PROJECTS = 1_000
# A hint that a crash of the server loses does not wait for its disk. Nothing stays set.
_NOTIFY = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, %s)"


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
        self._id = secrets.token_hex(8)
        self._unsent: dict[str, int] = {}
        self._is_due = anyio.Event()
        self._is_echoed = False

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Notify other processes of announced events for the length of the block."""
        async with run_beside(self._keep_connected(self._send, "no notifications sent")):
            yield

    def announce(self, project_id: str, number: int) -> None:
        """See EventBroker."""
        super().announce(project_id, number)
        # A notification of so many projects has no names.
        if len(self._unsent) < _MAX_PROJECTS:
            self._unsent[project_id] = max(number, self._unsent.get(project_id, 0))
        self._is_due.set()

    async def _hear_others(self, listener: Listener) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_poll, listener)
            await self._keep_connected(
                lambda connection: self._listen(connection, listener), "no notifications received"
            )

    async def _keep_connected(
        self, use: Callable[[psycopg.AsyncConnection], Awaitable[None]], failure: str
    ) -> None:
        """Use a connection, and another one after each failure, which is logged."""
        pause = _FIRST_PAUSE_SECONDS
        while True:
            began = monotonic()
            with log_failures(_log, failure, expected=_EXPECTED):
                async with await psycopg.AsyncConnection.connect(
                    self._conninfo,
                    autocommit=True,
                    prepare_threshold=None,
                    connect_timeout=round(_ANSWER_SECONDS),
                ) as connection:
                    await use(connection)
            if monotonic() - began > _MAX_PAUSE_SECONDS:
                pause = _FIRST_PAUSE_SECONDS
            await anyio.sleep(pause)
            pause = min(pause * 2, _MAX_PAUSE_SECONDS)

    async def _send(self, connection: psycopg.AsyncConnection) -> None:
        # Behind a pooler it may receive what another client listens for, which would be kept.
        connection.add_notify_handler(lambda _: None)
        while True:
            await self._is_due.wait()
            await anyio.sleep(_SEND_SECONDS)
            self._is_due = anyio.Event()
            unsent, self._unsent = self._unsent, {}
            try:
                with anyio.fail_after(_ANSWER_SECONDS):
                    await connection.execute(_NOTIFY, (self._channel, self._payload(unsent)))
            except BaseException:
                # Sent when there is a connection again.
                self._unsent = unsent | self._unsent
                self._is_due.set()
                raise

    def _payload(self, newest: Mapping[str, int]) -> str:
        """Return a notification of the newest event of each project, or of all if that is long."""
        if len(newest) < _MAX_PROJECTS:
            payload = json.dumps({"sender": self._id, "newest": newest})
            if len(payload) <= _MAX_PAYLOAD_CHARS:
                return payload
        return json.dumps({"sender": self._id, "newest": None})

    async def _listen(self, connection: psycopg.AsyncConnection, listener: Listener) -> None:
        try:
            with anyio.fail_after(_ANSWER_SECONDS):
                await connection.execute(f"LISTEN {self._channel}".encode())
            # Notifications were missed until now.
            listener.wake(None, None)
            while True:
                self._is_echoed = False
                self._is_due.set()
                async for notification in connection.notifies(timeout=_CHECK_SECONDS):
                    self._take(notification.payload, listener)
                self._note(is_notified=self._is_echoed)
                # A query finds connections that were lost without a reset.
                with anyio.fail_after(_ANSWER_SECONDS):
                    await connection.execute("SELECT 1")
        finally:
            self.is_notified = False

    def _take(self, payload: str, listener: Listener) -> None:
        """Wake a listener. Any client of the database may have sent the notification."""
        match _parse(payload):
            case {"sender": sender, "newest": newest}:
                if sender == self._id:
                    self._is_echoed = True
                    self._note(is_notified=True)
                elif isinstance(newest, dict):
                    for project_id, number in newest.items():
                        listener.wake(project_id, number if isinstance(number, int) else None)
                else:
                    listener.wake(None, None)

    def _note(self, *, is_notified: bool) -> None:
        """Keep whether notifications arrive, and log a change."""
        if is_notified and not self.is_notified:
            _log.info("notifications arrive again")
        elif self.is_notified and not is_notified:
            _log.warning(
                "notifications do not arrive",
                advice="events of other processes come up to a second late; set "
                "PAGEFAULT_DB__LISTEN_URL to an address of the database without a pooler, or with "
                "one in session mode",
            )
        self.is_notified = is_notified


def _parse(payload: str) -> object:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return None


async def _poll(listener: Listener) -> None:
    while True:
        await anyio.sleep(_POLL_SECONDS)
        if listener.is_any:
            listener.wake(None, None)
