"""Copies the beginning of a session into another one, with one statement for each table.

An entry keeps its `seq`, and so does the record it stands for. Their ids are new: an id is that of
one record of the project. They are made in the database, of one UUIDv7 for the whole copy, whose
last digits are the `seq` in hexadecimal.
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
from app.stores.records.prompt_tables import session_prompts
from app.stores.records.scope import AnyTable, scoped_from
from app.stores.records.tables import (
    frontier_moves,
    history_entries,
    interactions,
    messages,
    resource_links,
    tool_results,
)
from app.stores.records.unit_of_work import Repository

LARGEST_SEQ = 16**12 - 1
"""The largest `seq` that fits behind the last hyphen of an id."""
_KEYS = {
    tool_results: tool_results.c.tool_result_id,
    messages: messages.c.message_id,
    interactions: interactions.c.interaction_id,
}
# A page has one id in its project, so pages are not copied, nor are their links.
_OWNERS: Mapping[str, Column[str]] = {
    TOOL_RESULT: tool_results.c.tool_result_id,
    MESSAGE: messages.c.message_id,
    PAGE_FAULT: messages.c.message_id,
    INTERACTION: interactions.c.interaction_id,
}


@dataclass(frozen=True, slots=True)
class Beginning:
    """What stands at the beginning of a history: how many entries of each kind, and their bytes."""

    counts: HistoryCounts
    entries: int
    size_bytes: int


class SessionCopyRecords(Repository):
    """Copies of sessions of one project."""

    def measure(self, session_id: str, up_to: int) -> Beginning:
        """Count the entries of a session up to a `seq`."""
        entries = history_entries.c
        columns = [
            entries.kind,
            func.count().label("entries"),
            func.sum(entries.size_bytes).label("size_bytes"),
        ]
        counted = self._scope.select(
            history_entries, *_beginning(history_entries, session_id, up_to), columns=columns
        )
        rows = self._scope.all(counted.group_by(entries.kind))
        counts = {f"{row.kind}s": row.entries for row in rows}
        size_bytes = sum(int(row.size_bytes) for row in rows)
        return Beginning(HistoryCounts(**counts), sum(counts.values()), size_bytes)

    def copy(self, session_id: str, up_to: int, copy_id: str) -> None:
        """Copy the entries of a session up to a `seq`, their records, and what these refer to.

        Args:
            session_id: The session, which stays there until the transaction ends.
            up_to: The last `seq`, at most `LARGEST_SEQ`.
            copy_id: The session to write them to, which has no entries.
        """
        ids = _CopiedIds.of(up_to, is_postgresql=self._scope.is_postgresql)
        into: dict[str, ColumnElement[Any]] = {"session_id": literal(copy_id)}
        interaction_seq = (
            self._scope.select(
                interactions,
                interactions.c.interaction_id == history_entries.c.entry_id,
                columns=[interactions.c.seq],
            )
            .correlate(history_entries)
            .scalar_subquery()
        )
        is_answer = history_entries.c.kind == ANSWER
        seq = case((is_answer, interaction_seq), else_=history_entries.c.seq)
        self._copy(history_entries, session_id, up_to, {**into, "entry_id": ids.id_of(seq)})
        for table, key in _KEYS.items():
            copied = {**into, key.name: ids.id_of(table.c.seq)}
            if table is interactions:
                copied |= _answered_until(up_to)
            self._copy(table, session_id, up_to, copied)
        self._copy(frontier_moves, session_id, up_to, into)
        self._scope.copy(resource_links, self._links(session_id, up_to, copy_id, ids))
        prompt = {**into, "receipt": null()}
        self._scope.copy(
            session_prompts,
            self._scope.select(
                session_prompts,
                session_prompts.c.session_id == session_id,
                columns=_changed(session_prompts, prompt),
            ),
        )

    def _copy(
        self,
        table: AnyTable,
        session_id: str,
        up_to: int,
        changed: Mapping[str, ColumnElement[Any]],
    ) -> None:
        columns = _changed(table, changed)
        beginning = _beginning(table, session_id, up_to)
        self._scope.copy(table, self._scope.select(table, *beginning, columns=columns))

    def _links(self, session_id: str, up_to: int, copy_id: str, ids: "_CopiedIds") -> Select[Any]:
        """Select the links of copied records."""
        links = resource_links.c
        places = [
            (
                links.owner_kind == kind,
                self._scope.select(key.table, key == links.owner_id, columns=[key.table.c.seq])
                .correlate(resource_links)
                .scalar_subquery(),
            )
            for kind, key in _OWNERS.items()
        ]
        placed = self._scope.select(
            resource_links,
            links.session_id == session_id,
            links.owner_kind.in_(_OWNERS),
            columns=[
                *(links[name] for name in ("project_id", "resource_id", "owner_kind")),
                case(*places).label("seq"),
            ],
        ).subquery()
        copied = scoped_from(
            placed,
            placed.c.project_id,
            placed.c.resource_id,
            placed.c.owner_kind,
            ids.id_of(placed.c.seq).label("owner_id"),
            literal(copy_id).label("session_id"),
        )
        # In the order in which every writer of several links locks what is indexed of them.
        return copied.where(placed.c.seq <= up_to).order_by(placed.c.resource_id)


@dataclass(frozen=True, slots=True)
class _CopiedIds:
    """Ids of one copy: what they begin with, and how many digits the `seq` behind it has."""

    beginning: str
    digits: int
    is_postgresql: bool

    @classmethod
    def of(cls, up_to: int, *, is_postgresql: bool) -> "_CopiedIds":
        digits = len(f"{up_to:x}")
        return cls(new_id()[:-digits], digits, is_postgresql)

    def id_of(self, seq: ColumnElement[Any]) -> ColumnElement[str]:
        """Return the id of the record with a `seq`."""
        if self.is_postgresql:
            hexadecimal = func.lpad(func.to_hex(seq), self.digits, "0", type_=String)
        else:
            hexadecimal = func.printf(f"%0{self.digits}x", seq, type_=String)
        return literal(self.beginning, String) + hexadecimal


def _beginning(
    table: AnyTable, session_id: str, up_to: int
) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.session_id == session_id, table.c.seq <= up_to


def _changed(
    table: AnyTable, changed: Mapping[str, ColumnElement[Any]]
) -> list[ColumnElement[Any]]:
    """Return the columns of a table, of which some have other values."""
    return [
        changed[column.name].label(column.name) if column.name in changed else column
        for column in table.c
    ]


def _answered_until(up_to: int) -> dict[str, ColumnElement[Any]]:
    """Return the output of an interaction as it was when an entry was the last one."""
    columns = interactions.c
    is_later = columns.answer_seq > up_to
    names = ("output", "answer_seq", "answered_at")
    return {name: case((is_later, null()), else_=columns[name]) for name in names}
