"""The tables of search, and the list of entries that wait to be indexed.

    pages           ── page_search, page_search_texts
    search_entries  ── entry_search, entry_search_texts

The tables on the right are the index. They differ between the databases: on SQLite one virtual
table of FTS5, on PostgreSQL one with a tsvector and a GIN index, and one with the words
(`…_texts`). So they are not in the metadata that both databases share.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
    literal_column,
)
from sqlalchemy.dialects.postgresql import TSVECTOR

from app.stores.records.columns import metadata
from app.stores.records.tables import pages

# All searchable records except pages: triggers of the database maintain a row for every tool
# result, message and interaction, and for every file with a name. `revision` grows when the words
# change; `indexed` is the revision in the index. If they differ, the entry waits.
search_entries = Table(
    "search_entries",
    metadata,
    Column("entry_number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("project_id", String, ForeignKey("projects.project_id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("entry_id", String, nullable=False),
    Column("revision", Integer, nullable=False, server_default="1"),
    Column("indexed", Integer, nullable=False, server_default="0"),
    # The version of the indexer that has indexed the entry. Version 1 also stores the tools of
    # sessions, and searches for tool results find messages that are results. Entries with a lower
    # version are indexed once more.
    Column("form", Integer, nullable=False, server_default="0"),
    UniqueConstraint("project_id", "entry_id", "kind"),
    Index(None, "project_id", "entry_number"),
    sqlite_autoincrement=True,
)
Index(
    "ix_search_entries_waiting",
    search_entries.c.project_id,
    search_entries.c.entry_number,
    sqlite_where=search_entries.c.indexed < search_entries.c.revision,
    postgresql_where=search_entries.c.indexed < search_entries.c.revision,
)

FORM = 1
"""The current version of the indexer."""
# The number is a literal, because SQLite uses a partial index only for the same condition.
IS_OUTDATED = and_(
    search_entries.c.indexed >= search_entries.c.revision,
    search_entries.c.form < literal_column(str(FORM)),
)
Index(
    "ix_search_entries_outdated",
    search_entries.c.project_id,
    search_entries.c.entry_number,
    sqlite_where=IS_OUTDATED,
    postgresql_where=IS_OUTDATED,
)

# Pages that an earlier version has indexed without stems.
stemless_pages = Table(
    "stemless_pages",
    metadata,
    Column("project_id", String, ForeignKey("projects.project_id"), primary_key=True),
    Column("page_number", BigInteger, primary_key=True, autoincrement=False),
)


@dataclass(frozen=True, slots=True)
class IndexTables:
    """The tables of an index of words."""

    sqlite: Table
    """The virtual table of FTS5."""
    postgresql: Table
    """The table with tsvectors."""
    texts: Table
    """The table with the words, on PostgreSQL."""
    numbers: Column[int]
    """The numbers of the records, in the table of the records."""


def _make_index_tables(name: str, numbers: Column[int]) -> IndexTables:
    sqlite = Table(
        name,
        MetaData(),
        Column("rowid", Integer, key="number", primary_key=True),
        Column("project_id", String),
        Column("scope", Text),
        Column("heading", Text),
        Column("body", Text),
        # In a query of FTS5, a column with the name of the table means all columns.
        Column(name, Text, key="whole"),
    )

    def make_table(name: str, *columns: Column[Any]) -> Table:
        number = Column(
            numbers.name, BigInteger, key="number", primary_key=True, autoincrement=False
        )
        project = Column("project_id", String, nullable=False)
        return Table(name, MetaData(), number, project, *columns)

    postgresql = make_table(
        name, Column("is_long", Boolean, nullable=False), Column("words", TSVECTOR, nullable=False)
    )
    texts = make_table(
        f"{name}_texts",
        Column("heading", Text, nullable=False),
        Column("body", Text, nullable=False),
    )
    return IndexTables(sqlite, postgresql, texts, numbers)


PAGES = _make_index_tables("page_search", pages.c.page_number)
ENTRIES = _make_index_tables("entry_search", search_entries.c.entry_number)
