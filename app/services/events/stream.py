"""One stream of events: first from the log, then from the feed of its project.

A stream begins after the position that the listener requests. If events after that position were
removed from the log, the stream begins at the end of the log, with a *reset*: the listener has to
load its data again.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic

import anyio
import structlog

from app.models.event import EndReason, LoggedEvent
from app.services.access.callers import Caller
from app.services.events.feeds import ProjectFeed
from app.services.events.subscriptions import EventItem, Subscription, make_event_item
from app.stores.records.events import EventRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.events import ResetEvent, encode_event
from pagefault_dialects.errors import PagefaultError

_log = structlog.get_logger(__name__)
_AT_ONCE = 100
# The limit of one read of a listener that has reconnected.
_AT_ONCE_BYTES = 1024 * 1024
_STALLED_SECONDS = 30.0
_STUCK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a stream."""

    number: int
    """The number, in the log of the project, of the event before the first one."""
    position: int
    """The same position for the listener: a `seq` of the session, or a number of the project."""
    is_reset: bool = False
    """True if the start is not the requested position."""


def find_start(unit: UnitOfWork, session_id: str | None, after: int | None) -> Start:
    """Return the start of the stream of a session or of the project, in a snapshot.

    Args:
        unit: A snapshot of the records.
        session_id: The session; `None` for all events of the project.
        after: The position before the first event; `None` for new events only.
    """
    if session_id is not None:
        return _find_session_start(unit, session_id, after)
    # The positions in a project are the numbers of its log.
    bounds = unit[EventRecords].bounds()
    if after is not None and bounds.removed <= after <= bounds.last:
        return Start(after, after)
    return Start(bounds.last, bounds.last, is_reset=after is not None)


def _find_session_start(unit: UnitOfWork, session_id: str, after: int | None) -> Start:
    """Return the start of the stream of a session. Its positions are `seq`.

    Since the listener was connected last, the session may have been deleted, and another session
    created with the same id. Then the listener gets the event of the deletion. If its position may
    belong to either session, it gets a reset.
    """
    bounds = unit[EventRecords].bounds()
    session = unit[SessionRecords].find(session_id)
    last_seq = session.last_seq if session else 0
    if after is None:
        return Start(bounds.last, last_seq)
    number = _find_number(unit, session_id, after)
    if session is not None and _is_ambiguous(unit, session_id, after, number):
        return Start(bounds.last, last_seq, is_reset=True)
    if number is None and after == last_seq:
        # The listener has received all events, even if they were removed from the log.
        number = _find_number_before_deletion(unit, session_id, after) if session is None else None
        return Start(bounds.last if number is None else number, after)
    if number is None and after > last_seq:
        number = _find_number_before_deletion(unit, session_id, after)
    if number is None:
        return Start(bounds.last, last_seq, is_reset=True)
    return Start(number, after)


def _find_number(unit: UnitOfWork, session_id: str, after: int) -> int | None:
    """Return the number in the log before the first event with a `seq` above `after`."""
    if after and (number := unit[EventRecords].newest_with(session_id, after)) is not None:
        return number
    number = unit[EventRecords].newest_with(session_id, after + 1)
    return None if number is None else number - 1


def _is_ambiguous(unit: UnitOfWork, session_id: str, after: int, number: int | None) -> bool:
    """Return True if `after` may be a `seq` of an earlier, deleted session with the same id.

    Args:
        unit: A snapshot of the records.
        session_id: An existing session.
        after: The position.
        number: The number of the event at this position; `None` if the session has none.
    """
    if not after:
        return False
    ended = unit[EventRecords].first_deletion_from(session_id, after)
    if ended is None:
        # The event of the deletion may have been removed from the log, but not the last `seq`.
        return after <= unit[SessionRecords].last_seq_of_deleted(session_id)
    # A stream that begins at the deletion receives its event.
    return number is not None and ended < number


def _find_number_before_deletion(unit: UnitOfWork, session_id: str, after: int) -> int | None:
    """Return the number in the log before the deletion of a session, after a position."""
    number = unit[EventRecords].deletion_after(session_id, after)
    return None if number is None else number - 1


@dataclass(eq=False, slots=True)
class EventStream:
    """The events of one listener."""

    records: Records
    feed: ProjectFeed
    """The feed of the project, which fills the queue of the subscription."""
    caller: Caller
    start: Start
    subscription: Subscription
    readers: anyio.CapacityLimiter
    """Limits the number of streams that read the log at the same time."""
    abort: Callable[[], object] | None = None
    """Ends the connection if the listener reads nothing. The sender of the response sets it."""
    _number: int = field(init=False)
    _delivered_at: float | None = None

    def __post_init__(self) -> None:
        self._number = self.start.number

    async def items(self) -> AsyncGenerator[EventItem, None]:
        """Yield the events after the start, until the stream is ended."""
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for item in batch:
                    self._delivered_at = monotonic()
                    yield item
                    if self.subscription.is_cut:
                        return

    async def batches(self) -> AsyncGenerator[Sequence[EventItem], None]:
        """Yield the same events in batches, each with the events since the batch before it."""
        try:
            async with aclosing(self._batches()) as batches:
                async for batch in batches:
                    self._delivered_at = monotonic()
                    yield batch
                    self._delivered_at = None
                    if self.subscription.is_cut:
                        return
        except PagefaultError as exc:
            _log.warning("event stream ended", code=exc.problem_code)
            self.cut("failed")

    @property
    def ended_by(self) -> EndReason | None:
        """The reason of the end of the stream; `None` if it has not ended."""
        return self.subscription.ended_by

    def cut(self, reason: EndReason) -> None:
        """End the stream. Events that are not delivered yet are dropped."""
        self.subscription.cut(reason)

    def stuck_since(self, now: float) -> float | None:
        """Return the time of the last delivery, if the listener has not read it for 2 seconds."""
        delivered_at = self._delivered_at
        if delivered_at is None or now - delivered_at < _STUCK_SECONDS:
            return None
        return delivered_at

    def is_stalled(self, now: float) -> bool:
        """Return True if the listener has not read its last delivery for 30 seconds."""
        return self._delivered_at is not None and now - self._delivered_at > _STALLED_SECONDS

    async def _batches(self) -> AsyncGenerator[Sequence[EventItem], None]:
        if self.start.is_reset:
            yield [_make_reset(self.start)]
        async for item in self._read_logged():
            yield [item]
        try:
            while items := await self.subscription.take():
                # Events that were read from the log are skipped.
                batch = [item for item in items if item.number > self._number]
                self._number = max(self._number, items[-1].number)
                if batch:
                    yield batch
        finally:
            self.feed.detach(self.subscription)

    async def _read_logged(self) -> AsyncGenerator[EventItem, None]:
        """Yield events of the log up to the position of the feed, then join the feed."""
        while not self.subscription.is_cut and self._number < (feed_position := self.feed.position):
            reset, logged = await self._read()
            if reset is not None:
                self._number = reset.number
                yield _make_reset(reset)
                continue
            for event in map(encode_event, logged):
                self._number = event.number
                yield make_event_item(event, self.subscription.session_id)
            if not logged:
                self._number = max(self._number, feed_position)
        # No other task runs between the last check of the position and this line: no gap.
        self.feed.attach(self.subscription)

    async def _read(self) -> tuple[Start | None, Sequence[LoggedEvent]]:
        """Return the next events of the log, and a new start if events were removed before."""
        async with self.readers:
            # If a read is cancelled, its database connection cannot be used again.
            with anyio.CancelScope(shield=True):
                read = await self.records.read_snapshot(self.caller.project_id, self._read_log)
        return read

    def _read_log(self, unit: UnitOfWork) -> tuple[Start | None, Sequence[LoggedEvent]]:
        new_start = None
        if self._number < unit[EventRecords].bounds().removed:
            new_start = find_start(unit, self.subscription.session_id, None)
        logged = unit[EventRecords].after(
            self._number,
            session_id=self.subscription.session_id,
            limit=_AT_ONCE,
            max_bytes=_AT_ONCE_BYTES,
        )
        return new_start, logged


def _make_reset(start: Start) -> EventItem:
    data = ResetEvent(reason="position-not-kept", position=start.position)
    return EventItem(start.number, start.position, "reset", data.encode())
