"""Search entries: records found by words beside pages, and those waiting to be indexed.

Triggers of the database keep a row for everything that can be found, in the transaction that writes
or removes it, whoever does. Its words follow: they are read and prepared outside of transactions,
and put into the index together with a note of which revision they are of. Whoever is overtaken by
another process, or by a change, notes nothing and indexes nothing.
"""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Row, exists, or_

from app.models.search_entry import EntrySource, WaitingEntry
from app.stores.records.entry_sources import read_sources
from app.stores.records.prepared_statements import Lookup
from app.stores.records.projects import ProjectRecords
from app.stores.records.scope import scoped_select
from app.stores.records.search_tables import search_entries, stemless_pages
from app.stores.records.tables import projects
from app.stores.records.unit_of_work import Repository, UnitOfWork
from app.stores.records.word_index import IndexedPage
from app.stores.records.word_indexes import choose_entry_index, choose_page_index

_IS_WAITING = search_entries.c.indexed < search_entries.c.revision
_ANY_WAITING = Lookup(
    scoped_select(search_entries, search_entries.c.entry_number)
    .where(_IS_WAITING)
    .order_by(search_entries.c.entry_number.desc())
    .limit(1)
)
_ANY_STEMLESS = Lookup(scoped_select(stemless_pages, stemless_pages.c.page_number).limit(1))


class SearchEntryRecords(Repository):
    """The entries of one project."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._entries = choose_entry_index(unit)
        # For what was indexed before there were stems.
        self._pages = choose_page_index(unit)

    def are_waiting(self) -> bool:
        """Say whether anything waits; looked up at once."""
        return bool(self._scope.look_up(_ANY_WAITING))

    def are_stemless(self) -> bool:
        """Say whether there are pages without stems; looked up at once."""
        return bool(self._scope.look_up(_ANY_STEMLESS))

    def waiting(self, *, limit: int, newest_first: bool = False) -> list[WaitingEntry]:
        """Return up to `limit` entries that wait."""
        number = search_entries.c.entry_number
        order = number.desc() if newest_first else number
        rows = self._scope.all(
            self._scope.select(search_entries, _IS_WAITING).order_by(order).limit(limit)
        )
        return [_entry(row) for row in rows]

    def count_waiting(self) -> int:
        """Count what waits: entries, and pages without stems."""
        entries = self._scope.count(search_entries, _IS_WAITING)
        return entries + self._scope.count(stemless_pages)

    def index(self, prepared: Mapping[WaitingEntry, IndexedPage | None]) -> int:
        """Index what still waits as it was found waiting; returns how many that is.

        Args:
            prepared: What each is to be found by; `None` for what is not to be found.
        """
        numbers = {entry.number: entry for entry in prepared}
        held = self._scope.select(
            search_entries, search_entries.c.entry_number.in_(numbers), _IS_WAITING
        )
        # Nobody is waited for: whoever holds one of them removes it, or changes what it is.
        rows = self._scope.all(held.with_for_update(skip_locked=True))
        current = [
            numbers[row.entry_number]
            for row in rows
            if row.revision == numbers[row.entry_number].revision
        ]
        kept = [entry.number for entry in current]
        columns = search_entries.c
        is_kept = columns.entry_number.in_(kept)
        self._scope.set_values(search_entries, is_kept, indexed=columns.revision)
        indexed = {entry.number: prepared[entry] for entry in current}
        self._entries.remove_all([number for number, page in indexed.items() if page is None])
        self._entries.index_all({n: page for n, page in indexed.items() if page is not None})
        return len(current)

    def named(self, entry_ids: Collection[str], kinds: Collection[str]) -> list[WaitingEntry]:
        """Return the entries of some kinds that have one of some ids."""
        rows = self._scope.rows_with(search_entries.c.entry_id, entry_ids)
        return [_entry(row) for row in rows if row.kind in kinds]

    def entries(self, numbers: Collection[int]) -> dict[int, WaitingEntry]:
        """Return the entries with these numbers; those that are gone are missing."""
        rows = self._scope.rows_with(search_entries.c.entry_number, numbers)
        return {row.entry_number: _entry(row) for row in rows}

    def sources(self, entries: Collection[WaitingEntry]) -> dict[WaitingEntry, EntrySource]:
        """Return where the words of entries come from; what is gone meanwhile is missing."""
        found: dict[WaitingEntry, EntrySource] = {}
        for kind in {entry.kind for entry in entries}:
            by_id = {entry.entry_id: entry for entry in entries if entry.kind == kind}
            for source in read_sources(self._scope, kind, by_id):
                found[by_id[source.entry_id]] = source
        return found

    def add_stems(self, *, limit: int) -> int:
        """Add the stems of up to `limit` pages that have none; returns how many were left."""
        number = stemless_pages.c.page_number
        held = self._scope.select(stemless_pages).order_by(number.desc()).limit(limit)
        numbers = [
            row.page_number for row in self._scope.all(held.with_for_update(skip_locked=True))
        ]
        if numbers:
            self._pages.add_stems(numbers)
            self._scope.remove(stemless_pages, number.in_(numbers))
        return len(numbers)


def _entry(row: Row[Any]) -> WaitingEntry:
    return WaitingEntry(row.entry_number, row.kind, row.entry_id, row.revision)


def find_projects_to_index(project_records: ProjectRecords) -> list[str]:
    """Return the ids of the projects in which something waits to be indexed."""
    waiting = [
        exists().where(search_entries.c.project_id == projects.c.project_id, _IS_WAITING),
        exists().where(stemless_pages.c.project_id == projects.c.project_id),
    ]
    return project_records.list_ids(or_(*waiting))
