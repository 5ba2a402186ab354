"""Sessions, and the numbers (`seq`) of the writes to each session."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Executable, Integer, Row, Select, bindparam, case, func

from app.models.identity import new_id
from app.models.session import (
    ANSWER,
    INTERACTION,
    MESSAGE,
    PAGE_FAULT,
    TOOL_RESULT,
    EntryKind,
    ForkOrigin,
    HistoryCounts,
    Session,
    SessionFilter,
    SessionMarks,
    ToolSessions,
)
from app.stores.records.columns import sort_newest_first
from app.stores.records.scope import NewRow, read_row, values_of
from app.stores.records.statements import (
    AnyTable,
    Excluded,
    Lookup,
    overwrite,
    scoped_delete,
    scoped_select,
    scoped_update,
    with_inserts,
)
from app.stores.records.tables import (
    ended_sessions,
    history_entries,
    interactions,
    messages,
    session_tools,
    sessions,
    tool_results,
)
from app.stores.records.unit_of_work import Repository
from pagefault_dialects.json.values import json_text, parse_stored_json

FIND_SESSION = Lookup(scoped_select(sessions, by=["session_id"]))
_LOCK_SESSION = scoped_select(sessions, by=["session_id"]).with_for_update()
_LOCK_SESSION_KEY = scoped_select(sessions, by=["session_id"]).with_for_update(
    read=True, key_share=True
)
_LIST = scoped_select(sessions)
# In an update, a parameter with the name of a column sets the column. So the parameter of the
# condition has another name.
_MARK = scoped_update(sessions, by={"session_id": "in_session"})
# The table has the ids of deleted sessions.
_FIND_DELETED = scoped_select(ended_sessions, by=["session_id"])
_REMOVE = [
    scoped_delete(table, by=["session_id"])
    for table in (history_entries, tool_results, messages, interactions, sessions)
]
_TAKE_NUMBERS = (
    scoped_update(sessions, by={"session_id": "in_session"})
    .values(last_seq=sessions.c.last_seq + bindparam("count"))
    .returning(sessions.c.last_seq)
)
_CALLED_TOOLS = (
    scoped_select(session_tools, session_tools.c.tool_name, func.count().label("sessions"))
    .where(session_tools.c.tool_name > bindparam("after"))
    .group_by(session_tools.c.tool_name)
    .order_by(session_tools.c.tool_name)
    .limit(bindparam("limit", type_=Integer()))
)
_KINDS: Sequence[EntryKind] = (TOOL_RESULT, PAGE_FAULT, MESSAGE, INTERACTION, ANSWER)
# The columns of the fields of `HistoryCounts`, in their order.
_COUNTS = [f"{kind}_count" for kind in _KINDS]
# By the kind of an entry: the statement that increments `last_seq` of the session, and the number
# of its entries of this kind.
_APPEND = {
    kind: _TAKE_NUMBERS.values({count: sessions.c[count] + bindparam("count")})
    for kind, count in zip(_KINDS, _COUNTS, strict=True)
}


@cache
def _append_rows(kind: EntryKind, *rows: tuple[AnyTable, tuple[str, ...]]) -> Select[Any]:
    """Increment the last number of a session, and insert rows with the new one. PostgreSQL only."""
    numbered = _APPEND[kind].cte("numbered")
    inserts = []
    for table, names in rows:
        values = {
            name: bindparam(_parameter(table, name), type_=table.c[name].type) for name in names
        }
        inserts.append((table, {**values, "seq": numbered.c.last_seq}))
    return with_inserts(numbered, inserts)


def _parameter(table: AnyTable, name: str) -> str:
    return f"{table.name}_{name}"


class SessionRecords(Repository):
    """The sessions of one project, and the numbers of the writes to each."""

    def ensure(self, session_id: str, now: datetime) -> Session:
        """Create the session, or set its `updated_at`; lock its row, and return it.

        The lock lasts until the transaction ends. Until then, no other transaction changes the
        session.
        """
        row = self._scope.insert_or_merge(
            sessions,
            overwrite("updated_at"),
            session_id=session_id,
            created_at=now,
            updated_at=now,
            last_seq=0,
            # Distinguishes this session from deleted sessions with the same id.
            incarnation=new_id(),
        )
        return _read_session(row)

    def add(self, session: Session) -> bool:
        """Store a session unless its id exists; return whether it was stored."""
        origin = session.forked_from
        forked_from = json_text(values_of(origin)) if origin else None
        values = values_of(session, incarnation=new_id(), forked_from=forked_from)
        del values["counts"], values["marks"]
        counts = zip(_COUNTS, values_of(session.counts).values(), strict=True)
        marks = _mark_values(session.marks)
        return self._scope.insert_if_absent(sessions, **values, **dict(counts), **marks)

    def append(
        self,
        session_id: str,
        kind: EntryKind,
        entry_id: str,
        *,
        size_bytes: int = 0,
        row: NewRow | None = None,
    ) -> int:
        """Add an entry to the history; return its `seq`: 1, 2, 3 …, without gaps.

        Writes that are not entries take numbers from the same sequence (see `take_numbers`). The
        sequence is a counter in the row of the session, which this transaction has locked. So a
        rollback releases the number, and later numbers are committed after this one.

        Args:
            session_id: The session.
            kind: The kind of the entry.
            entry_id: The id of the entry's record: of the tool result, the message, etc.
            size_bytes: The size of the record.
            row: The row of the record, to be inserted with the `seq` of the entry; `None` if the
                caller inserts it.
        """
        entry = {"session_id": session_id, "kind": kind, "entry_id": entry_id}
        rows = [NewRow(history_entries, {**entry, "size_bytes": size_bytes})]
        rows += [row] if row else []
        if self._scope.is_postgresql:
            # All rows are inserted in one statement, because each statement is a round trip.
            statement = _append_rows(kind, *((item.table, tuple(item.values)) for item in rows))
            values = {
                _parameter(item.table, name): value
                for item in rows
                for name, value in item.values.items()
            }
            return self._run_numbering(statement, session_id, 1, **values)
        seq = self._run_numbering(_APPEND[kind], session_id, 1)
        for item in rows:
            self._scope.insert_new(item.table, [{**item.values, "seq": seq}])
        return seq

    def take_numbers(self, session_id: str, *, count: int = 1) -> int:
        """Take the next numbers of a session, for writes that are not entries of its history.

        Returns:
            The first of the numbers.
        """
        return self._run_numbering(_TAKE_NUMBERS, session_id, count) - count + 1

    def _run_numbering(
        self, statement: Executable, session_id: str, count: int, **values: object
    ) -> int:
        """Execute a statement that takes numbers of a session; return the last of them.

        Raises:
            RuntimeError: There is no such session.
        """
        row = self._scope.first(statement, in_session=session_id, count=count, **values)
        if row is None:
            raise RuntimeError("call `ensure` for the session before appending to it")
        return int(row.last_seq)

    def find(self, session_id: str) -> Session | None:
        """Return the session; `None` if it does not exist."""
        rows = self._scope.look_up(FIND_SESSION, session_id=session_id)
        return _read_session(rows[0]) if rows else None

    def find_and_lock(self, session_id: str) -> Session | None:
        """Return the session, and lock its row until the transaction ends."""
        row = self._scope.first(_LOCK_SESSION, session_id=session_id)
        return _read_session(row) if row else None

    def mark(self, session_id: str, marks: SessionMarks) -> None:
        """Replace the marks (pinned, tags, note) of a session that the caller has locked."""
        self._scope.run(_MARK, in_session=session_id, **_mark_values(marks))

    def prevent_deletion(self, session_id: str) -> None:
        """Lock a session against deletion, but not against writers, until the transaction ends."""
        self._scope.first(_LOCK_SESSION_KEY, session_id=session_id)

    def list_sessions(
        self,
        session_filter: SessionFilter,
        *,
        before: tuple[datetime, str] | None,
        since: datetime | None = None,
        limit: int,
    ) -> Sequence[Session]:
        """Return up to `limit` sessions, the one with the latest write first.

        Args:
            session_filter: The filter. Its `written_within` is ignored: the caller converts this
                duration to `since`.
            before: The (updated_at, id) of the last session of the previous list.
            since: If not `None`, sessions whose latest write is earlier are omitted.
            limit: The maximum number of sessions.
        """
        statement, id_part = _LIST, session_filter.id_part
        if session_filter.pinned is not None:
            statement = statement.where(sessions.c.pinned == session_filter.pinned)
        if session_filter.tag is not None:
            # The column has a JSON list. A tag in quotes matches only a whole tag, because tags
            # have no quotes. They have no capital letters either, whose case SQLite would ignore.
            statement = statement.where(
                sessions.c.tags.contains(json_text(session_filter.tag), autoescape=True)
            )
        if session_filter.tool is not None:
            called = scoped_select(session_tools, session_tools.c.session_id).where(
                session_tools.c.tool_name == session_filter.tool
            )
            statement = statement.where(sessions.c.session_id.in_(called))
        if since is not None:
            statement = statement.where(sessions.c.updated_at >= since)
        if id_part is not None:
            if "\0" in id_part or not id_part.isascii():
                # No id has such characters. NUL would be an error on PostgreSQL, and match every id
                # on SQLite. PostgreSQL would treat the Kelvin sign as the letter K.
                return []
            statement = statement.where(sessions.c.session_id.icontains(id_part, autoescape=True))
        timestamp, identity = sessions.c.updated_at, sessions.c.session_id
        listed = sort_newest_first(statement, timestamp, identity, before=before, limit=limit)
        return [_read_session(row) for row in self._scope.all(listed)]

    def called_tools(self, *, after: str, limit: int) -> Sequence[ToolSessions]:
        """Return up to `limit` tools that sessions have called, sorted by name.

        Only names after `after` are returned, with the number of sessions that called each tool.
        """
        rows = self._scope.all(_CALLED_TOOLS, after=after, limit=limit)
        return [ToolSessions(row.tool_name, row.sessions) for row in rows]

    def last_seq_of_deleted(self, session_id: str) -> int:
        """Return the highest `seq` of deleted sessions with this id, 0 if there was none."""
        row = self._scope.first(_FIND_DELETED, session_id=session_id)
        return row.last_seq if row else 0

    def remove(self, session_id: str) -> None:
        """Delete a session that the caller has locked, with its history and all records in it.

        The caller removes the pages and the links to resources first. The `seq` of the deletion is
        stored: see `last_seq_of_deleted`.
        """
        session = self.find(session_id)
        if session is not None:
            self._scope.insert_or_merge(
                ended_sessions, _keep_highest, session_id=session_id, last_seq=session.last_seq + 1
            )
        for statement in _REMOVE:
            self._scope.run(statement, session_id=session_id)


def _keep_highest(excluded: Excluded) -> dict[str, ColumnElement[Any]]:
    stored = ended_sessions.c.last_seq
    return {"last_seq": case((stored > excluded.last_seq, stored), else_=excluded.last_seq)}


def _mark_values(marks: SessionMarks) -> dict[str, object]:
    tags = json_text(list(marks.tags)) if marks.tags else None
    return {"pinned": marks.pinned, "tags": tags, "note": marks.note}


def _read_session(row: Row[Any]) -> Session:
    counts = HistoryCounts(*(getattr(row, name) for name in _COUNTS))
    origin = parse_stored_json(row.forked_from.encode()) if row.forked_from else None
    forked_from = ForkOrigin(**origin) if origin else None
    tags = parse_stored_json(row.tags.encode()) if row.tags else ()
    marks = SessionMarks(row.pinned, tuple(tags), row.note)
    return read_row(Session, row, counts=counts, forked_from=forked_from, marks=marks)
