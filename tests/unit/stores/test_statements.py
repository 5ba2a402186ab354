"""Statements: each is scoped to a project, and lists of values use the index of their column."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import (
    BigInteger,
    ClauseElement,
    Column,
    LargeBinary,
    MetaData,
    String,
    Table,
    create_engine,
    literal_column,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect

from app.stores.records.statements import (
    Lookup,
    WouldBlockError,
    count_rows,
    is_among,
    overwrite,
    refuse_in_event_loop,
    scoped_delete,
    scoped_exists,
    scoped_from,
    scoped_select,
    scoped_update,
    upsert,
    with_inserts,
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
    statement = upsert(ITEMS, overwrite("size"), "id", is_postgresql=is_postgresql)
    dialect: Dialect = postgresql.dialect() if is_postgresql else sqlite.dialect()  # type: ignore[no-untyped-call] # theirs
    merged = " ".join(str(statement.compile(dialect=dialect)).partition(" ON CONFLICT ")[2].split())
    returned = "items.id" if is_postgresql else "id"
    assert merged == f"(project_id, id) DO UPDATE SET size = excluded.size RETURNING {returned}"


def sql(statement: ClauseElement) -> str:
    """Return the text of a statement on one line."""
    compiled = statement.compile(dialect=sqlite.dialect())
    return " ".join(str(compiled).split())


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (
            lambda: scoped_select(ITEMS),
            "SELECT items.project_id, items.id, items.size FROM items WHERE items.project_id = ?",
        ),
        (
            lambda: scoped_select(ITEMS, ITEMS.c.size, by=["id", "size"]),
            "SELECT items.size FROM items "
            "WHERE items.project_id = ? AND items.id = ? AND items.size = ?",
        ),
        (
            lambda: scoped_select(ITEMS, literal_column("1")),
            "SELECT 1 FROM items WHERE items.project_id = ?",
        ),
        (lambda: scoped_delete(ITEMS), "DELETE FROM items WHERE items.project_id = ?"),
        (
            lambda: scoped_delete(ITEMS, by=["id"]),
            "DELETE FROM items WHERE items.project_id = ? AND items.id = ?",
        ),
        (
            lambda: scoped_update(ITEMS, by={"id": "of_id"}).values(size=1),
            "UPDATE items SET size=? WHERE items.project_id = ? AND items.id = ?",
        ),
        (
            lambda: scoped_update(ITEMS).values(size=1),
            "UPDATE items SET size=? WHERE items.project_id = ?",
        ),
        (
            lambda: count_rows(ITEMS, ITEMS.c.size > literal_column("7")),
            "SELECT count(*) AS rows FROM items WHERE items.project_id = ? AND items.size > 7",
        ),
        (
            lambda: scoped_exists(
                [scoped_select(ITEMS, by=["id"]), scoped_select(ITEMS, by=["size"])]
            ),
            "SELECT (EXISTS (SELECT items.project_id, items.id, items.size FROM items "
            "WHERE items.project_id = ? AND items.id = ?)) OR (EXISTS (SELECT items.project_id, "
            "items.id, items.size FROM items WHERE items.project_id = ? AND items.size = ?)) "
            "AS row_exists",
        ),
        (
            lambda: scoped_from(scoped_select(ITEMS).subquery("own"), literal_column("own.id")),
            "SELECT own.id FROM (SELECT items.project_id AS project_id, items.id AS id, "
            "items.size AS size FROM items WHERE items.project_id = ?) AS own",
        ),
    ],
)
def test_statement_names_its_columns_and_conditions(
    build: Callable[[], ClauseElement], text: str
) -> None:
    assert sql(build()) == text


def test_rows_are_inserted_with_an_update() -> None:
    update = scoped_update(ITEMS).values(size=1).returning(ITEMS.c.id).cte("changed")
    more = scoped_select(ITEMS, ITEMS.c.size).subquery("more")
    statement = with_inserts(update, [(ITEMS, {"id": update.c.id, "size": more.c.size})], rows=more)
    assert sql(statement) == (
        "WITH changed AS (UPDATE items SET size=? WHERE items.project_id = ? RETURNING id), "
        "inserted_0 AS (INSERT INTO items (project_id, id, size) SELECT ? AS anon_1, "
        "changed.id AS id, more.size AS size FROM changed JOIN (SELECT "
        "items.size AS size FROM items WHERE items.project_id = ?) AS more ON 1 = 1) "
        "SELECT changed.id FROM changed"
    )
    alone = with_inserts(update, [(ITEMS, {"id": update.c.id})])
    assert "SELECT ? AS anon_1, changed.id AS id FROM changed)" in sql(alone)


def test_lookup_reads_no_large_values_in_the_event_loop() -> None:
    files = Table(
        "files",
        MetaData(),
        Column("project_id", String, primary_key=True),
        Column("id", String, primary_key=True),
        Column("one", LargeBinary),
        Column("other", LargeBinary),
    )
    select = scoped_select(files, files.c.id, files.c.one, files.c.other, by=["id"])
    lookup = Lookup(select, large=[files.c.one, files.c.other])
    rows: list[dict[str, Any]] = [
        {"id": "small", "one": b"1" * 65_535, "other": b"2"},
        {"id": "empty", "one": None, "other": None},
        {"id": "large", "one": b"1" * 65_535, "other": b"22"},
    ]
    with create_engine("sqlite://").connect() as connection:
        files.metadata.create_all(connection)
        connection.execute(files.insert(), [{**row, "project_id": "p"} for row in rows])
        for row in rows:
            values = {"in_project": "p", "id": row["id"]}
            assert [read[:3] for read in lookup.read(connection, values)] == [(*row.values(),)]
        in_loop = connection.execution_options(is_event_loop=True)
        for row in rows[:2]:
            values = {"in_project": "p", "id": row["id"]}
            assert [read[:3] for read in lookup.read(in_loop, values)] == [(*row.values(),)]
            assert lookup.read(in_loop, values)[0].one == row["one"]
            with pytest.raises(WouldBlockError):
                lookup.read(in_loop, values, is_short=False)
        values = {"in_project": "p", "id": "large"}
        with pytest.raises(WouldBlockError):
            lookup.read(in_loop, values)
        (short,) = in_loop.execute(lookup.short_statement, values)
        assert tuple(short) == ("large", None, None, False)
        with pytest.raises(WouldBlockError):
            refuse_in_event_loop(in_loop)
        assert Lookup(select).read(in_loop, values)[0].other == b"22"
