"""One stream of events for one listener. `streams.py` opens, counts and ends the streams.

A stream starts after the position that the listener requests. It first reads events from the log in
the database, and then receives new events from the feed of its project. If events after the
requested position were removed from the log, the stream starts at the end of the log, with a
*reset* event: the listener has missed events, and has to load its data again.
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
# The limits of one read of the log.
_READ_EVENTS = 100
_READ_BYTES = 1024 * 1024
# A listener that has not read a delivery for 2 seconds may be cut if memory is short, and after 30
# seconds in any case.
_STUCK_SECONDS = 2.0
_STALLED_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class StreamStart:
    """The point after which a stream starts."""

    number: int
    """The number of the last event before the stream, in the log of the project."""
    position: int
    """The position of this event for the listener: a `seq` of the session if the stream is of one
    session, or `number` if it is of the project."""
    is_reset: bool = False
    """True if the stream cannot start at the requested position."""


def find_start(unit: UnitOfWork, session_id: str | None, after: int | None) -> StreamStart:
    """Find where in the log a stream starts.

    Args:
        unit: A snapshot of the records.
        session_id: The session of the stream; `None` for all events of the project.
        after: The last position that the listener has received: a `seq` of the session, or a number
            in the log of the project. `None` for new events only.
    """
    if session_id is not None:
        return _find_session_start(unit, session_id, after)
    # The positions in a project are the numbers of its log.
    bounds = unit[EventRecords].read_bounds()
    if after is not None and bounds.removed <= after <= bounds.last:
        return StreamStart(after, after)
    return StreamStart(bounds.last, bounds.last, is_reset=after is not None)


def _find_session_start(unit: UnitOfWork, session_id: str, after: int | None) -> StreamStart:
    """Find where in the log the stream of a session starts; `after` is a `seq`.

    Since the listener was last connected, the session may have been deleted, and another session
    created with the same id. Then the listener gets the event of the deletion. If `after` may be a
    `seq` of either session, the listener gets a reset.
    """
    bounds = unit[EventRecords].read_bounds()
    session = unit[SessionRecords].find(session_id)
    last_seq = session.last_seq if session else 0
    if after is None:
        return StreamStart(bounds.last, last_seq)
    number = _find_number(unit, session_id, after)
    if session is not None and _is_ambiguous(unit, session_id, after, number):
        return StreamStart(bounds.last, last_seq, is_reset=True)
    if number is None and after == last_seq:
        # The listener has received all events, even if they were removed from the log.
        number = _find_number_before_deletion(unit, session_id, after) if session is None else None
        return StreamStart(bounds.last if number is None else number, after)
    if number is None and after > last_seq:
        number = _find_number_before_deletion(unit, session_id, after)
    if number is None:
        return StreamStart(bounds.last, last_seq, is_reset=True)
    return StreamStart(number, after)


def _find_number(unit: UnitOfWork, session_id: str, after: int) -> int | None:
    """Return the number in the log before the first event with a `seq` above `after`."""
    if after and (number := unit[EventRecords].find_newest_with(session_id, after)) is not None:
        return number
    number = unit[EventRecords].find_newest_with(session_id, after + 1)
    return None if number is None else number - 1


def _is_ambiguous(unit: UnitOfWork, session_id: str, after: int, number: int | None) -> bool:
    """Return True if `after` may be a `seq` of a deleted session with the same id.

    Args:
        unit: A snapshot of the records.
        session_id: A session that exists.
        after: The last `seq` that the listener has received.
        number: The number in the log of the event with this `seq`; `None` if there is none.
    """
    if not after:
        return False
    deletion_number = unit[EventRecords].find_first_deletion_from(session_id, after)
    if deletion_number is None:
        # The event of the deletion may have been removed from the log. The last `seq` of the
        # deleted session is kept.
        return after <= unit[SessionRecords].last_seq_of_deleted(session_id)
    # If the deletion is after `number`, the listener receives its event, so nothing is ambiguous.
    return number is not None and deletion_number < number


def _find_number_before_deletion(unit: UnitOfWork, session_id: str, after: int) -> int | None:
    """Return the number in the log before the newest deletion of a session.

    Returns:
        `None` if the log has no deletion of the session whose `seq` is above `after`.
    """
    number = unit[EventRecords].find_deletion_after(session_id, after)
    return None if number is None else number - 1


@dataclass(eq=False, slots=True)
class EventStream:
    """The stream of events of one listener."""

    records: Records
    """Reads the log."""
    feed: ProjectFeed
    """Puts new events of the project into the queue of the subscription."""
    caller: Caller
    """The listener. If its access is revoked, the stream is ended."""
    start: StreamStart
    subscription: Subscription
    readers: anyio.CapacityLimiter
    """Limits the number of streams that read the log at the same time."""
    abort: Callable[[], object] | None = None
    """Ends the connection if the listener reads nothing. The sender of the response sets it."""
    _number: int = field(init=False)
    """The number of the last event that was yielded or skipped."""
    _delivered_at: float | None = None
    """The time of a delivery that the listener has not read yet."""

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
        """Yield the same events in batches, for a sender that writes several events at once."""
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
        """Return the time of the last delivery, if the listener has not read it for 2 seconds.

        Args:
            now: The time of `time.monotonic`.
        """
        delivered_at = self._delivered_at
        if delivered_at is None or now - delivered_at < _STUCK_SECONDS:
            return None
        return delivered_at

    def is_stalled(self, now: float) -> bool:
        """Return True if the listener has not read the last delivery for 30 seconds.

        Args:
            now: The time of `time.monotonic`.
        """
        return self._delivered_at is not None and now - self._delivered_at > _STALLED_SECONDS

    async def _batches(self) -> AsyncGenerator[Sequence[EventItem], None]:
        """Yield the events of the log one by one, then those of the feed in batches."""
        if self.start.is_reset:
            yield [_make_reset_item(self.start)]
        async for item in self._read_log_items():
            yield [item]
        try:
            while items := await self.subscription.take():
                # Events that were already read from the log are skipped.
                batch = [item for item in items if item.number > self._number]
                self._number = max(self._number, items[-1].number)
                if batch:
                    yield batch
        finally:
            self.feed.detach(self.subscription)

    async def _read_log_items(self) -> AsyncGenerator[EventItem, None]:
        """Yield the events of the log up to the position of the feed, then join the feed."""
        while not self.subscription.is_cut and self._number < (feed_position := self.feed.position):
            async with self.readers:
                # If a read is cancelled, its database connection cannot be used again.
                with anyio.CancelScope(shield=True):
                    reset, logged = await self.records.read_snapshot(
                        self.caller.project_id, self._read_log
                    )
            if reset is not None:
                self._number = reset.number
                yield _make_reset_item(reset)
                continue
            for event in map(encode_event, logged):
                self._number = event.number
                yield make_event_item(event, self.subscription.session_id)
            if not logged:
                self._number = max(self._number, feed_position)
        # There is no `await` between the last check of the position and this line, so no event is
        # missed.
        self.feed.attach(self.subscription)

    def _read_log(self, unit: UnitOfWork) -> tuple[StreamStart | None, Sequence[LoggedEvent]]:
        """Return the next events of the log, and a new start if some of them were removed."""
        new_start = None
        if self._number < unit[EventRecords].read_bounds().removed:
            new_start = find_start(unit, self.subscription.session_id, None)
        logged = unit[EventRecords].list_after(
            self._number,
            session_id=self.subscription.session_id,
            limit=_READ_EVENTS,
            max_bytes=_READ_BYTES,
        )
        return new_start, logged


def _make_reset_item(start: StreamStart) -> EventItem:
    data = ResetEvent(reason="position-not-kept", position=start.position)
    return EventItem(start.number, start.position, "reset", data.encode())
