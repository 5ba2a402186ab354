"""Queries for bundles: read every row of a session in batches, and insert imported rows.

A batch has a few megabytes, or a single larger row. Inserted rows keep the ids of the bundle. If
the id of a row exists already, the row is not inserted, and the id is returned.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Integer, bindparam, case, func

from app.models.message import StoredHistoryMessage
from app.models.session import ANSWER, INTERACTION, MESSAGE, PAGE_FAULT, TOOL_RESULT, EntryKind
from app.models.stored_interaction import StoredInteraction
from app.models.tool_result import StoredToolResult
from app.stores.records.history import (
    SessionHistory,
    limit_row_bytes,
    message_values,
    stored_message,
)
from app.stores.records.interactions import InteractionRecords, interaction_values
from app.stores.records.pages import stored_level
from app.stores.records.scope import read_row, values_of
from app.stores.records.statements import (
    AnyTable,
    is_among,
    overwrite,
    scoped_select,
    scoped_update,
)
from app.stores.records.tables import (
    history_entries,
    interactions,
    messages,
    page_levels,
    pages,
    resource_links,
    tool_results,
)
from app.stores.records.tool_results import result_values, stored_result
from app.stores.records.unit_of_work import Repository, UnitOfWork
from pagefault_dialects.model.page import StoredRepresentation

_BATCH_BYTES = 4 * 1024 * 1024
_ROWS_AT_ONCE = 500
_PAGE_SIZES = (
    scoped_select(
        pages,
        pages.c.page_number,
        (
            func.length(pages.c.descriptor)
            + func.length(pages.c.body)
            + func.length(pages.c.content)
        ).label("size_bytes"),
        by=["session_id"],
    )
    .where(pages.c.page_number > bindparam("after"))
    .order_by(pages.c.page_number)
    .limit(bindparam("limit", type_=Integer()))
)
_LEVELS = (
    scoped_select(page_levels)
    .where(is_among(page_levels.c.page_id, "values"))
    .order_by(page_levels.c.page_id, page_levels.c.level)
)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a history: its number, its kind, and the id of its record."""

    seq: int
    kind: EntryKind
    entry_id: str


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """A tool result with all its columns."""

    result: StoredToolResult
    success: bool
    request_digest: str


@dataclass(frozen=True, slots=True)
class Link:
    """A reference from a record of a session to a resource."""

    resource_id: str
    owner_kind: str
    owner_id: str


EntryRecord = RecordedResult | StoredHistoryMessage
"""The record of an entry that is neither an interaction nor an answer."""


class BundleRecords(Repository):
    """All rows of the sessions of one project."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._history = unit[SessionHistory]
        self._interactions = unit[InteractionRecords]

    def history(self, session_id: str) -> Iterator[tuple[Entry, EntryRecord | None]]:
        """Yield the entries of a history in order, with their tool results and messages."""
        after_seq = 0
        while (
            batch := self._history.find_batch(
                session_id, after_seq=after_seq, limit=_ROWS_AT_ONCE, max_bytes=_BATCH_BYTES
            )
        ).rows:
            recorded: dict[int, EntryRecord] = {
                **{
                    row.seq: read_row(RecordedResult, row, result=stored_result(row))
                    for row in batch.read_records(TOOL_RESULT)
                },
                **{row.seq: stored_message(row) for row in batch.read_records(MESSAGE, PAGE_FAULT)},
            }
            for row in batch.rows:
                yield read_row(Entry, row), recorded.get(row.seq)
            after_seq = batch.rows[-1].seq

    def interactions(self, session_id: str) -> Iterator[StoredInteraction]:
        """Yield the interactions of a session in the order of `seq`."""
        after_seq = 0
        while batch := self._interactions.list_interactions(
            session_id,
            input_kind=None,
            after_seq=after_seq,
            limit=_ROWS_AT_ONCE,
            max_bytes=_BATCH_BYTES,
        ):
            yield from batch
            after_seq = batch[-1].seq

    def page_numbers(self, session_id: str) -> Iterator[Sequence[int]]:
        """Yield the numbers of the pages of a session, oldest first, in batches.

        The rows of a batch have a few megabytes.
        """
        after = -1
        while rows := self._scope.all(
            _PAGE_SIZES, session_id=session_id, after=after, limit=_ROWS_AT_ONCE
        ):
            after = rows[-1].page_number
            while rows:
                batch = limit_row_bytes(rows, _BATCH_BYTES)
                yield [row.page_number for row in batch]
                rows = rows[len(batch) :]

    def levels(self, page_ids: Sequence[str]) -> dict[str, list[StoredRepresentation]]:
        """Return the levels of some pages by page id, in order."""
        levels: dict[str, list[StoredRepresentation]] = {}
        for row in self._scope.rows_in_batches(_LEVELS, page_ids):
            levels.setdefault(row.page_id, []).append(stored_level(row))
        return levels

    def add_entries(self, session_id: str, entries: Sequence[Entry]) -> None:
        """Insert the entries of a session that was added in the same transaction."""
        rows = [values_of(entry, session_id=session_id) for entry in entries]
        self._scope.insert_new(history_entries, rows)

    def add_tool_results(self, recorded: Sequence[RecordedResult]) -> list[str]:
        """Insert tool results; return the ids that exist already."""
        rows = [
            result_values(item.result, success=item.success, request_digest=item.request_digest)
            for item in recorded
        ]
        return self._add(tool_results, "tool_result_id", rows)

    def add_messages(self, session_id: str, stored: Sequence[StoredHistoryMessage]) -> list[str]:
        """Insert messages; return the ids that exist already."""
        rows = [message_values(item, session_id) for item in stored]
        return self._add(messages, "message_id", rows)

    def add_interactions(self, stored: Sequence[StoredInteraction]) -> list[str]:
        """Insert interactions; return the ids that exist already."""
        rows = [interaction_values(item) for item in stored]
        return self._add(interactions, "interaction_id", rows)

    def set_entry_sizes(self, session_id: str) -> None:
        """Set the sizes of a history's entries, whose records have to be stored already."""
        entry_id, kind = history_entries.c.entry_id, history_entries.c.kind
        answer = func.coalesce(func.length(interactions.c.output), 0)
        # An answer that is no entry of the history counts in the entry of its interaction.
        included_answer = case((interactions.c.answer_seq.is_(None), answer), else_=0)
        interaction_size = func.length(interactions.c.input) + included_answer
        for key, size, kinds in (
            (tool_results.c.tool_result_id, func.length(tool_results.c.sanitized), [TOOL_RESULT]),
            (messages.c.message_id, func.length(messages.c.message), [PAGE_FAULT, MESSAGE]),
            (interactions.c.interaction_id, interaction_size, [INTERACTION]),
            (interactions.c.interaction_id, answer, [ANSWER]),
        ):
            new_size = scoped_select(key.table, size).where(key == entry_id).scalar_subquery()
            update = scoped_update(history_entries, by={"session_id": "of_session"}).where(
                kind.in_(kinds)
            )
            self._scope.run(update.values(size_bytes=new_size), of_session=session_id)

    def add_links(self, session_id: str, links: Sequence[Link]) -> None:
        """Insert links to resources, which this transaction has locked."""
        rows = [values_of(link, session_id=session_id) for link in links]
        rows.sort(key=lambda row: (row["resource_id"], row["owner_kind"], row["owner_id"]))
        self._scope.merge_all(resource_links, rows, overwrite("session_id"))

    def _add(self, table: AnyTable, key: str, rows: Sequence[Mapping[str, object]]) -> list[str]:
        # Every insert of several rows inserts them in the order of ids, which prevents deadlocks.
        ordered = sorted(rows, key=lambda row: str(row[key]))
        inserted = self._scope.insert_absent(table, ordered, returning=[key])
        inserted_ids = {row[0] for row in inserted}
        return [str(row[key]) for row in ordered if row[key] not in inserted_ids]
