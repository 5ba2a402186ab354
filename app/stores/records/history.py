"""Reads the history of a session: batches of consecutive entries, and the records of entries.

The record of an entry is a tool result, a message or an interaction. A history only grows at its
end, and is deleted as a whole. Entries, tool results and messages never change; an interaction gets
its output once. So while an entry exists, the entries before it are the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Row, bindparam, case, func, or_

from app.models.message import StoredEntry, StoredHistoryMessage, StoredMessage
from app.models.session import ANSWER, INTERACTION, MESSAGE, PAGE_FAULT, TOOL_RESULT, EntryKind
from app.models.stored_interaction import StoredAnswer, StoredInteraction
from app.stores.records.answered_calls import call_columns, call_fields
from app.stores.records.scope import NewRow, ProjectScope, read_row, values_of
from app.stores.records.sessions import FIND_SESSION
from app.stores.records.statements import AnyTable, Lookup, scoped_select
from app.stores.records.tables import (
    history_entries,
    interactions,
    messages,
    sessions,
    tool_results,
)
from app.stores.records.unit_of_work import Repository
from pagefault_dialects.json.values import parse_stored_json

MAX_BYTES = 16 * 1024 * 1024
"""The total size of records after which a list of entries, or of events, ends."""
_FIND_MESSAGE = scoped_select(messages, by=["message_id"])
_IS_AFTER = history_entries.c.seq > bindparam("after_seq")
_ENTRIES = Lookup(
    scoped_select(history_entries, by=["session_id"])
    .where(_IS_AFTER)
    .order_by(history_entries.c.seq)
    .limit(bindparam("limit", type_=Integer))
)


def _make_lookup(table: AnyTable, entry_id: Column[str], *kinds: EntryKind) -> Lookup:
    """Return the lookup of the records in a table, for the entries of these kinds in a batch.

    `entry_id` is the column of the table that history entries refer to.
    """
    large = [column for column in table.c if isinstance(column.type, LargeBinary)]
    return Lookup(
        scoped_select(history_entries, *table.c, by=["session_id"])
        .join_from(
            history_entries,
            table,
            (table.c.project_id == history_entries.c.project_id)
            & (entry_id == history_entries.c.entry_id),
        )
        .where(
            _IS_AFTER,
            history_entries.c.seq <= bindparam("last_seq"),
            or_(*(history_entries.c.kind == kind for kind in kinds)),
        ),
        large=large,
    )


_RECORDS = {
    TOOL_RESULT: _make_lookup(tool_results, tool_results.c.tool_result_id, TOOL_RESULT),
    MESSAGE: _make_lookup(messages, messages.c.message_id, MESSAGE, PAGE_FAULT),
    INTERACTION: _make_lookup(interactions, interactions.c.interaction_id, INTERACTION, ANSWER),
}
_MESSAGES = _make_lookup(messages, messages.c.message_id, MESSAGE)
_LAST_SEQ = scoped_select(sessions, sessions.c.last_seq, by=["session_id"]).scalar_subquery()
# `SessionHistory.iterate_newest_messages` searches the numbers after `_START`, up to `_END`.
_END = func.coalesce(bindparam("to", type_=BigInteger()), _LAST_SEQ)
_START = _END - bindparam("max_numbers", type_=Integer())
_AFTER = bindparam("after_seq", type_=BigInteger())
_NEWEST_MESSAGES = Lookup(
    scoped_select(
        history_entries, history_entries.c.seq, history_entries.c.size_bytes, by=["session_id"]
    )
    .where(
        # Of two lower bounds, SQLite would use only the first, and read the whole session.
        history_entries.c.seq > case((_AFTER > _START, _AFTER), else_=_START),
        history_entries.c.seq <= _END,
        history_entries.c.kind == MESSAGE,
    )
    .order_by(history_entries.c.seq.desc())
)
_NEWEST_AT_ONCE = 20
# Records with more bytes than this are not read in the event loop.
_SHORT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class HistoryHead:
    """The last number of a session's history, and the incarnation of the session.

    While the incarnation is the same, the entries up to `last_seq` stay the same. Sessions of
    earlier versions have no incarnation.
    """

    incarnation: str | None
    last_seq: int


@dataclass(frozen=True, slots=True)
class EntryBatch:
    """Consecutive entries of a history, whose records were not read yet."""

    scope: ProjectScope
    session_id: str
    after_seq: int
    rows: Sequence[Row[Any]]
    size_bytes: int
    """The size of the records of all entries."""

    def read_entries(self) -> Sequence[StoredEntry]:
        """Return the entries with their records."""
        faults = {row.entry_id for row in self.rows if row.kind == PAGE_FAULT}
        found: dict[str, StoredEntry] = {
            row.tool_result_id: read_row(
                StoredMessage, row, message_id=row.tool_result_id, **call_fields(row)
            )
            for row in self.read_records(TOOL_RESULT)
        }
        for row in self.read_records(MESSAGE, PAGE_FAULT):
            is_page_fault = row.message_id in faults
            found[row.message_id] = stored_message(row, is_page_fault=is_page_fault)
        for row in self.read_records(INTERACTION, ANSWER):
            found[row.interaction_id] = stored_interaction(row)
        entries = ((row, found.get(row.entry_id)) for row in self.rows)
        return [
            _stored_answer(row.seq, entry)
            if row.kind == ANSWER and isinstance(entry, StoredInteraction)
            else entry
            for row, entry in entries
            if entry is not None
        ]

    def read_records(self, kind: EntryKind, *other_kinds: EntryKind) -> Sequence[Row[Any]]:
        """Return the rows of the records of a kind, and of other kinds in the same table."""
        if not any(row.kind == kind or row.kind in other_kinds for row in self.rows):
            return []
        return self.scope.look_up(
            _RECORDS[kind],
            is_short=self.size_bytes <= _SHORT_BYTES,
            session_id=self.session_id,
            after_seq=self.after_seq,
            last_seq=self.rows[-1].seq,
        )


def _stored_answer(seq: int, interaction: StoredInteraction) -> StoredAnswer:
    """Return the entry with the output of an interaction."""
    return StoredAnswer(
        seq=seq,
        interaction_id=interaction.interaction_id,
        created_at=interaction.answered_at or interaction.created_at,
        output=interaction.output or b"null",
    )


class SessionHistory(Repository):
    """Reads the histories of one project's sessions."""

    def has_entries(self, session_id: str, *, after_seq: int) -> bool:
        """Return whether the history has entries after a `seq`."""
        return bool(self.find_batch(session_id, after_seq=after_seq, limit=1).rows)

    def find_head(self, session_id: str) -> HistoryHead | None:
        """Return the head of the history; `None` if the session does not exist."""
        rows = self._scope.look_up(FIND_SESSION, session_id=session_id)
        return read_row(HistoryHead, rows[0]) if rows else None

    def find_batch(
        self, session_id: str, *, after_seq: int, limit: int, max_bytes: int = MAX_BYTES
    ) -> EntryBatch:
        """Find up to `limit` entries of the history after a `seq`, in order, without their records.

        The batch ends with the entry that makes its size exceed `max_bytes`, so an entry that is
        larger than this limit is in a batch as well.
        """
        found = self._scope.look_up(
            _ENTRIES, session_id=session_id, after_seq=after_seq, limit=limit
        )
        rows = limit_row_bytes(found, max_bytes)
        return EntryBatch(
            self._scope, session_id, after_seq, rows, sum(row.size_bytes for row in rows)
        )

    def entries(self, session_id: str, *, after_seq: int, limit: int) -> Sequence[StoredEntry]:
        """Return the entries of a batch; see `find_batch`."""
        return self.find_batch(session_id, after_seq=after_seq, limit=limit).read_entries()

    def iterate_newest_messages(
        self, session_id: str, *, max_numbers: int, after_seq: int = 0, to: int | None = None
    ) -> Iterator[StoredHistoryMessage]:
        """Yield the messages of clients among the last numbers of a session, the newest first.

        Messages are read in batches, so only one batch is in memory.

        Args:
            session_id: The session.
            max_numbers: The number of `seq`s up to `to` that are searched.
            after_seq: Messages up to this `seq` are omitted.
            to: The last number; by default the last of the session.
        """
        rows = self._scope.look_up(
            _NEWEST_MESSAGES,
            session_id=session_id,
            after_seq=after_seq,
            to=to,
            max_numbers=max_numbers,
        )
        while rows:
            batch = limit_row_bytes(rows[:_NEWEST_AT_ONCE], MAX_BYTES)
            rows = rows[len(batch) :]
            found = self._scope.look_up(
                _MESSAGES,
                is_short=sum(row.size_bytes for row in batch) <= _SHORT_BYTES,
                session_id=session_id,
                after_seq=batch[-1].seq - 1,
                last_seq=batch[0].seq,
            )
            yield from sorted(map(stored_message, found), key=lambda item: -item.seq)


def limit_row_bytes(rows: Sequence[Row[Any]], max_bytes: int) -> Sequence[Row[Any]]:
    """Return the first rows, up to the row that makes the sum of `size_bytes` exceed a limit."""
    size_bytes = 0
    for index, row in enumerate(rows):
        size_bytes += row.size_bytes
        if size_bytes > max_bytes:
            return rows[: index + 1]
    return rows


def stored_interaction(row: Row[Any]) -> StoredInteraction:
    """Return the interaction in a row of `interactions`."""
    bindings = {} if row.bindings is None else parse_stored_json(row.bindings.encode())
    return read_row(StoredInteraction, row, bindings=bindings)


class MessageRecords(Repository):
    """The messages of one project."""

    @staticmethod
    def row(message: StoredHistoryMessage, *, session_id: str) -> NewRow:
        """Return the row of a new message, to be stored with its history entry."""
        return NewRow(messages, message_values(message, session_id))

    def find(self, message_id: str) -> StoredHistoryMessage | None:
        """Return the message with this id."""
        row = self._scope.first(_FIND_MESSAGE, message_id=message_id)
        return stored_message(row) if row else None


def stored_message(row: Row[Any], *, is_page_fault: bool = False) -> StoredHistoryMessage:
    """Return the message in a row of `messages`."""
    return read_row(StoredHistoryMessage, row, is_page_fault=is_page_fault, **call_fields(row))


def message_values(message: StoredHistoryMessage, session_id: str) -> dict[str, object]:
    """Return the columns of a message, without `is_page_fault`, which its history entry has."""
    call = call_columns(message.tool_call_id, message.answer_number)
    values = values_of(message, session_id=session_id) | call
    del values["is_page_fault"], values["answer_number"]
    return values
