"""A broker for several processes, which notify each other over a channel.

After commits, a process sends the numbers of its newest events over a separate connection; the
numbers of a few milliseconds are sent together. A notification is lost if the process ends before
sending it, or if a receiver has no connection. So each process with listeners also reads the log
every second. Each process regularly sends a notification to itself, to detect whether notifications
arrive.
"""

import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import monotonic
from typing import Protocol, TypeVar

import anyio
import structlog

from app.services.concurrency.background import log_failures, run_beside
from app.services.events.broker import EventBroker, Listener

CHANNEL = "pagefault_events"
"""The name of the channel."""
REPLY_SECONDS = 5.0
"""The timeout for replies of the server that delivers notifications."""

_log = structlog.get_logger(__name__)
# The time for which announced events are collected for one notification.
_COLLECT_SECONDS = 0.005
# The interval in which the log is read without notifications.
_POLL_SECONDS = 1.0
# The interval in which a process checks that its own notifications arrive.
_CHECK_SECONDS = 5.0
# The timeout for a notification of this process to itself in `check_channel`.
_ECHO_SECONDS = 1.0
# The pauses before connecting again, which are doubled after each failure.
_FIRST_PAUSE_SECONDS = 0.2
_MAX_PAUSE_SECONDS = 5.0
# PostgreSQL accepts at most 7,999 bytes.
_MAX_PAYLOAD_CHARS = 7_000
# A notification about more projects names none of them; see `_build_payload`.
_MAX_PROJECTS = 1_000
_Connection = TypeVar("_Connection")

Send = Callable[[str], Awaitable[object]]
"""Sends a text to all receivers."""
Receive = Callable[[float], AsyncIterator[str]]
"""Yields the texts that arrive within a number of seconds."""


class NotificationChannel(Protocol):
    """A connection to a server that delivers short texts to all processes, also to the sender."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions for a connection that is lost or refused."""

    @property
    def advice(self) -> str:
        """Advice to the operator if notifications do not arrive."""

    def sender(self) -> AbstractAsyncContextManager[Send]:
        """Connect, and yield the function that sends."""

    def receiver(self) -> AbstractAsyncContextManager[Receive]:
        """Connect, and yield the function that receives."""


async def check_channel(channel: NotificationChannel) -> bool:
    """Return whether a notification of this process to itself arrives within a second."""
    payload = json.dumps({"sender": secrets.token_hex(8), "newest": {}})
    async with channel.receiver() as receive, channel.sender() as send:
        await send(payload)
        async for arrived in receive(_ECHO_SECONDS):
            if arrived == payload:
                return True
    return False


class NotificationBroker(EventBroker):
    """An event broker that wakes listeners when notifications of other processes arrive.

    Args:
        channel: The channel of the notifications.
    """

    def __init__(self, channel: NotificationChannel) -> None:
        super().__init__()
        self._channel = channel
        self._id = secrets.token_hex(8)
        self._unsent: dict[str, int] = {}
        self._has_unsent = anyio.Event()
        self._has_own_arrived = False

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Send notifications of announced events while the block runs."""
        keep_sending = self._keep_connected(
            self._channel.sender, self._send, "no notifications sent"
        )
        async with run_beside(keep_sending):
            yield

    def announce(self, project_id: str, number: int) -> None:
        """Wake the listener, and queue a notification for other processes."""
        super().announce(project_id, number)
        if len(self._unsent) < _MAX_PROJECTS:
            self._unsent[project_id] = max(number, self._unsent.get(project_id, 0))
        self._has_unsent.set()

    async def _watch_other_processes(self, listener: Listener) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_wake_regularly, listener)
            await self._keep_connected(
                self._channel.receiver,
                lambda receive: self._listen(receive, listener),
                "no notifications received",
            )

    async def _keep_connected(
        self,
        connect: Callable[[], AbstractAsyncContextManager[_Connection]],
        use: Callable[[_Connection], Awaitable[None]],
        failure: str,
    ) -> None:
        """Connect and use the connection. After a failure, log it, pause, and connect again.

        Args:
            connect: Opens a connection.
            use: Uses the connection until it fails.
            failure: The message for the log.
        """
        pause = _FIRST_PAUSE_SECONDS
        while True:
            began = monotonic()
            with log_failures(_log, failure, expected=(*self._channel.errors, TimeoutError)):
                async with connect() as connection:
                    await use(connection)
            if monotonic() - began > _MAX_PAUSE_SECONDS:
                pause = _FIRST_PAUSE_SECONDS
            await anyio.sleep(pause)
            pause = min(pause * 2, _MAX_PAUSE_SECONDS)

    async def _send(self, send: Send) -> None:
        while True:
            await self._has_unsent.wait()
            await anyio.sleep(_COLLECT_SECONDS)
            self._has_unsent = anyio.Event()
            unsent, self._unsent = self._unsent, {}
            try:
                with anyio.fail_after(REPLY_SECONDS):
                    await send(self._build_payload(unsent))
            except BaseException:
                # They are sent again over the next connection.
                self._unsent = unsent | self._unsent
                self._has_unsent.set()
                raise

    def _build_payload(self, newest: Mapping[str, int]) -> str:
        """Return the JSON of a notification.

        If it would be too long, `newest` is null, and receivers read the log of all projects.

        Args:
            newest: The number of the newest event of each project.
        """
        if len(newest) < _MAX_PROJECTS:
            payload = json.dumps({"sender": self._id, "newest": newest})
            if len(payload) <= _MAX_PAYLOAD_CHARS:
                return payload
        return json.dumps({"sender": self._id, "newest": None})

    async def _listen(self, receive: Receive, listener: Listener) -> None:
        try:
            # Notifications may have been lost while there was no connection.
            listener.wake(None, None)
            while True:
                # A notification without projects is sent, too, and must arrive within the interval.
                self._has_own_arrived = False
                self._has_unsent.set()
                async for payload in receive(_CHECK_SECONDS):
                    self._handle_payload(payload, listener)
                self._set_notified(is_notified=self._has_own_arrived)
        finally:
            self.is_notified = False

    def _handle_payload(self, payload: str, listener: Listener) -> None:
        """Wake a listener. Any client of the server may have sent the payload, so it is checked."""
        match _parse(payload):
            case {"sender": sender, "newest": newest}:
                if sender == self._id:
                    self._has_own_arrived = True
                    self._set_notified(is_notified=True)
                elif isinstance(newest, dict):
                    for project_id, number in newest.items():
                        listener.wake(project_id, number if isinstance(number, int) else None)
                else:
                    listener.wake(None, None)

    def _set_notified(self, *, is_notified: bool) -> None:
        """Store whether notifications arrive, and log a change."""
        if is_notified and not self.is_notified:
            _log.info("notifications arrive again")
        elif self.is_notified and not is_notified:
            _log.warning(
                "notifications do not arrive",
                advice=self._channel.advice,
            )
        self.is_notified = is_notified


def _parse(payload: str) -> object:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return None


async def _wake_regularly(listener: Listener) -> None:
    while True:
        await anyio.sleep(_POLL_SECONDS)
        if listener.has_streams:
            listener.wake(None, None)
