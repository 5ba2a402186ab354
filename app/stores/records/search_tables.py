"""The tables that search looks in, whose form is the database's; migration 0002 makes them."""

from sqlalchemy import BigInteger, Boolean, Column, Integer, MetaData, String, Table, Text
from sqlalchemy.dialects.postgresql import TSVECTOR

# No part of the schema that both databases share.
_search = MetaData()

page_search_sqlite = Table(
    "page_search",
    _search,
    Column("rowid", Integer, primary_key=True),
    Column("project_id", String),
    Column("scope", Text),
    Column("heading", Text),
    Column("body", Text),
    # The table as a whole: FTS5 takes a query for it.
    Column("page_search", Text),
)

page_search_postgresql = Table(
    "page_search",
    MetaData(),
    Column("page_number", BigInteger, primary_key=True),
    Column("project_id", String, nullable=False),
    Column("is_long", Boolean, nullable=False),
    Column("words", TSVECTOR, nullable=False),
)

page_search_texts = Table(
    "page_search_texts",
    _search,
    Column("page_number", BigInteger, primary_key=True),
    Column("project_id", String, nullable=False),
    Column("heading", Text, nullable=False),
    Column("body", Text, nullable=False),
)
