"""Copy the beginning of a session into another session, with one statement for each table.

Copied entries and records keep their `seq`, and get new ids, because ids are unique in a project.
The database makes the ids: they are a UUIDv7 whose last digits are the `seq` in hexadecimal.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, String, case, func, literal, null

from app.models.identity import new_id
from app.models.session import (
    ANSWER,
    INTERACTION,
    MESSAGE,
    PAGE_FAULT,
    TOOL_RESULT,
    HistoryCounts,
)
from app.stores.records.statements import AnyTable, scoped_from, scoped_select
from app.stores.records.tables import (
    frontier_moves,
    history_entries,
    interactions,
    messages,
    resource_links,
    session_prompts,
    tool_results,
)
from app.stores.records.unit_of_work import Repository

LARGEST_SEQ = 16**12 - 1
"""The largest `seq` that fits into the digits after the last hyphen of an id."""
# The tables of records, each with its id column.
_KEYS = {
    tool_results: tool_results.c.tool_result_id,
    messages: messages.c.message_id,
    interactions: interactions.c.interaction_id,
}
# The id columns of the records whose links are copied, by the `owner_kind` of a link. Pages and
# their links are not copied, because the id of a page is unique in its project.
_OWNERS: Mapping[str, Column[str]] = {
    TOOL_RESULT: tool_results.c.tool_result_id,
    MESSAGE: messages.c.message_id,
    PAGE_FAULT: messages.c.message_id,
    INTERACTION: interactions.c.interaction_id,
}


@dataclass(frozen=True, slots=True)
class HistoryBeginning:
    """The size of the beginning of a history."""

    counts: HistoryCounts
    """The number of entries of each kind."""
    entries: int
    """The number of all entries."""
    size_bytes: int
    """The size of the records of all entries."""


class SessionCopyRecords(Repository):
    """Copies of sessions of one project."""

    def measure(self, session_id: str, up_to: int) -> HistoryBeginning:
        """Count the entries of a session up to a `seq`."""
        entries = history_entries.c
        columns = [
            entries.kind,
            func.count().label("entries"),
            func.sum(entries.size_bytes).label("size_bytes"),
        ]
        counted = scoped_select(history_entries, *columns).group_by(entries.kind)
        rows = self._scope.all(counted.where(*_is_in_beginning(history_entries, session_id, up_to)))
        counts = {f"{row.kind}s": row.entries for row in rows}
        size_bytes = sum(int(row.size_bytes) for row in rows)
        return HistoryBeginning(HistoryCounts(**counts), sum(counts.values()), size_bytes)

    def copy(self, session_id: str, up_to: int, copy_id: str) -> None:
        """Copy the entries of a session up to a `seq`, with their records and the links of records.

        Args:
            session_id: The session, which the caller has locked against deletion.
            up_to: The last `seq`, at most `LARGEST_SEQ`.
            copy_id: The new session, which exists and has no entries.
        """
        ids = _CopiedIds.create(up_to, is_postgresql=self._scope.is_postgresql)
        new_session: dict[str, ColumnElement[Any]] = {"session_id": literal(copy_id)}
        interaction_seq = (
            scoped_select(interactions, interactions.c.seq)
            .where(interactions.c.interaction_id == history_entries.c.entry_id)
            .correlate(history_entries)
            .scalar_subquery()
        )
        is_answer = history_entries.c.kind == ANSWER
        seq = case((is_answer, interaction_seq), else_=history_entries.c.seq)
        self._copy(history_entries, session_id, up_to, {**new_session, "entry_id": ids.id_of(seq)})
        for table, key in _KEYS.items():
            copied = {**new_session, key.name: ids.id_of(table.c.seq)}
            if table is interactions:
                copied |= _output_columns_at(up_to)
            self._copy(table, session_id, up_to, copied)
        self._copy(frontier_moves, session_id, up_to, new_session)
        self._scope.copy(resource_links, self._select_links(session_id, up_to, copy_id, ids))
        prompt = {**new_session, "receipt": null()}
        self._scope.copy(
            session_prompts,
            scoped_select(session_prompts, *_replace_columns(session_prompts, prompt)).where(
                session_prompts.c.session_id == session_id
            ),
        )

    def _copy(
        self,
        table: AnyTable,
        session_id: str,
        up_to: int,
        changed: Mapping[str, ColumnElement[Any]],
    ) -> None:
        """Copy the rows of a session up to a `seq`, with other values in the columns `changed`."""
        copied = scoped_select(table, *_replace_columns(table, changed))
        self._scope.copy(table, copied.where(*_is_in_beginning(table, session_id, up_to)))

    def _select_links(
        self, session_id: str, up_to: int, copy_id: str, ids: "_CopiedIds"
    ) -> Select[Any]:
        """Select the links of copied records."""
        links = resource_links.c
        seqs = [
            (
                links.owner_kind == kind,
                scoped_select(key.table, key.table.c.seq)
                .where(key == links.owner_id)
                .correlate(resource_links)
                .scalar_subquery(),
            )
            for kind, key in _OWNERS.items()
        ]
        numbered = (
            scoped_select(
                resource_links,
                *(links[name] for name in ("project_id", "resource_id", "owner_kind")),
                case(*seqs).label("seq"),
            )
            .where(links.session_id == session_id, links.owner_kind.in_(_OWNERS))
            .subquery()
        )
        copied = scoped_from(
            numbered,
            numbered.c.project_id,
            numbered.c.resource_id,
            numbered.c.owner_kind,
            ids.id_of(numbered.c.seq).label("owner_id"),
            literal(copy_id).label("session_id"),
        )
        # Inserting a link locks a search entry. Every writer of several links uses this order, so
        # that two of them do not wait for each other.
        return copied.where(numbered.c.seq <= up_to).order_by(numbered.c.resource_id)


@dataclass(frozen=True, slots=True)
class _CopiedIds:
    """The ids of the records of one copy: a common beginning, then `digits` digits of the `seq`."""

    beginning: str
    digits: int
    is_postgresql: bool

    @classmethod
    def create(cls, up_to: int, *, is_postgresql: bool) -> "_CopiedIds":
        """Return ids for records up to a `seq`, with the beginning of a new id."""
        digits = len(f"{up_to:x}")
        return cls(new_id()[:-digits], digits, is_postgresql)

    def id_of(self, seq: ColumnElement[Any]) -> ColumnElement[str]:
        """Return the id of the record with a `seq`."""
        if self.is_postgresql:
            hexadecimal = func.lpad(func.to_hex(seq), self.digits, "0", type_=String)
        else:
            hexadecimal = func.printf(f"%0{self.digits}x", seq, type_=String)
        return literal(self.beginning, String) + hexadecimal


def _is_in_beginning(
    table: AnyTable, session_id: str, up_to: int
) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions for the rows of a session up to a `seq`."""
    return table.c.session_id == session_id, table.c.seq <= up_to


def _replace_columns(
    table: AnyTable, changed: Mapping[str, ColumnElement[Any]]
) -> list[ColumnElement[Any]]:
    """Return the columns of a table, with the values in `changed` for the columns that have one."""
    return [
        changed[column.name].label(column.name) if column.name in changed else column
        for column in table.c
    ]


def _output_columns_at(up_to: int) -> dict[str, ColumnElement[Any]]:
    """Return the columns about the output of an interaction: null if it came after `up_to`."""
    columns = interactions.c
    is_later = columns.answer_seq > up_to
    names = ("output", "answer_seq", "answered_at")
    return {name: case((is_later, null()), else_=columns[name]) for name in names}
