"""The tables that search looks in, and what waits to be put into them.

    pages           ── page_search, page_search_texts
    search_entries  ── entry_search, entry_search_texts

The form of what is behind the dashes is the database's: a virtual table of FTS5, or a tsvector with
a GIN index and the words beside it. It is no part of the schema that both share.
"""

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
)
from sqlalchemy.dialects.postgresql import TSVECTOR

from app.stores.records.columns import metadata

# What is found by its words beside pages: triggers of the database keep a row for every tool
# result, message and interaction, and for every file with a name. `revision` grows when there are
# other words; what was indexed last is in `indexed`, and the rest waits.
search_entries = Table(
    "search_entries",
    metadata,
    Column("entry_number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("project_id", String, ForeignKey("projects.project_id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("entry_id", String, nullable=False),
    Column("revision", Integer, nullable=False, server_default="1"),
    Column("indexed", Integer, nullable=False, server_default="0"),
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

# Pages that were indexed before there were stems.
stemless_pages = Table(
    "stemless_pages",
    metadata,
    Column("project_id", String, ForeignKey("projects.project_id"), primary_key=True),
    Column("page_number", BigInteger, primary_key=True, autoincrement=False),
)

# What search looks in has the form of the database: no part of the schema that both share.


def _fts_table(name: str) -> Table:
    return Table(
        name,
        MetaData(),
        Column("rowid", Integer, key="number", primary_key=True),
        Column("project_id", String),
        Column("scope", Text),
        Column("heading", Text),
        Column("body", Text),
        # The table as a whole: FTS5 takes a query for it.
        Column(name, Text, key="whole"),
    )


def _vector_table(name: str, key: str, *columns: Column[Any]) -> Table:
    number = Column(key, BigInteger, key="number", primary_key=True, autoincrement=False)
    return Table(name, MetaData(), number, Column("project_id", String, nullable=False), *columns)


def _vectors(name: str, key: str) -> Table:
    is_long = Column("is_long", Boolean, nullable=False)
    return _vector_table(name, key, is_long, Column("words", TSVECTOR, nullable=False))


def _vector_texts(name: str, key: str) -> Table:
    heading = Column("heading", Text, nullable=False)
    return _vector_table(name, key, heading, Column("body", Text, nullable=False))


page_search_sqlite = _fts_table("page_search")
page_search_postgresql = _vectors("page_search", "page_number")
page_search_texts = _vector_texts("page_search_texts", "page_number")
entry_search_sqlite = _fts_table("entry_search")
entry_search_postgresql = _vectors("entry_search", "entry_number")
entry_search_texts = _vector_texts("entry_search_texts", "entry_number")
