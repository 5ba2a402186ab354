"""One stream of events: the log up to its project's feed, and the feed from then on.

So an event comes once and in order, whenever a listener arrives. A stream begins behind the
position it is asked for, or at the end, with a reset.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic

import anyio
import structlog

from app.models.logged_event import EndReason, LoggedEvent
from app.services.access.callers import Caller
from app.services.events.feeds import ProjectFeed
from app.services.events.subscriptions import EventItem, Subscription, event_item_of
from app.stores.records.events import EventRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.events import ResetEvent, event_of
from pagefault_dialects.errors import PagefaultError

_log = structlog.get_logger(__name__)
_AT_ONCE = 100
# For each listener that comes back; the feeds of all of them together read more at once.
_AT_ONCE_BYTES = 1024 * 1024
_STALLED_SECONDS = 30.0
_STUCK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Start:
    """Where a stream begins.

    `number` is that of the event before its first one, and `position` what its listener knows this
    place by. `is_reset` says that it is not the place that was asked for.
    """

    number: int
    position: int
    is_reset: bool = False


def start_of(unit: UnitOfWork, session_id: str | None, after: int | None) -> Start:
    """Return where the stream of a session begins, or of the project; to be asked of a snapshot.

    Args:
        unit: What the log holds.
        session_id: Whose events are wanted, `None` for all.
        after: The position behind which it is to begin, `None` for now.
    """
    if session_id is not None:
        return _start_in_session(unit, session_id, after)
    # The positions in a project are the numbers of its log.
    bounds = unit[EventRecords].bounds()
    if after is not None and bounds.removed <= after <= bounds.last:
        return Start(after, after)
    return Start(bounds.last, bounds.last, is_reset=after is not None)


def _start_in_session(unit: UnitOfWork, session_id: str, after: int | None) -> Start:
    """Return where the stream of a session begins; its positions are the session's `seq`.

    A session may have been deleted since its listener was here, and begun anew: it is told of the
    deletion, or gets a reset where its position could be one of either, however long ago that was.
    """
    bounds = unit[EventRecords].bounds()
    session = unit[SessionRecords].find(session_id)
    last_seq = session.last_seq if session else 0
    if after is None:
        return Start(bounds.last, last_seq)
    number = _number_behind(unit, session_id, after)
    if session is not None and _is_ambiguous(unit, session_id, after, number):
        return Start(bounds.last, last_seq, is_reset=True)
    if number is None and after == last_seq:
        # All there is has been seen, whether the log still knows it or not.
        number = _before_deletion(unit, session_id, after) if session is None else None
        return Start(bounds.last if number is None else number, after)
    if number is None and after > last_seq:
        number = _before_deletion(unit, session_id, after)
    if number is None:
        return Start(bounds.last, last_seq, is_reset=True)
    return Start(number, after)


def _number_behind(unit: UnitOfWork, session_id: str, after: int) -> int | None:
    """Return the number behind which the events with a `seq` above `after` follow without a gap."""
    if after and (number := unit[EventRecords].newest_with(session_id, after)) is not None:
        return number
    number = unit[EventRecords].newest_with(session_id, after + 1)
    return None if number is None else number - 1


def _is_ambiguous(unit: UnitOfWork, session_id: str, after: int, number: int | None) -> bool:
    """Return whether `after` may be a `seq` of an earlier session of this name, ended meanwhile.

    Args:
        unit: What the log holds.
        session_id: A session that is there.
        after: The position.
        number: Where the session itself has it, `None` if it does not.
    """
    if not after:
        return False
    ended = unit[EventRecords].first_deletion_from(session_id, after)
    if ended is None:
        # The log may have forgotten the deletion; what the session has not reached is not kept.
        return after <= unit[SessionRecords].last_ended(session_id)
    # The deletion itself, where its own `seq` is asked for, is seen.
    return number is not None and ended < number


def _before_deletion(unit: UnitOfWork, session_id: str, after: int) -> int | None:
    number = unit[EventRecords].deletion_after(session_id, after)
    return None if number is None else number - 1


@dataclass(eq=False, slots=True)
class EventStream:
    """What one listener gets, from where it begins.

    `abort` may be set by whoever sends: it ends a connection that does not take anything.
    """

    records: Records
    feed: ProjectFeed
    caller: Caller
    start: Start
    subscription: Subscription
    readers: anyio.CapacityLimiter
    abort: Callable[[], object] | None = None
    _number: int = field(init=False)
    _handed_at: float | None = None

    def __post_init__(self) -> None:
        self._number = self.start.number

    async def items(self) -> AsyncGenerator[EventItem, None]:
        """Yield everything behind the start, as it comes, until the listener is cut off."""
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for item in batch:
                    self._handed_at = monotonic()
                    yield item
                    if self.subscription.is_cut:
                        return

    async def batches(self) -> AsyncGenerator[Sequence[EventItem], None]:
        """Yield the same, what has come while the one before was taken together."""
        try:
            async with aclosing(self._batches()) as batches:
                async for batch in batches:
                    self._handed_at = monotonic()
                    yield batch
                    self._handed_at = None
                    if self.subscription.is_cut:
                        return
        except PagefaultError as exc:
            _log.warning("event stream ended", code=exc.problem_code)
            self.cut("failed")

    @property
    def ended_by(self) -> EndReason | None:
        """Why the stream has ended, if it has."""
        return self.subscription.ended_by

    def cut(self, reason: EndReason) -> None:
        """End the stream behind what it has delivered."""
        self.subscription.cut(reason)

    def stuck_since(self, now: float) -> float | None:
        """Return since when the listener has not taken what it was handed, if for a while."""
        handed_at = self._handed_at
        if handed_at is None or now - handed_at < _STUCK_SECONDS:
            return None
        return handed_at

    def is_stalled(self, now: float) -> bool:
        """Return whether the listener has not taken what it was handed for too long."""
        return self._handed_at is not None and now - self._handed_at > _STALLED_SECONDS

    async def _batches(self) -> AsyncGenerator[Sequence[EventItem], None]:
        if self.start.is_reset:
            yield [_reset(self.start)]
        async for item in self._logged():
            yield [item]
        try:
            while taken := await self.subscription.take():
                # What it has read in the log itself is not told twice.
                batch = [item for item in taken if item.number > self._number]
                self._number = max(self._number, taken[-1].number)
                if batch:
                    yield batch
        finally:
            self.feed.detach(self.subscription)

    async def _logged(self) -> AsyncGenerator[EventItem, None]:
        """Yield what the log holds up to where the feed is; then the feed is joined."""
        while not self.subscription.is_cut and self._number < (reached := self.feed.position):
            anew, logged = await self._read()
            if anew is not None:
                self._number = anew.number
                yield _reset(anew)
                continue
            for event in map(event_of, logged):
                self._number = event.number
                yield event_item_of(event, self.subscription.session_id)
            if not logged:
                self._number = max(self._number, reached)
        # Nothing comes between the last look at the feed's position and this.
        self.feed.attach(self.subscription)

    async def _read(self) -> tuple[Start | None, Sequence[LoggedEvent]]:
        """Return what the log holds behind this place; where to begin anew, if it is not kept."""
        async with self.readers:
            # Given up midway, for a listener that goes, a read would cost the connection it is made
            # on.
            with anyio.CancelScope(shield=True):
                read = await self.records.read_snapshot(self.caller.project_id, self._look)
        return read

    def _look(self, unit: UnitOfWork) -> tuple[Start | None, Sequence[LoggedEvent]]:
        anew = None
        if self._number < unit[EventRecords].bounds().removed:
            anew = start_of(unit, self.subscription.session_id, None)
        logged = unit[EventRecords].after(
            self._number,
            session_id=self.subscription.session_id,
            limit=_AT_ONCE,
            most_bytes=_AT_ONCE_BYTES,
        )
        return anew, logged


def _reset(start: Start) -> EventItem:
    said = ResetEvent(reason="position-not-kept", position=start.position)
    return EventItem(start.number, start.position, "reset", said.encode())
