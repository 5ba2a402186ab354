"""Statements that are kept: what a list of texts becomes on each database."""

import json
import sqlite3
from typing import Any

import pytest
from sqlalchemy import BigInteger, Column, MetaData, String, Table
from sqlalchemy.types import TypeEngine

from app.stores.records.columns import ClientText, UtcTime
from app.stores.records.prepared_statements import IsAmong, Prepared
from app.stores.records.scope import scoped_select

KEPT = Table(
    "kept",
    MetaData(),
    Column("project_id", String, primary_key=True),
    Column("id", String, primary_key=True),
)
FIND = scoped_select(KEPT, KEPT.c.id).where(IsAmong(KEPT.c.id, "ids"))


def test_texts_are_an_array_of_postgresql() -> None:
    found = Prepared(FIND, is_postgresql=True)
    assert found.text.split("WHERE ")[1] == (
        "kept.project_id = %s::VARCHAR AND kept.id = ANY (%s::VARCHAR[])"
    )
    assert found.parameters({"project_id": "p", "ids": ("a", "b")}) == ["p", ["a", "b"]]


def test_texts_are_json_to_sqlite_which_finds_each_by_its_key() -> None:
    found = Prepared(FIND)
    given = found.parameters({"project_id": "p", "ids": ["a", 'b"', "c"]})
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE kept (project_id TEXT, id TEXT, PRIMARY KEY (project_id, id))")
    connection.executemany("INSERT INTO kept VALUES ('p', ?)", [("a",), ('b"',), ("d",)])
    assert given == ["p", json.dumps(["a", 'b"', "c"])]
    assert sorted(connection.execute(found.text, given)) == [("a",), ('b"',)]
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {found.text}", given)]
    assert plan[0].endswith("(project_id=? AND id=?)")


def test_numbers_are_given_as_texts_are() -> None:
    numbered = Table("numbered", MetaData(), Column("project_id", String), Column("n", BigInteger))
    find = scoped_select(numbered, numbered.c.n).where(IsAmong(numbered.c.n, "numbers"))
    found = Prepared(find, is_postgresql=True)
    assert found.text.endswith("numbered.n = ANY (%s::BIGINT[])")
    assert found.parameters({"project_id": "p", "numbers": [2, 1]}) == ["p", [2, 1]]
    assert Prepared(find).parameters({"project_id": "p", "numbers": [2, 1]}) == ["p", "[2, 1]"]


@pytest.mark.parametrize("kind", [UtcTime(), ClientText()])
def test_values_that_a_column_converts_are_not_given_as_they_are(kind: TypeEngine[Any]) -> None:
    table = Table("converted", MetaData(), Column("value", kind))
    with pytest.raises(TypeError, match="neither texts nor whole numbers"):
        IsAmong(table.c.value, "values")
