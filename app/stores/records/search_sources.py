"""Where the words of what is found beside pages come from: the beginnings of stored records."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, LargeBinary, Select, and_, func, null

from app.models.message import PAGE_FAULT
from app.models.search_entry import MOST_READ_BYTES, EntrySource, IndexedKind
from app.stores.records.prepared_statements import IsAmong
from app.stores.records.scope import ProjectScope, in_batches, scoped_select
from app.stores.records.tables import (
    history_entries,
    interactions,
    messages,
    resource_links,
    resources,
    tool_results,
)

_NONE = null()


@dataclass(frozen=True, slots=True)
class _Record:
    """The columns that the words of a kind of record come from."""

    identity: Column[str]
    texts: Sequence[Column[Any]]
    name: ColumnElement[Any] = _NONE
    call_id: ColumnElement[Any] = _NONE

    def columns(self) -> list[ColumnElement[Any]]:
        """Return what is read of a record: of its texts, the first bytes, and if there are more."""
        columns = self.identity.table.c
        read: list[ColumnElement[Any]] = [
            self.identity.label("entry_id"),
            columns.session_id,
            columns.seq,
            columns.created_at,
        ]
        read += [self.name.label("name"), self.call_id.label("call_id")]
        for place, text in enumerate(self.texts):
            # Both databases know the length of a blob without reading it.
            start = func.substr(text, 1, MOST_READ_BYTES, type_=LargeBinary)
            is_cut = func.coalesce(func.length(text), 0) > MOST_READ_BYTES
            read += [start.label(f"text_{place}"), is_cut.label(f"is_cut_{place}")]
        return read


# By the kind of an entry: what it is known by, its texts, its name, and the call it answers.
_RECORDS: Mapping[IndexedKind, _Record] = {
    "tool_result": _Record(
        tool_results.c.tool_result_id,
        [tool_results.c.sanitized],
        tool_results.c.tool_name,
        tool_results.c.tool_call_id,
    ),
    "message": _Record(
        messages.c.message_id, [messages.c.message], call_id=messages.c.tool_call_id
    ),
    "interaction": _Record(
        interactions.c.interaction_id, [interactions.c.input, interactions.c.output]
    ),
}
_OF_MESSAGE = and_(
    history_entries.c.project_id == messages.c.project_id,
    history_entries.c.session_id == messages.c.session_id,
    history_entries.c.seq == messages.c.seq,
)


def _selecting(kind: IndexedKind) -> Select[Any]:
    """Select what is read of records by their ids."""
    record = _RECORDS[kind]
    statement = scoped_select(record.identity.table, *record.columns())
    if kind == "message":
        of_history = history_entries.c.kind.label("in_history")
        statement = statement.add_columns(of_history).outerjoin(history_entries, _OF_MESSAGE)
    return statement.where(IsAmong(record.identity, "ids"))


_SELECTED: Mapping[IndexedKind, Select[Any]] = {kind: _selecting(kind) for kind in _RECORDS}


def read_sources(
    scope: ProjectScope, kind: IndexedKind, ids: Collection[str]
) -> Iterator[EntrySource]:
    """Yield where the words of some entries come from; those that are gone are missing."""
    yield from _files(scope, ids) if kind == "file" else _records(scope, kind, ids)


def _records(scope: ProjectScope, kind: IndexedKind, ids: Collection[str]) -> Iterator[EntrySource]:
    record = _RECORDS[kind]
    batches = in_batches(ids)
    for row in (row for batch in batches for row in scope.kept(_SELECTED[kind], ids=batch)):
        starts = [getattr(row, f"text_{place}") for place in range(len(record.texts))]
        yield EntrySource(
            kind,
            row.entry_id,
            row.session_id,
            row.seq,
            row.created_at,
            name=row.name,
            call_id=row.call_id,
            contents=tuple(bytes(each) for each in starts if each is not None),
            is_cut=any(getattr(row, f"is_cut_{place}") for place in range(len(record.texts))),
            is_found=kind != "message" or row.in_history != PAGE_FAULT,
        )


def _files(scope: ProjectScope, ids: Collection[str]) -> Iterator[EntrySource]:
    links = resource_links.c
    columns = [links.resource_id, links.session_id]
    linked = scope.select(resource_links, links.session_id.is_not(None), columns=columns).distinct()
    sessions: dict[str, list[str]] = {}
    for row in scope.rows_with(links.resource_id, ids, linked):
        sessions.setdefault(row.resource_id, []).append(row.session_id)
    for row in scope.rows_with(resources.c.resource_id, ids):
        in_sessions = sorted(sessions.get(row.resource_id, ()))
        yield EntrySource(
            "file",
            row.resource_id,
            in_sessions[0] if in_sessions else None,
            None,
            row.created_at,
            name=row.filename,
            mime_type=row.mime_type,
            other_sessions=tuple(in_sessions[1:]),
            is_found=not row.is_derived,
        )
