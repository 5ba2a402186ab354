"""Where a stream begins: behind the position it is asked for, or at the end, with a reset."""

from dataclasses import dataclass

from app.stores.records import UnitOfWork


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
    """Where the stream of a session begins, or of the project; to be asked of a snapshot.

    Args:
        unit: What the log holds.
        session_id: Whose events are wanted, `None` for all.
        after: The position behind which it is to begin, `None` for now.
    """
    if session_id is None:
        return _start_in_project(unit, after)
    return _start_in_session(unit, session_id, after)


def _start_in_project(unit: UnitOfWork, after: int | None) -> Start:
    """Where the stream of a project begins; its positions are the numbers of the log."""
    bounds = unit.events.bounds()
    if after is None:
        return Start(bounds.last, bounds.last)
    if bounds.removed <= after <= bounds.last:
        return Start(after, after)
    return Start(bounds.last, bounds.last, is_reset=True)


def _start_in_session(unit: UnitOfWork, session_id: str, after: int | None) -> Start:
    """Where the stream of a session begins; its positions are the session's `seq`.

    A session may have been deleted since its listener was here, and begun anew: it is told of the
    deletion, or gets a reset where its position could be one of either, however long ago that was.
    """
    bounds = unit.events.bounds()
    session = unit.sessions.find(session_id)
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
    """The number behind which the events with a `seq` above `after` follow without a gap."""
    if after:
        number = unit.events.newest_with(session_id, after)
        if number is not None:
            return number
    number = unit.events.newest_with(session_id, after + 1)
    return None if number is None else number - 1


def _is_ambiguous(unit: UnitOfWork, session_id: str, after: int, number: int | None) -> bool:
    """Whether `after` may be a `seq` of an earlier session of this name, that ended meanwhile.

    Args:
        unit: What the log holds.
        session_id: A session that is there.
        after: The position.
        number: Where the session itself has it, `None` if it does not.
    """
    if not after:
        return False
    ended = unit.events.first_deletion_from(session_id, after)
    if ended is None:
        # The log may have forgotten the deletion; what the session has not reached is not kept.
        return after <= unit.sessions.last_ended(session_id)
    # The deletion itself, where its own `seq` is asked for, is seen.
    return number is not None and ended < number


def _before_deletion(unit: UnitOfWork, session_id: str, after: int) -> int | None:
    number = unit.events.deletion_after(session_id, after)
    return None if number is None else number - 1
