"""Search entries: rows for all searchable records except pages, and the queue of the index.

Triggers of the database write or remove the search entry of a record in the transaction of the
record. The words are indexed later: they are read and prepared outside of transactions, and then
stored. If another process has indexed the entry meanwhile, or the record has changed, nothing is
stored.
"""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Integer, Row, bindparam, exists, or_

from app.models.search_entry import EntrySource, WaitingEntry
from app.stores.records.entry_sources import read_sources
from app.stores.records.projects import ProjectRecords
from app.stores.records.search_tables import FORM, IS_OUTDATED, search_entries, stemless_pages
from app.stores.records.statements import (
    Lookup,
    count_rows,
    is_among,
    scoped_delete,
    scoped_select,
    scoped_update,
)
from app.stores.records.tables import projects, session_tools
from app.stores.records.unit_of_work import Repository, UnitOfWork
from app.stores.records.word_index import IndexedRecord
from app.stores.records.word_indexes import choose_entry_index, choose_page_index

_IS_WAITING = search_entries.c.indexed < search_entries.c.revision
_ANY_WAITING = Lookup(
    scoped_select(search_entries, search_entries.c.entry_number)
    .where(_IS_WAITING)
    .order_by(search_entries.c.entry_number.desc())
    .limit(1)
)
_NUMBER = search_entries.c.entry_number
_LIMIT = bindparam("limit", type_=Integer())
_WAITING = (
    scoped_select(search_entries)
    .where(_IS_WAITING)
    .limit(_LIMIT)
    .offset(bindparam("skip", type_=Integer()))
)
_OUTDATED = scoped_select(search_entries).where(IS_OUTDATED).order_by(_NUMBER.desc()).limit(_LIMIT)
_OLDEST_WAITING, _NEWEST_WAITING = _WAITING.order_by(_NUMBER), _WAITING.order_by(_NUMBER.desc())
_COUNT_WAITING, _COUNT_STEMLESS = (
    count_rows(search_entries, _IS_WAITING),
    count_rows(stemless_pages),
)
# Locked rows are skipped, because another transaction is removing or changing their entries.
_LOCK_TO_INDEX = (
    scoped_select(search_entries)
    .where(is_among(_NUMBER, "numbers"), or_(_IS_WAITING, IS_OUTDATED))
    .with_for_update(skip_locked=True)
)
_SET_INDEXED = (
    scoped_update(search_entries)
    .where(is_among(_NUMBER, "numbers"))
    .values(indexed=search_entries.c.revision, form=FORM)
)
_LOCK_STEMLESS = (
    scoped_select(stemless_pages, stemless_pages.c.page_number)
    .order_by(stemless_pages.c.page_number.desc())
    .limit(_LIMIT)
    .with_for_update(skip_locked=True)
)
_REMOVE_STEMLESS = scoped_delete(stemless_pages).where(
    is_among(stemless_pages.c.page_number, "numbers")
)
_ANY_STEMLESS = Lookup(scoped_select(stemless_pages, stemless_pages.c.page_number).limit(1))


class SearchEntryRecords(Repository):
    """The search entries of one project."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._entries = choose_entry_index(unit)
        # Used only to add stems to pages that an earlier version has indexed without stems.
        self._pages = choose_page_index(unit)

    def has_waiting_entries(self) -> bool:
        """Return whether an entry waits to be indexed."""
        return bool(self._scope.look_up(_ANY_WAITING))

    def has_stemless_pages(self) -> bool:
        """Return whether there are pages without stems."""
        return bool(self._scope.look_up(_ANY_STEMLESS))

    def list_waiting(
        self, *, limit: int, newest_first: bool = False, skip: int = 0
    ) -> list[WaitingEntry]:
        """Return up to `limit` waiting entries after the first `skip`, by default oldest first."""
        statement = _NEWEST_WAITING if newest_first else _OLDEST_WAITING
        return [_read_entry(row) for row in self._scope.all(statement, limit=limit, skip=skip)]

    def list_outdated(self, *, limit: int) -> list[WaitingEntry]:
        """Return up to `limit` entries that an earlier version has indexed, newest first."""
        return [_read_entry(row) for row in self._scope.all(_OUTDATED, limit=limit)]

    def count_waiting(self) -> int:
        """Count waiting entries and pages without stems."""
        counts = (self._scope.execute(item) for item in (_COUNT_WAITING, _COUNT_STEMLESS))
        return sum(int(count.scalar_one()) for count in counts)

    def index(self, prepared: Mapping[WaitingEntry, IndexedRecord | None]) -> int:
        """Index entries, except those that were changed or indexed since they were read.

        The tools that the entries have called are stored as well.

        Args:
            prepared: The words of each entry; `None` if the entry is not searchable.

        Returns:
            The number of entries that were indexed.
        """
        by_number = {entry.number: entry for entry in prepared}
        rows = self._scope.all(_LOCK_TO_INDEX, numbers=[*by_number])
        current = [row for row in rows if row.revision == by_number[row.entry_number].revision]
        indexed = {row.entry_number: prepared[by_number[row.entry_number]] for row in current}
        self._scope.run(_SET_INDEXED, numbers=[*indexed])
        # Most entries are new, and have no words to remove.
        self._entries.remove_all([row.entry_number for row in current if row.indexed])
        records = {number: record for number, record in indexed.items() if record is not None}
        self._entries.insert_all(records)
        called = {
            (tool, record.session_id)
            for record in records.values()
            if record.session_id is not None
            for tool in record.tools
        }
        rows_of_tools = [
            {"tool_name": tool, "session_id": session_id} for tool, session_id in sorted(called)
        ]
        self._scope.insert_absent(session_tools, rows_of_tools, returning=["project_id"])
        return len(indexed)

    def find_by_id(self, entry_ids: Collection[str], kinds: Collection[str]) -> list[WaitingEntry]:
        """Return the entries of these kinds with one of these ids."""
        rows = self._scope.rows_with(search_entries.c.entry_id, entry_ids)
        return [_read_entry(row) for row in rows if row.kind in kinds]

    def find_entries(self, numbers: Collection[int]) -> dict[int, WaitingEntry]:
        """Return the entries with these numbers that exist."""
        rows = self._scope.rows_with(search_entries.c.entry_number, numbers)
        return {row.entry_number: _read_entry(row) for row in rows}

    def load_sources(self, entries: Collection[WaitingEntry]) -> dict[WaitingEntry, EntrySource]:
        """Return the beginnings of the records of entries that exist, by entry."""
        found: dict[WaitingEntry, EntrySource] = {}
        for kind in {entry.kind for entry in entries}:
            by_id = {entry.entry_id: entry for entry in entries if entry.kind == kind}
            for source in read_sources(self._scope, kind, by_id):
                found[by_id[source.entry_id]] = source
        return found

    def add_stems(self, *, limit: int) -> int:
        """Add the stems of up to `limit` pages that have none; return the number of these pages."""
        numbers = list(self._scope.execute(_LOCK_STEMLESS, limit=limit).scalars())
        if numbers:
            self._pages.add_stems(numbers)
            self._scope.run(_REMOVE_STEMLESS, numbers=numbers)
        return len(numbers)


def _read_entry(row: Row[Any]) -> WaitingEntry:
    return WaitingEntry(row.entry_number, row.kind, row.entry_id, row.revision)


def find_projects_to_index(project_records: ProjectRecords) -> list[str]:
    """Return the ids of the projects with entries or pages that wait to be indexed."""
    waiting = [
        exists().where(search_entries.c.project_id == projects.c.project_id, _IS_WAITING),
        exists().where(search_entries.c.project_id == projects.c.project_id, IS_OUTDATED),
        exists().where(stemless_pages.c.project_id == projects.c.project_id),
    ]
    return project_records.list_ids(or_(*waiting))
