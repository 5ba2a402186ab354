"""Writes forks: copies the beginning of a session to a session with another id."""

from app.errors import ConflictError, NotFoundError
from app.models.event import NewEvent
from app.models.identity import utc_now
from app.models.session import ForkOrigin, Session
from app.stores.records.frontier_moves import FrontierMoveRecords
from app.stores.records.frontiers import FrontierRecords
from app.stores.records.history import SessionHistory
from app.stores.records.session_copies import LARGEST_SEQ, SessionCopyRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.sessions import build_copied_entries, build_fork_source
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.frontier import StoredFrontier


def find_origin(unit: UnitOfWork, session_id: str, up_to: int) -> ForkOrigin:
    """Return the origin of a fork: the session to copy, and the last entry to copy.

    Raises:
        NotFoundError: The session does not exist.
        InvalidPayloadError: The session has no entry `up_to`, or has too many entries to be copied.
    """
    head = unit[SessionHistory].find_head(session_id)
    if head is None:
        raise NotFoundError("session")
    if up_to > head.last_seq:
        raise InvalidPayloadError(
            f"The newest entry of the session has the number {head.last_seq}.",
            faults=[Fault("/upTo", f"is above {head.last_seq}")],
        )
    if up_to > LARGEST_SEQ:
        raise InvalidPayloadError(
            f"Entries above number {LARGEST_SEQ} cannot be copied. Export the session, and import "
            "the bundle into another project.",
            faults=[Fault("/upTo", f"is above {LARGEST_SEQ}")],
        )
    return ForkOrigin(session_id, up_to, head.incarnation)


def write_fork(unit: UnitOfWork, session_id: str, up_to: int, fork_id: str) -> Session:
    """Copy the entries of a session up to the entry `up_to` to a new session.

    The caller's transaction writes nothing else. Pages are not copied: the id of a page is unique
    in its project. Frontiers are copied up to the last copied entry, with the hashes of the
    messages that were rendered last. So a rendering of the fork equals a rendering of the session
    up to that entry.

    Raises:
        ConflictError: Another session has the id `fork_id`.
        NotFoundError, InvalidPayloadError: See `find_origin`.
    """
    unit[SessionRecords].prevent_deletion(session_id)
    origin = find_origin(unit, session_id, up_to)
    now = utc_now()
    counts = unit[SessionCopyRecords].measure(session_id, up_to).counts
    session = Session(fork_id, now, now, up_to, counts, origin)
    if not unit[SessionRecords].add(session):
        raise fork_exists_error(fork_id)
    unit[SessionCopyRecords].copy(session_id, up_to, fork_id)
    for stored in unit[FrontierRecords].all_of(session_id):
        copied = StoredFrontier(stored.name, stored.frontier.up_to(up_to), stored.sent, version=1)
        unit[FrontierRecords].put(fork_id, copied, now, replaces=None)
        move = unit[FrontierMoveRecords].find_newest(fork_id, stored.name)
        previous = move.levels if move else copied.frontier
        unit[FrontierMoveRecords].add(fork_id, previous, copied, up_to)
    event = NewEvent(
        "session:forked",
        fork_id,
        now,
        session_id=fork_id,
        seq=up_to,
        members={
            "forkedFrom": build_fork_source(origin).to_json_value(),
            "copied": build_copied_entries(counts).to_json_value(),
        },
    )
    unit.add_event(event)
    return session


def fork_exists_error(fork_id: str) -> ConflictError:
    """Return the error for a fork whose id another session has."""
    return ConflictError(
        f"There is a session with the id {fork_id} in this project already. Take another id, or "
        "delete that session first. Nothing was stored.",
        code="session-exists",
    )
