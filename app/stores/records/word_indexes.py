"""Create the word indexes of a database: of pages, and of search entries."""

from app.stores.records.search_tables import ENTRIES, PAGES, IndexTables
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_index import SqliteWordIndex, WordIndex
from app.stores.records.word_index_postgresql import PostgresWordIndex


def choose_page_index(unit: UnitOfWork) -> WordIndex:
    """Return the index of pages, for SQLite or PostgreSQL."""
    return _choose(unit, PAGES)


def choose_entry_index(unit: UnitOfWork) -> WordIndex:
    """Return the index of search entries, for SQLite or PostgreSQL."""
    return _choose(unit, ENTRIES)


def _choose(unit: UnitOfWork, tables: IndexTables) -> WordIndex:
    kind = PostgresWordIndex if unit.scope.is_postgresql else SqliteWordIndex
    return kind(unit, tables)
