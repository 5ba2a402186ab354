"""The log of events of a project, numbered without gaps in the order of the commits.

As its last statement, a transaction increments the counter in the row of its project, which locks
the row until the commit. So the next number is taken only after that commit, and a reader that sees
a number sees all numbers below it:

    write A   …changes…  number 7  commit
    write B         …changes…  (waits)  number 8  commit

If a transaction is rolled back, the next one takes its number. The row of an event does not have
the record that was written: it refers to the row of the record, its subject.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    Integer,
    Row,
    Select,
    String,
    Text,
    bindparam,
    cast,
    func,
)

from app.models.event import CONTENT_OF, EventType, LogBounds, LoggedEvent, NewEvent
from app.models.message import sent_message
from app.models.stored_interaction import StoredInteraction
from app.stores.records.columns import microseconds
from app.stores.records.history import MAX_BYTES, limit_row_bytes, stored_interaction
from app.stores.records.scope import read_row, values_of
from app.stores.records.statements import (
    AnyTable,
    is_among,
    scoped_delete,
    scoped_select,
    scoped_update,
    with_inserts,
)
from app.stores.records.tables import events, interactions, messages, projects, tool_results
from app.stores.records.unit_of_work import Repository, UnitOfWork
from pagefault_dialects.json.values import json_text

_LOCK_TIMEOUT_MS = 10_000
_DELETION: EventType = "session:deleted"
# The table of the record that an event of this type has as its subject, and the id column.
_SUBJECT_TABLES: dict[EventType, tuple[AnyTable, str]] = {
    "llmservice:toolResult": (tool_results, "tool_result_id"),
    "message:created": (messages, "message_id"),
    "interaction:created": (interactions, "interaction_id"),
    "interaction:answered": (interactions, "interaction_id"),
}

_INCREMENT = (
    scoped_update(projects)
    .values(last_event=projects.c.last_event + bindparam("count"))
    .returning(projects.c.last_event)
)
# On PostgreSQL, one statement sets the lock timeout, increments the counter and inserts the
# events from JSON, because each statement is a round trip.
_SET_TIMEOUT = func.set_config("lock_timeout", bindparam("timeout", type_=String()), True)
_INCREMENTED = _INCREMENT.where(_SET_TIMEOUT.is_not(None)).cte("numbered")
_ROWS = (
    func.json_to_recordset(cast(bindparam("rows", type_=String()), JSON))
    .table_valued(
        Column("index", BigInteger),
        *(Column(name, Text) for name in ("type", "subject_id", "session_id", "members")),
        *(Column(name, BigInteger) for name in ("seq", "created_at", "size_bytes")),
        name="new_events",
    )
    .render_derived(with_types=True)
)
_WRITE = with_inserts(
    _INCREMENTED,
    [
        (
            events,
            {
                **{column.key: column for column in _ROWS.c if column.key != "index"},
                "number": _INCREMENTED.c.last_event - bindparam("count") + _ROWS.c["index"],
                "members": func.convert_to(_ROWS.c.members, "UTF8"),
            },
        )
    ],
    rows=_ROWS,
)
_BOUNDS = scoped_select(projects)


def _select_after(*by: str) -> Select[Any]:
    """Select the events after a number, in order."""
    is_after = events.c.number > bindparam("after")
    listed = scoped_select(events, by=by).where(is_after).order_by(events.c.number)
    return listed.limit(bindparam("limit", type_=Integer()))


def _select_number(
    number: ColumnElement[int], *conditions: ColumnElement[bool], by: Sequence[str] = ()
) -> Select[Any]:
    """Select the number, or the lowest or highest number, of events that meet conditions."""
    return scoped_select(events, number.label("number"), by=by).where(*conditions)


_NEWEST, _OLDEST = func.max(events.c.number), func.min(events.c.number)
_IS_DELETION = events.c.type == _DELETION
_AFTER, _AFTER_IN_SESSION = _select_after(), _select_after("session_id")
_NEWEST_WITH = _select_number(_NEWEST, by=["session_id", "seq"])
_DELETION_AFTER = _select_number(
    _NEWEST, events.c.seq > bindparam("after_seq"), _IS_DELETION, by=["session_id"]
)
_FIRST_DELETION_FROM = _select_number(
    _OLDEST, events.c.seq >= bindparam("from_seq"), _IS_DELETION, by=["session_id"]
)
_NEWEST_BEFORE = _select_number(_NEWEST, events.c.created_at < bindparam("before"))
_EXPIRED = (
    _select_number(events.c.number, events.c.number <= bindparam("newest"))
    .order_by(events.c.number)
    .limit(bindparam("limit", type_=Integer()))
)
_REMOVE_SESSION = scoped_delete(events, by=["session_id"]).where(~_IS_DELETION)
_REMOVE_UP_TO = scoped_delete(events).where(events.c.number <= bindparam("up_to"))
_SET_REMOVED = (
    scoped_update(projects)
    .where(projects.c.events_removed < bindparam("up_to"))
    .values(events_removed=bindparam("up_to"))
)


def _select_content(event_type: EventType, table: AnyTable, key: str) -> Select[Any]:
    # The event of an output does not contain the input of the interaction, which may be large.
    names = [key, "output"] if event_type == "interaction:answered" else table.c.keys()
    return scoped_select(table, *(table.c[name] for name in names)).where(
        is_among(table.c[key], "values")
    )


_SELECT_CONTENTS = {
    kind: (_select_content(kind, table, key), key) for kind, (table, key) in _SUBJECT_TABLES.items()
}


class EventRecords(Repository):
    """The log of events of one project."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._new_events = unit.new_events

    def flush(self, *, lock_timeout_ms: int = _LOCK_TIMEOUT_MS) -> int | None:
        """Write the new events, as the last statement before a commit.

        Args:
            lock_timeout_ms: How long to wait for a transaction that has numbered other events of
                the project and is about to commit. Callers that write events of several projects
                order them by project id, so that two callers do not wait for each other.

        Returns:
            The number of the last event, `None` if there are no new events.
        """
        if not self._new_events:
            return None
        count, is_postgresql = len(self._new_events), self._scope.is_postgresql
        if is_postgresql:
            rows = json.dumps([_recordset_row(*event) for event in enumerate(self._new_events, 1)])
            row = self._scope.first(_WRITE, count=count, timeout=str(lock_timeout_ms), rows=rows)
        else:
            row = self._scope.first(_INCREMENT, count=count)
        if row is None:
            raise RuntimeError("an event was written to a project that does not exist")
        last: int = row.last_event
        if not is_postgresql:
            numbered = [
                values_of(event, number=number, members=json_text(dict(event.members)).encode())
                for number, event in enumerate(self._new_events, last - count + 1)
            ]
            self._scope.insert_new(events, numbered)
        self._new_events.clear()
        return last

    def read_bounds(self) -> LogBounds:
        """Return the numbers of the newest removed event and of the newest event."""
        row = self._scope.first(_BOUNDS)
        return LogBounds(row.events_removed, row.last_event) if row else LogBounds(0, 0)

    def list_after(
        self,
        number: int,
        *,
        session_id: str | None = None,
        limit: int,
        max_bytes: int = MAX_BYTES,
    ) -> Sequence[LoggedEvent]:
        """Return up to `limit` events after a number, in order, optionally of one session.

        The list ends with the event whose record makes it exceed `max_bytes`. Events whose record
        was deleted are omitted.
        """
        if session_id is None:
            rows = self._scope.all(_AFTER, after=number, limit=limit)
        else:
            values = {"session_id": session_id, "after": number, "limit": limit}
            rows = self._scope.all(_AFTER_IN_SESSION, **values)
        rows = limit_row_bytes(rows, max_bytes)
        contents = self._read_contents(rows)
        return [
            read_row(LoggedEvent, row, content=contents.get((row.type, row.subject_id)))
            for row in rows
            if row.type not in CONTENT_OF or (row.type, row.subject_id) in contents
        ]

    def find_newest_with(self, session_id: str, seq: int) -> int | None:
        """Return the number of the newest stored event of a session that has this `seq`."""
        return self._read_number(_NEWEST_WITH, session_id=session_id, seq=seq)

    def find_deletion_after(self, session_id: str, seq: int) -> int | None:
        """Return the number of a session's newest deletion whose `seq` is above this one."""
        return self._read_number(_DELETION_AFTER, session_id=session_id, after_seq=seq)

    def find_first_deletion_from(self, session_id: str, seq: int) -> int | None:
        """Return the number of a session's oldest deletion whose `seq` is this one or above."""
        return self._read_number(_FIRST_DELETION_FROM, session_id=session_id, from_seq=seq)

    def remove_session(self, session_id: str) -> None:
        """Remove a session's events, except those of its deletions."""
        self._scope.run(_REMOVE_SESSION, session_id=session_id)

    def find_newest_expired(self, *, before: datetime, keep: int) -> int | None:
        """Return the number of the last event that `expire` removes, or `None`.

        Events expire if they are older than `before`, or not among the newest `keep`.
        """
        bounds = self.read_bounds()
        too_old = self._read_number(_NEWEST_BEFORE, before=before) or 0
        newest = min(max(bounds.last - keep, too_old), bounds.last)
        return newest if newest > bounds.removed else None

    def expire(self, *, before: datetime, keep: int, limit: int) -> int:
        """Remove up to `limit` of the oldest events; return how many were removed.

        Args:
            before: Events older than this are removed.
            keep: Events that are not among the newest `keep` are removed.
            limit: The maximum number of events that are removed.
        """
        newest = self.find_newest_expired(before=before, keep=keep)
        if newest is None:
            return 0
        rows = self._scope.all(_EXPIRED, newest=newest, limit=limit)
        # Numbers may be missing, because the events of a deleted session are removed with it. So if
        # there are no further rows, the removed range still ends with `newest`.
        up_to = rows[-1].number if len(rows) == limit else newest
        removed = self._scope.run(_REMOVE_UP_TO, up_to=up_to)
        # This changes nothing if another process has removed later events meanwhile.
        self._scope.run(_SET_REMOVED, up_to=up_to)
        return removed

    def _read_number(self, statement: Select[Any], **values: object) -> int | None:
        number: int | None = self._scope.execute(statement, **values).scalar()
        return number

    def _read_contents(
        self, rows: Sequence[Row[Any]]
    ) -> dict[tuple[EventType, str], bytes | StoredInteraction]:
        """Return the records of events, by the type of the event and the id of the record."""
        found: dict[tuple[EventType, str], bytes | StoredInteraction] = {}
        for event_type, (statement, key) in _SELECT_CONTENTS.items():
            ids = [row.subject_id for row in rows if row.type == event_type]
            for row in self._scope.rows_in_batches(statement, ids):
                found[event_type, getattr(row, key)] = _content_of_row(event_type, row)
        return found


def _recordset_row(index: int, event: NewEvent) -> dict[str, object]:
    """Return an event as a row of `_ROWS`, whose columns have JSON types."""
    created_at = microseconds(event.created_at)
    return values_of(
        event, index=index, created_at=created_at, members=json_text(dict(event.members))
    )


def _content_of_row(event_type: EventType, row: Row[Any]) -> bytes | StoredInteraction:
    member = CONTENT_OF[event_type]
    if member == "message":
        return sent_message(row.message, dialect=row.dialect, role=row.role)
    return stored_interaction(row) if member == "interaction" else getattr(row, member)
