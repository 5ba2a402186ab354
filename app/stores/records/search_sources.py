"""Where the words of what is found beside pages come from: the beginnings of stored records."""

from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import Column, ColumnElement, LargeBinary, Row, Select, and_, func

from app.models.message import PAGE_FAULT
from app.models.search_entry import MOST_READ_BYTES, EntrySource, IndexedKind
from app.stores.records.scope import ProjectScope
from app.stores.records.tables import (
    history_entries,
    interactions,
    messages,
    resource_links,
    resources,
    tool_results,
)


def read_sources(
    scope: ProjectScope, kind: IndexedKind, ids: Collection[str]
) -> Iterator[EntrySource]:
    """Yield where the words of some entries come from; those that are gone are missing."""
    readers = {
        "tool_result": _tool_results,
        "message": _messages,
        "interaction": _interactions,
        "file": _files,
    }
    yield from readers[kind](scope, ids)


def _tool_results(scope: ProjectScope, ids: Collection[str]) -> Iterator[EntrySource]:
    columns = tool_results.c
    statement = scope.select(tool_results).with_only_columns(
        *(columns[name] for name in ("tool_result_id", "session_id", "seq", "created_at")),
        *(columns.tool_name, columns.tool_call_id),
        *_beginning(columns.sanitized, "first"),
    )
    for row in scope.rows_with(columns.tool_result_id, ids, statement):
        yield EntrySource(
            "tool_result",
            row.tool_result_id,
            row.session_id,
            row.seq,
            row.created_at,
            name=row.tool_name,
            call_id=row.tool_call_id,
            **_contents(row, "first"),
        )


def _messages(scope: ProjectScope, ids: Collection[str]) -> Iterator[EntrySource]:
    columns = messages.c
    of_message = and_(
        history_entries.c.project_id == columns.project_id,
        history_entries.c.session_id == columns.session_id,
        history_entries.c.seq == columns.seq,
    )
    statement = (
        scope.select(messages)
        .outerjoin(history_entries, of_message)
        .with_only_columns(
            *(columns[name] for name in ("message_id", "session_id", "seq", "created_at")),
            columns.tool_call_id,
            history_entries.c.kind,
            *_beginning(columns.message, "first"),
        )
    )
    for row in scope.rows_with(columns.message_id, ids, statement):
        yield EntrySource(
            "message",
            row.message_id,
            row.session_id,
            row.seq,
            row.created_at,
            call_id=row.tool_call_id,
            is_found=row.kind != PAGE_FAULT,
            **_contents(row, "first"),
        )


def _interactions(scope: ProjectScope, ids: Collection[str]) -> Iterator[EntrySource]:
    columns = interactions.c
    statement = scope.select(interactions).with_only_columns(
        *(columns[name] for name in ("interaction_id", "session_id", "seq", "created_at")),
        *_beginning(columns.input, "first"),
        *_beginning(columns.output, "second"),
    )
    for row in scope.rows_with(columns.interaction_id, ids, statement):
        yield EntrySource(
            "interaction",
            row.interaction_id,
            row.session_id,
            row.seq,
            row.created_at,
            **_contents(row, "first", "second"),
        )


def _files(scope: ProjectScope, ids: Collection[str]) -> Iterator[EntrySource]:
    links = resource_links.c
    linked: Select[Any] = (
        scope.select(resource_links, links.session_id.is_not(None))
        .with_only_columns(links.resource_id, links.session_id)
        .distinct()
    )
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


def _beginning(column: Column[Any], name: str) -> list[ColumnElement[Any]]:
    """Return the first bytes of a text, and whether there are more."""
    # Both databases know the length of a blob without reading it.
    start = func.substr(column, 1, MOST_READ_BYTES, type_=LargeBinary)
    is_cut = func.coalesce(func.length(column), 0) > MOST_READ_BYTES
    return [start.label(name), is_cut.label(f"{name}_is_cut")]


def _contents(row: Row[Any], *names: str) -> dict[str, Any]:
    starts = [getattr(row, name) for name in names]
    return {
        "contents": tuple(bytes(each) for each in starts if each is not None),
        "is_cut": any(getattr(row, f"{name}_is_cut") for name in names),
    }
