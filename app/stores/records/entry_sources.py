"""Read the beginnings of stored records, from which the words of search entries are made."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, LargeBinary, Select, and_, func, null, or_, true

from app.models.search_entry import MAX_READ_BYTES, EntrySource, IndexedKind
from app.models.session import PAGE_FAULT
from app.stores.records.columns import ClientText
from app.stores.records.scope import ProjectScope, read_row
from app.stores.records.statements import AnyTable, is_among, scoped_select
from app.stores.records.tables import (
    history_entries,
    interactions,
    messages,
    resource_links,
    resources,
    tool_results,
)

# For each kind of entry, the column of its id, and the columns of its texts.
_RECORDS: Mapping[IndexedKind, tuple[Column[str], Sequence[Column[Any]]]] = {
    "tool_result": (tool_results.c.tool_result_id, [tool_results.c.sanitized]),
    "message": (messages.c.message_id, [messages.c.message]),
    "interaction": (interactions.c.interaction_id, [interactions.c.input, interactions.c.output]),
}
_IS_OF_MESSAGE = and_(
    history_entries.c.project_id == messages.c.project_id,
    history_entries.c.session_id == messages.c.session_id,
    history_entries.c.seq == messages.c.seq,
)


def _call_id_of(table: AnyTable) -> ColumnElement[Any]:
    """Select the id of the call that a record answers; null for interactions."""
    columns = table.c
    if "tool_call_id" not in columns:
        return null()
    return func.coalesce(columns.whole_call_id, columns.tool_call_id, type_=ClientText)


def _select_records(kind: IndexedKind) -> Select[Any]:
    """Select records by ids, with the first bytes of their texts, which are the last columns.

    `is_cut` is true if a text is longer.
    """
    id_column, texts = _RECORDS[kind]
    columns = id_column.table.c
    # Both databases return the length of a blob without reading it.
    is_cut = or_(*(func.coalesce(func.length(text), 0) > MAX_READ_BYTES for text in texts))
    starts = [func.substr(text, 1, MAX_READ_BYTES, type_=LargeBinary) for text in texts]
    # Searches find the page of a page fault, so they do not find its message.
    is_found = history_entries.c.kind.is_distinct_from(PAGE_FAULT)
    statement = scoped_select(
        id_column.table,
        id_column.label("entry_id"),
        *(columns[name] for name in ("session_id", "seq", "created_at")),
        columns.get("tool_name", null()).label("name"),
        _call_id_of(id_column.table).label("call_id"),
        *(columns.get(name, null()).label(name) for name in ("dialect", "reading", "role")),
        is_cut.label("is_cut"),
        (is_found if kind == "message" else true()).label("is_found"),
        *(start.label(f"text_{index}") for index, start in enumerate(starts)),
    )
    if kind == "message":
        statement = statement.outerjoin(history_entries, _IS_OF_MESSAGE)
    return statement.where(is_among(id_column, "values"))


_SELECT_LINKS = (
    scoped_select(resource_links, resource_links.c.resource_id, resource_links.c.session_id)
    .where(
        resource_links.c.session_id.is_not(None),
        is_among(resource_links.c.resource_id, "values"),
    )
    .distinct()
)
_SELECT_RECORDS: Mapping[IndexedKind, Select[Any]] = {
    kind: _select_records(kind) for kind in _RECORDS
}


def read_sources(
    scope: ProjectScope, kind: IndexedKind, ids: Collection[str]
) -> Iterator[EntrySource]:
    """Yield the beginnings of the records with these ids that exist."""
    yield from _read_files(scope, ids) if kind == "file" else _read_records(scope, kind, ids)


def _read_records(
    scope: ProjectScope, kind: IndexedKind, ids: Collection[str]
) -> Iterator[EntrySource]:
    _, texts = _RECORDS[kind]
    for row in scope.rows_in_batches(_SELECT_RECORDS[kind], ids):
        starts: Sequence[Any] = row[-len(texts) :]
        contents = tuple(bytes(start) for start in starts if start is not None)
        fields = {"kind": kind, "mime_type": None, "other_sessions": (), "contents": contents}
        yield read_row(EntrySource, row, **fields)


def _read_files(scope: ProjectScope, ids: Collection[str]) -> Iterator[EntrySource]:
    sessions: dict[str, list[str]] = {}
    for row in scope.rows_in_batches(_SELECT_LINKS, ids):
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
