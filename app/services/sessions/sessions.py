"""Sessions: creates, lists, marks and deletes them, and measures their storage use."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256

from app.errors import StoreUnavailableError
from app.models.event import NewEvent
from app.models.identity import (
    decode_time_cursor,
    digest_query,
    encode_time_cursor,
    utc_now,
)
from app.models.search_entry import EntrySource
from app.models.session import (
    DeletedSession,
    Session,
    SessionFilter,
    SessionMarks,
    SessionUse,
)
from app.services.pages.accesses import AccessCounts
from app.services.requests.session_keys import forget_session
from app.services.requests.validation import WriteCondition, require_found
from app.stores.records.events import EventRecords
from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.session_resources import SessionResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.sessions import build_deleted_entries, encode_session
from app.words.entry_texts import entry_texts, first_line


@dataclass(frozen=True, slots=True)
class SessionWithUse:
    """A session and its storage use."""

    session: Session
    use: SessionUse
    is_new: bool = False
    """True if this request created the session."""


@dataclass(frozen=True, slots=True, eq=False)
class Sessions:
    """Creates, lists, marks and deletes sessions."""

    records: Records
    accesses: AccessCounts
    """Counts reads of pages; the counts of deleted pages are removed."""

    async def ensure(
        self, project_id: str, session_id: str, *, condition: WriteCondition
    ) -> SessionWithUse:
        """Create an empty session unless it exists.

        Raises:
            PreconditionFailedError: The condition does not hold; nothing was stored.
            StoreUnavailableError: The database did not respond; nothing was stored.
        """
        now = utc_now()

        def ensure(unit: UnitOfWork) -> SessionWithUse:
            is_new = unit[SessionRecords].add(Session(session_id, now, now, 0))
            session = unit[SessionRecords].find_and_lock(session_id)
            if session is None:
                # Another request deleted it at the same time.
                raise StoreUnavailableError("database")
            use = find_uses(unit, [session_id])[session_id]
            condition(None if is_new else sha256(encode_session(session, use)).hexdigest())
            return SessionWithUse(session, use, is_new)

        return await self.records.write(project_id, ensure)

    async def get(self, project_id: str, session_id: str) -> SessionWithUse:
        """Return the session, with its counts and sizes.

        Raises:
            NotFoundError: The session does not exist.
        """

        def find(unit: UnitOfWork) -> SessionWithUse:
            session = require_found(unit[SessionRecords].find(session_id), "session")
            return SessionWithUse(session, find_uses(unit, [session_id])[session_id])

        return await self.records.read(project_id, find)

    async def mark(
        self,
        project_id: str,
        session_id: str,
        change: Callable[[SessionMarks], SessionMarks],
        *,
        condition: WriteCondition,
    ) -> SessionWithUse:
        """Change the marks of a session. Its position in lists does not change.

        Raises:
            NotFoundError: The session does not exist.
            PreconditionFailedError: The condition does not hold; nothing was stored.
            StoreUnavailableError: The database did not respond; nothing was stored.
        """

        def mark(unit: UnitOfWork) -> SessionWithUse:
            session = require_found(unit[SessionRecords].find_and_lock(session_id), "session")
            use = find_uses(unit, [session_id])[session_id]
            condition(sha256(encode_session(session, use)).hexdigest())
            marked = replace(session, marks=change(session.marks))
            unit[SessionRecords].mark(session_id, marked.marks)
            return SessionWithUse(marked, use)

        return await self.records.write(project_id, mark)

    async def list(
        self, project_id: str, filters: SessionFilter, *, cursor: str | None, limit: int
    ) -> tuple[Sequence[SessionWithUse], str | None]:
        """Return up to `limit` sessions, the one with the latest write first, and the next cursor.

        Args:
            project_id: The caller's project.
            filters: The filters of the list.
            cursor: The cursor of the previous list.
            limit: The maximum number of sessions.

        Raises:
            InvalidCursorError: The cursor is of another list, or of a list with other filters.
        """
        # Newer filters count only if they are set, so that cursors of earlier versions stay valid.
        further = [item for item in (filters.tool, filters.written_within) if item is not None]
        query_digest = digest_query(filters.id_part, filters.pinned, filters.tag, *further)
        since = None
        if filters.written_within is not None:
            since = utc_now() - timedelta(seconds=filters.written_within)
        before = decode_time_cursor("sessions", cursor, query_digest)

        def find(unit: UnitOfWork) -> tuple[Sequence[SessionWithUse], bool]:
            found = unit[SessionRecords].list_sessions(
                filters, before=before, since=since, limit=limit + 1
            )
            sessions = found[:limit]
            uses = find_uses(unit, [session.session_id for session in sessions])
            listed = [SessionWithUse(session, uses[session.session_id]) for session in sessions]
            return listed, len(found) > limit

        listed, has_more = await self.records.read(project_id, find)
        if not has_more:
            return listed, None
        last = listed[-1].session
        return listed, encode_time_cursor(
            "sessions", last.updated_at, last.session_id, query_digest
        )

    async def delete(self, project_id: str, session_id: str) -> DeletedSession:
        """Remove a session with its history and its pages, in one transaction.

        Resources that nothing else uses are removed as well. Their bytes are removed by the next
        sweep.

        Returns:
            The number of removed entries of each kind, and the resources of the session, with the
            other records that use them.

        Raises:
            NotFoundError: The session does not exist.
            StoreUnavailableError: The database did not respond; nothing was removed.
        """

        def delete(unit: UnitOfWork) -> tuple[DeletedSession, Sequence[str]]:
            session = require_found(unit[SessionRecords].find_and_lock(session_id), "session")
            page_ids = unit[PageRecords].remove_session(session_id)
            released = unit[SessionResourceRecords].release(session_id)
            unit[SessionRecords].remove(session_id)
            # The idempotency keys of requests to the session.
            forget_session(unit, session_id)
            unit[EventRecords].remove_session(session_id)
            deleted = DeletedSession(session_id, session.counts, len(page_ids), tuple(released))
            event = NewEvent(
                "session:deleted",
                session_id,
                utc_now(),
                session_id=session_id,
                # The deletion has the last `seq`. A new session with the id starts at 1 again.
                seq=session.last_seq + 1,
                members={"deleted": build_deleted_entries(deleted).to_json_value()},
            )
            unit.add_event(event)
            return deleted, page_ids

        deleted, page_ids = await self.records.write(project_id, delete, is_alone=True)
        for page_id in page_ids:
            self.accesses.forget(project_id, page_id)
        return deleted


def find_uses(unit: UnitOfWork, session_ids: Collection[str]) -> dict[str, SessionUse]:
    """Return the storage use and title of each of at most 1,000 sessions."""
    entries = unit[SessionResourceRecords].find_title_entries(session_ids)
    return {
        session_id: replace(use, title=_make_title(entries.get(session_id, ())))
        for session_id, use in unit[SessionResourceRecords].measure_use(session_ids).items()
    }


def _make_title(entries: Sequence[EntrySource]) -> str | None:
    """Return the first line of a user's text in the first entries of a session."""
    for source in entries:
        texts = entry_texts(source)
        # The title of a message is its role.
        if source.kind == "interaction" or texts.title == "user":
            for text in texts.searchable.text:
                if line := first_line(text):
                    return line
    return None
