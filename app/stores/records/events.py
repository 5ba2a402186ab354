"""The log of events: numbers without gaps, in the order of the commits.

A number is taken at the very end of a transaction, from the row of its project, which the
transaction holds from then on until it is over. So whoever takes a later number has waited for the
commit of the earlier ones, and a reader that sees a number sees all below it:

    write A   …changes…  number 7  commit
    write B         …changes…  (waits)  number 8  commit

A number that is taken and rolled back is taken again by the next one. An event says where its
record is stored; the record is not stored twice.
"""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    Row,
    String,
    Text,
    bindparam,
    cast,
    func,
)

from app.models.event import EventType, NewEvent
from app.models.logged_event import CONTENT_OF, LogBounds, LoggedEvent
from app.models.message import sent_message
from app.models.stored_interaction import StoredInteraction
from app.stores.records.columns import microseconds
from app.stores.records.history import MOST_BYTES, as_many_as_fit, stored_interaction
from app.stores.records.scope import (
    AnyTable,
    read_row,
    scoped_update,
    values_of,
    with_inserts,
)
from app.stores.records.tables import events, interactions, messages, projects, tool_results
from app.stores.records.unit_of_work import Repository, UnitOfWork
from pagefault_dialects.json.values import json_text

CHANNEL = "pagefault_events"
"""The channel on which PostgreSQL sends `<number> <project>` of a project's newest event."""

_PATIENCE_MS = 10_000
_DELETION: EventType = "session:deleted"
_TABLES: dict[EventType, tuple[AnyTable, str]] = {
    "llmservice:toolResult": (tool_results, "tool_result_id"),
    "message:created": (messages, "message_id"),
    "interaction:created": (interactions, "interaction_id"),
    "interaction:answered": (interactions, "interaction_id"),
}

_NUMBER = (
    scoped_update(projects)
    .values(last_event=projects.c.last_event + bindparam("count"))
    .returning(projects.c.last_event)
)
# On PostgreSQL it is one statement for all of them: each is an answer to be waited for. It sets how
# long the row may be waited for, has the server tell the number with the commit, and reads what the
# events have of their own from one JSON text.
_TOLD = func.pg_notify(
    CHANNEL, cast(projects.c.last_event, String) + " " + projects.c.project_id
).label("told")
_PATIENCE = func.set_config("lock_timeout", bindparam("patience", type_=String()), True)
_NUMBERED = _NUMBER.where(_PATIENCE.is_not(None)).returning(_TOLD).cte("numbered")
_GIVEN = (
    func.json_to_recordset(cast(bindparam("given", type_=String()), JSON))
    .table_valued(
        Column("place", BigInteger),
        *(Column(name, Text) for name in ("type", "subject_id", "session_id", "members")),
        *(Column(name, BigInteger) for name in ("seq", "created_at", "size_bytes")),
        name="given",
    )
    .render_derived(with_types=True)
)
_WRITE = with_inserts(
    _NUMBERED,
    [
        (
            events,
            {
                **{column.key: column for column in _GIVEN.c if column.key != "place"},
                "number": _NUMBERED.c.last_event - bindparam("count") + _GIVEN.c.place,
                "members": func.convert_to(_GIVEN.c.members, "UTF8"),
            },
        )
    ],
)


class EventRecords(Repository):
    """The events of one project."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._noted = unit.new_events

    def flush(self, *, patience_ms: int = _PATIENCE_MS) -> int | None:
        """Write what was noted; returns the number of the last, `None` if nothing was.

        To be called by those who commit alone, as the last thing before they do.

        Args:
            patience_ms: How long whoever numbers others is waited for, who commits next. It is for
                those who lock rows of projects in one order.
        """
        if not self._noted:
            return None
        count, is_postgresql = len(self._noted), self._scope.is_postgresql
        if is_postgresql:
            given = json.dumps([_recordset_row(*each) for each in enumerate(self._noted, 1)])
            row = self._scope.change(_WRITE, count=count, patience=str(patience_ms), given=given)
        else:
            row = self._scope.change(_NUMBER, count=count)
        if row is None:
            raise RuntimeError("there is a project before anything is written to it")
        last: int = row.last_event
        if not is_postgresql:
            rows = [
                values_of(event, number=number, members=json_text(dict(event.members)).encode())
                for number, event in enumerate(self._noted, last - count + 1)
            ]
            self._scope.insert_new(events, rows)
        self._noted.clear()
        return last

    def bounds(self) -> LogBounds:
        """Return which numbers are kept."""
        row = self._scope.find(projects)
        return LogBounds(row.events_removed, row.last_event) if row else LogBounds(0, 0)

    def after(
        self,
        number: int,
        *,
        session_id: str | None = None,
        limit: int,
        most_bytes: int = MOST_BYTES,
    ) -> Sequence[LoggedEvent]:
        """Return up to `limit` events behind a number, of one session if it is given, in order.

        They end with the one that passes `most_bytes`. One whose record was deleted in this
        moment is left out.
        """
        statement = self._scope.select(events, events.c.number > number)
        if session_id is not None:
            statement = statement.where(events.c.session_id == session_id)
        rows = self._scope.all(statement.order_by(events.c.number).limit(limit))
        rows = as_many_as_fit(rows, most_bytes)
        contents = self._contents(rows)
        return [
            read_row(LoggedEvent, row, content=contents.get((row.type, row.subject_id)))
            for row in rows
            if row.type not in CONTENT_OF or (row.type, row.subject_id) in contents
        ]

    def newest_with(self, session_id: str, seq: int) -> int | None:
        """Return the number of the newest event of a session that has this `seq`, if it is kept."""
        return self._number(func.max, events.c.session_id == session_id, events.c.seq == seq)

    def deletion_after(self, session_id: str, seq: int) -> int | None:
        """Return the number of the newest deletion of a session that took a `seq` above this."""
        return self._number(
            func.max,
            events.c.session_id == session_id,
            events.c.seq > seq,
            events.c.type == _DELETION,
        )

    def first_deletion_from(self, session_id: str, seq: int) -> int | None:
        """Return the number of the oldest deletion of a session that took at least this `seq`."""
        return self._number(
            func.min,
            events.c.session_id == session_id,
            events.c.seq >= seq,
            events.c.type == _DELETION,
        )

    def remove_session(self, session_id: str) -> None:
        """Remove what a session's events say; those of its earlier deletions stay."""
        self._scope.remove(events, events.c.session_id == session_id, events.c.type != _DELETION)

    def newest_expired(self, *, before: datetime, keep: int) -> int | None:
        """Return the number up to which events are before a moment, or beyond the newest `keep`.

        `None` if there are none.
        """
        bounds = self.bounds()
        too_old = self._number(func.max, events.c.created_at < before) or 0
        newest = min(max(bounds.last - keep, too_old), bounds.last)
        return newest if newest > bounds.removed else None

    def expire(self, *, before: datetime, keep: int, limit: int) -> int:
        """Remove up to `limit` of the oldest events, and say how many.

        Args:
            before: Those from before this moment are removed.
            keep: Those below the newest `keep` are removed.
            limit: How many at the most.
        """
        newest = self.newest_expired(before=before, keep=keep)
        if newest is None:
            return 0
        number = events.c.number
        oldest = self._scope.select(events, number <= newest, columns=[number])
        rows = self._scope.all(oldest.order_by(number).limit(limit))
        # Of a session that was deleted, the numbers alone are left to be passed over.
        upto = rows[-1].number if len(rows) == limit else newest
        removed = self._scope.remove(events, events.c.number <= upto)
        # Another sweep may have gone further meanwhile: what it removed stays removed.
        behind = self._scope.update(projects).where(projects.c.events_removed < upto)
        self._scope.run(behind.values(events_removed=upto))
        return removed

    def _number(
        self, pick: Callable[[Any], ColumnElement[Any]], *conditions: ColumnElement[bool]
    ) -> int | None:
        """Return the largest or smallest number among some events, `None` if there are none."""
        picked = pick(events.c.number).label("number")
        row = self._scope.first(self._scope.select(events, *conditions, columns=[picked]))
        return row.number if row else None

    def _contents(
        self, rows: Sequence[Row[Any]]
    ) -> dict[tuple[EventType, str], bytes | StoredInteraction]:
        found: dict[tuple[EventType, str], bytes | StoredInteraction] = {}
        for event_type, (table, key) in _TABLES.items():
            ids = [row.subject_id for row in rows if row.type == event_type]
            statement = self._scope.select(table)
            if event_type == "interaction:answered":
                # The question may be as large as a page of events, and is not shown.
                statement = statement.with_only_columns(table.c[key], table.c.output)
            for row in self._scope.rows_with(table.c[key], ids, statement):
                found[event_type, row._mapping[key]] = _content(event_type, row)
        return found


def _recordset_row(place: int, event: NewEvent) -> dict[str, object]:
    """Return an event as the recordset has it."""
    created_at = microseconds(event.created_at)
    return values_of(
        event, place=place, created_at=created_at, members=json_text(dict(event.members))
    )


def _content(event_type: EventType, row: Row[Any]) -> bytes | StoredInteraction:
    member = CONTENT_OF[event_type]
    if member == "message":
        return sent_message(row.message, dialect=row.dialect, role=row.role)
    return stored_interaction(row) if member == "interaction" else getattr(row, member)
