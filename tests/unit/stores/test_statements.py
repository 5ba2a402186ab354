"""Statements: each is scoped to a project, and lists of values use the index of their column."""

import pytest
from sqlalchemy import BigInteger, Column, MetaData, String, Table, create_engine
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect

from app.stores.records.statements import (
    is_among,
    scoped_delete,
    scoped_select,
    scoped_update,
    touch,
    upsert,
)

ITEMS = Table(
    "items",
    MetaData(),
    Column("project_id", String, primary_key=True),
    Column("id", String, primary_key=True),
    Column("size", BigInteger),
)
OF_PROJECT = "items.project_id = :in_project"


@pytest.mark.parametrize(
    "statement",
    [
        scoped_select(ITEMS, by=["id"]),
        scoped_update(ITEMS, by={"id": "of_id"}).values(size=1),
        scoped_delete(ITEMS, by=["id"]),
    ],
)
def test_every_statement_is_of_the_project_that_executes_it(statement: object) -> None:
    assert OF_PROJECT in str(statement)


def test_rows_are_found_by_the_index_for_each_of_a_list_of_values() -> None:
    find = scoped_select(ITEMS, ITEMS.c.id).where(is_among(ITEMS.c.id, "ids"))
    with create_engine("sqlite://").connect() as connection:
        ITEMS.metadata.create_all(connection)
        rows = [{"project_id": "p", "id": name} for name in ("a", 'b"', "d")]
        connection.execute(ITEMS.insert(), rows)
        found = connection.execute(find, {"in_project": "p", "ids": ["a", 'b"', "c"]})
        assert sorted(found.scalars()) == ["a", 'b"']
        asked = find.params(in_project="p", ids=["a", "b"]).compile(
            connection.engine, compile_kwargs={"literal_binds": True}
        )
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}")]
    assert plan[0].endswith("(project_id=? AND id=?)")


@pytest.mark.parametrize("is_postgresql", [False, True])
def test_upsert_merges_what_is_touched_and_nothing_else(is_postgresql: bool) -> None:
    statement = upsert(ITEMS, touch("size"), "id", is_postgresql=is_postgresql)
    dialect: Dialect = postgresql.dialect() if is_postgresql else sqlite.dialect()  # type: ignore[no-untyped-call] # theirs
    merged = " ".join(str(statement.compile(dialect=dialect)).partition(" ON CONFLICT ")[2].split())
    returned = "items.id" if is_postgresql else "id"
    assert merged == f"(project_id, id) DO UPDATE SET size = excluded.size RETURNING {returned}"
