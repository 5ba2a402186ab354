"""Sessions and their history."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, bindparam, case

from app.models.identity import new_id
from app.models.message import EntryCounts, EntryKind, HistoryEntry, Session
from app.stores.records.columns import stands_before
from app.stores.records.history import (
    ANSWER,
    INTERACTION,
    MESSAGE,
    PAGE_FAULT,
    TOOL_RESULT,
    HistoryHead,
    Stretch,
    are_entries,
    find_stretch,
    read_entries,
    read_history_head,
)
from app.stores.records.inserts import Offered
from app.stores.records.lookups import Lookup
from app.stores.records.scope import ProjectScope, scoped_select, scoped_update
from app.stores.records.tables import (
    ended_sessions,
    history_entries,
    interactions,
    messages,
    sessions,
    tool_results,
)

__all__ = ["ANSWER", "INTERACTION", "MESSAGE", "PAGE_FAULT", "TOOL_RESULT", "SessionRecords"]

_FIND = Lookup(
    scoped_select(sessions, *sessions.c).where(sessions.c.session_id == bindparam("session_id"))
)

_NUMBER = (
    scoped_update(sessions)
    .where(sessions.c.session_id == bindparam("in_session"))
    .values(last_seq=sessions.c.last_seq + bindparam("count"))
    .returning(sessions.c.last_seq)
)
_APPEND = {
    kind: _NUMBER.values({f"{kind}_count": sessions.c[f"{kind}_count"] + bindparam("count")})
    for kind in (TOOL_RESULT, PAGE_FAULT, MESSAGE, INTERACTION, ANSWER)
}


class SessionRecords:
    """The sessions of one project, and what happened in them."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope

    def enter(self, session_id: str, now: datetime) -> Session:
        """Create the session or find it, and hold its row until the transaction ends.

        Writers of one session pass here one after the other, so what a writer reads next about
        the session cannot change under it.
        """
        row = self._scope.insert_or_touch(
            sessions,
            ["updated_at"],
            session_id=session_id,
            created_at=now,
            updated_at=now,
            last_seq=0,
            incarnation=new_id(),
        )
        return _session(row)

    def add(self, session: Session) -> bool:
        """Store a session as it is, unless there is one; says whether it was stored."""
        return self._scope.insert_if_absent(
            sessions,
            session_id=session.session_id,
            created_at=session.created_at,
            updated_at=session.updated_at,
            last_seq=session.last_seq,
            tool_result_count=session.counts.tool_results,
            page_fault_count=session.counts.page_faults,
            message_count=session.counts.messages,
            interaction_count=session.counts.interactions,
            answer_count=session.counts.answers,
            incarnation=new_id(),
        )

    def append(
        self, session_id: str, kind: EntryKind, entry_id: str, *, size_bytes: int = 0
    ) -> int:
        """Add an entry to the history; returns the `seq` it took: 1, 2, 3 …, without gaps.

        Writes that the history does not show take numbers among these (see `number`).
        `size_bytes` is that of what the entry shows.

        The number is taken inside the transaction, from a row this transaction holds: a rollback
        gives it back, and nobody sees a later one before it.
        """
        row = self._scope.change(_APPEND[kind], in_session=session_id, count=1)
        if row is None:
            raise _not_entered()
        seq: int = row.last_seq
        self._scope.insert(
            history_entries,
            session_id=session_id,
            seq=seq,
            kind=kind,
            entry_id=entry_id,
            size_bytes=size_bytes,
        )
        return seq

    def number(self, session_id: str, *, count: int = 1) -> int:
        """Take the next numbers of a session for writes that its history does not show.

        Returns:
            The first of them; the others follow. They are taken as `append` takes them.
        """
        row = self._scope.change(_NUMBER, in_session=session_id, count=count)
        if row is None:
            raise _not_entered()
        last: int = row.last_seq
        return last - count + 1

    def has_entries(self, session_id: str, *, after_seq: int) -> bool:
        """Whether the history has entries behind a `seq`."""
        return are_entries(self._scope, session_id, after_seq=after_seq)

    def history_head(self, session_id: str) -> HistoryHead | None:
        """How far the history has come, if anything was ever written to the session."""
        return read_history_head(self._scope, session_id)

    def find(self, session_id: str) -> Session | None:
        """The session, if anything was ever written to it."""
        rows = self._scope.look_up(_FIND, session_id=session_id)
        return _session(rows[0]) if rows else None

    def hold(self, session_id: str) -> Session | None:
        """The session, its row held until the transaction ends, so that nobody writes to it."""
        row = self._scope.first(
            self._scope.select(sessions)
            .where(sessions.c.session_id == session_id)
            .with_for_update()
        )
        return _session(row) if row else None

    def page(
        self, *, wanted: str | None, before: tuple[datetime, str] | None, limit: int
    ) -> Sequence[Session]:
        """Up to `limit` sessions, last written to first, behind an (updated_at, id) position.

        Only those whose id has `wanted` in it, in either case, if it is given.
        """
        statement = self._scope.select(sessions)
        if wanted is not None:
            if "\0" in wanted or not wanted.isascii():
                # No id has it. PostgreSQL would refuse the one and find letters by the other (the
                # Kelvin sign is a K to it), SQLite would find everything by the one.
                return []
            statement = statement.where(sessions.c.session_id.icontains(wanted, autoescape=True))
        if before is not None:
            statement = statement.where(
                stands_before(sessions.c.updated_at, sessions.c.session_id, before)
            )
        statement = statement.order_by(sessions.c.updated_at.desc(), sessions.c.session_id.desc())
        return [_session(row) for row in self._scope.all(statement.limit(limit))]

    def entries(self, session_id: str, *, after_seq: int, limit: int) -> Sequence[HistoryEntry]:
        """Up to `limit` entries of the history after a `seq`, in order.

        They end with the one that passes 16 MiB: entries may be that large each.
        """
        return read_entries(self._scope, session_id, after_seq=after_seq, limit=limit)

    def stretch(self, session_id: str, *, after_seq: int, limit: int) -> Stretch:
        """The same entries, found but not read: how large they are is known before they are."""
        return find_stretch(self._scope, session_id, after_seq=after_seq, limit=limit)

    def last_ended(self, session_id: str) -> int:
        """The highest `seq` that a deleted session of this name has taken, 0 if there was none."""
        row = self._scope.first(
            self._scope.select(ended_sessions).where(ended_sessions.c.session_id == session_id)
        )
        return row.last_seq if row else 0

    def remove(self, session_id: str) -> None:
        """Remove a session the caller holds, with its history and everything the history shows.

        Its pages and its links to resources are for the caller to remove before. The numbers it
        has taken are remembered, with that of its deletion: see `last_ended`.
        """
        session = self.find(session_id)
        if session is not None:
            self._scope.insert_or_merge(
                ended_sessions, _highest, session_id=session_id, last_seq=session.last_seq + 1
            )
        for table in (history_entries, tool_results, messages, interactions, sessions):
            self._scope.run(self._scope.delete(table).where(table.c.session_id == session_id))


def _highest(offered: Offered) -> dict[str, ColumnElement[Any]]:
    known = ended_sessions.c.last_seq
    return {"last_seq": case((known > offered.last_seq, known), else_=offered.last_seq)}


def _not_entered() -> RuntimeError:
    return RuntimeError("a session is entered before anything is appended to it")


def _session(row: Row[Any]) -> Session:
    return Session(
        session_id=row.session_id,
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_seq=row.last_seq,
        counts=EntryCounts(
            tool_results=row.tool_result_count,
            page_faults=row.page_fault_count,
            messages=row.message_count,
            interactions=row.interaction_count,
            answers=row.answer_count,
        ),
    )
