"""The plan of a migration: its statements, their locks, and the transactions that wait for them.

Alembic generates the statements in its offline mode, so nothing is locked or changed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import NamedTuple

from sqlalchemy import Connection, Engine

from app.stores.records.database_errors import translate_errors
from app.stores.records.migrations import (
    ALEMBIC_LOCK,
    alembic_config,
    newest_revision,
    read_revision,
)

NOBODY_WAITS = "nobody waits"
_WRITERS_WAIT = "writers wait for a moment"
_EVERYBODY_WAITS = "readers and writers wait for a moment"
_SAME_ROWS_DURING_BATCH = "writers of the same rows wait for a batch"
_WRITERS_DURING_SCAN = "writers wait while the rows are read"
_SAME_ROWS_DURING_WRITES = "writers of the same rows wait while all are written"
_EVERYBODY_DURING_SCAN = "readers and writers wait while the rows are read"
_WRITERS_DURING_BATCH = "writers wait for a batch"
SHORT_WAITS = frozenset(
    {NOBODY_WAITS, _WRITERS_WAIT, _EVERYBODY_WAITS, _SAME_ROWS_DURING_BATCH, _WRITERS_DURING_BATCH}
)
"""Waits that take less than a second, for any number of rows."""

_TEMPORARY = "CREATE TEMPORARY TABLE"
_FOREIGN_KEY = "FOREIGN KEY to"
_INSERT_BATCHES = "INSERT in batches"
_NAME = r"(?:IF NOT EXISTS |IF EXISTS )?(?P<table>\w+)"
_ON = r"(?:IF NOT EXISTS )?\w+ .*?\bON (?P<table>\w+)"


class _Rule(NamedTuple):
    """The lock of the statements that match a pattern, on PostgreSQL."""

    pattern: re.Pattern[str]
    """Has the name of the table in the group `table`."""
    statement: str
    """The name of the statement in the plan."""
    lock: str
    waits: str
    """The transactions that wait for the lock, and for how long."""


# Migrations mark the statements that they repeat for batches of rows with a comment. Such a SELECT
# locks the rows of its batch.
_RULES = [
    _Rule(re.compile(pattern, re.DOTALL), statement, lock, waits)
    for pattern, statement, lock, waits in (
        (rf"CREATE TEMPORARY TABLE {_NAME}", _TEMPORARY, "", NOBODY_WAITS),
        (rf"CREATE (?:VIRTUAL )?TABLE {_NAME}", "CREATE TABLE", "", NOBODY_WAITS),
        (rf"DROP TABLE {_NAME}", "DROP TABLE", "ACCESS EXCLUSIVE", _EVERYBODY_WAITS),
        (
            rf"CREATE (?:UNIQUE )?INDEX CONCURRENTLY {_ON}",
            "CREATE INDEX CONCURRENTLY",
            "SHARE UPDATE EXCLUSIVE",
            NOBODY_WAITS,
        ),
        (rf"CREATE (?:UNIQUE )?INDEX {_ON}", "CREATE INDEX", "SHARE", _WRITERS_DURING_SCAN),
        (rf"ALTER TABLE {_NAME} ADD COLUMN", "ADD COLUMN", "ACCESS EXCLUSIVE", _EVERYBODY_WAITS),
        (rf"ALTER TABLE {_NAME}", "ALTER TABLE", "ACCESS EXCLUSIVE", _EVERYBODY_DURING_SCAN),
        (rf"CREATE TRIGGER {_ON}", "CREATE TRIGGER", "SHARE ROW EXCLUSIVE", _WRITERS_WAIT),
        (
            rf"/\* in batches \*/ SELECT 1 FROM {_NAME}",  # noqa: S608
            "LOCK in batches",
            "ROW SHARE",
            _SAME_ROWS_DURING_BATCH,
        ),
        (
            rf"/\* in batches \*/ UPDATE {_NAME}",
            "UPDATE in batches",
            "ROW EXCLUSIVE",
            _SAME_ROWS_DURING_BATCH,
        ),
        (
            rf"/\* in batches \*/ INSERT INTO {_NAME}",
            _INSERT_BATCHES,
            "ROW EXCLUSIVE",
            NOBODY_WAITS,
        ),
        (rf"UPDATE {_NAME}", "UPDATE", "ROW EXCLUSIVE", _SAME_ROWS_DURING_WRITES),
        (rf"DELETE FROM {_NAME}", "DELETE", "ROW EXCLUSIVE", _SAME_ROWS_DURING_WRITES),  # noqa: S608
        (rf"INSERT INTO {_NAME}", "INSERT", "ROW EXCLUSIVE", NOBODY_WAITS),
    )
]
_REVISION = re.compile(
    r"-- Running upgrade \S* -> (\S+)\n(.*?)(?=-- Running upgrade|\Z)", re.DOTALL
)
_REFERENCES = re.compile(r"REFERENCES (\w+)")


@dataclass(frozen=True, slots=True)
class PlannedStatement:
    """A statement of a revision on a table, its lock, and the transactions that wait for it."""

    revision: str
    statement: str
    table: str
    rows: int | None
    """An estimate; `None` for a new table."""
    lock: str
    waits: str


def plan_migration(engine: Engine) -> list[PlannedStatement]:
    """Return the statements that would migrate a database.

    For new tables, only their creation, batched inserts, and the locks of foreign keys are listed.
    """
    from alembic import command  # noqa: PLC0415

    with ALEMBIC_LOCK, translate_errors(), engine.connect() as connection:
        current = read_revision(connection)
        rows = _estimate_rows(connection)
        if current == newest_revision():
            return []
        config = alembic_config(connection, is_online=True)
        config.output_buffer = StringIO()
        command.upgrade(config, f"{current or 'base'}:head", sql=True)
        written = config.output_buffer.getvalue()
        is_postgresql = connection.dialect.name == "postgresql"
    planned = [
        item if is_postgresql else _plan_on_sqlite(item)
        for revision, statements in _REVISION.findall(written)
        for statement in statements.split(";\n")
        for item in _read_statement(revision, statement.strip(), rows)
        if is_postgresql or item.statement != _FOREIGN_KEY
    ]
    return list(dict.fromkeys(planned))


def _estimate_rows(connection: Connection) -> Mapping[str, int]:
    """Return an estimate of the number of rows of each table, by name."""
    if connection.dialect.name == "postgresql":
        statement = (
            "SELECT relname, reltuples FROM pg_class WHERE relkind = 'r' "
            "AND relnamespace = current_schema()::regnamespace"
        )
        return {row.relname: int(row.reltuples) for row in connection.exec_driver_sql(statement)}
    names = connection.exec_driver_sql(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' "
        "AND sql NOT LIKE '%WITHOUT ROWID'"
    ).scalars()
    counted = {
        name: connection.exec_driver_sql(f'SELECT max(rowid) FROM "{name}"').scalar()  # noqa: S608
        for name in names.all()
    }
    return {name: count or 0 for name, count in counted.items()}


def _read_statement(
    revision: str, statement: str, rows: Mapping[str, int]
) -> Iterator[PlannedStatement]:
    """Yield the plan of a statement, and of the locks of its foreign keys.

    Nothing is yielded for statements on new tables, except those that `plan_migration` names.
    """
    for rule in _RULES:
        found = rule.pattern.match(statement)
        if found is None:
            continue
        name, table = rule.statement, found["table"]
        if table not in rows:
            if name in {"CREATE TABLE", _TEMPORARY, _INSERT_BATCHES}:
                yield PlannedStatement(revision, name, table, None, rule.lock, rule.waits)
                for other in sorted({*_REFERENCES.findall(statement)} & rows.keys()):
                    yield PlannedStatement(
                        revision,
                        _FOREIGN_KEY,
                        other,
                        rows[other],
                        "SHARE ROW EXCLUSIVE",
                        _WRITERS_WAIT,
                    )
        elif table != "alembic_version":
            yield PlannedStatement(revision, name, table, rows[table], rule.lock, rule.waits)
        return


def _plan_on_sqlite(planned: PlannedStatement) -> PlannedStatement:
    """Return the plan of a statement on SQLite, where every statement blocks only writers."""
    if planned.statement == _TEMPORARY:
        return planned
    waits = {
        NOBODY_WAITS: _WRITERS_DURING_BATCH
        if planned.statement == _INSERT_BATCHES
        else _WRITERS_WAIT,
        _EVERYBODY_WAITS: _WRITERS_WAIT,
        _SAME_ROWS_DURING_BATCH: _WRITERS_DURING_BATCH,
        _EVERYBODY_DURING_SCAN: _WRITERS_DURING_SCAN,
        _SAME_ROWS_DURING_WRITES: "writers wait while all rows are written",
    }.get(planned.waits, planned.waits)
    return PlannedStatement(
        planned.revision, planned.statement, planned.table, planned.rows, "writer", waits
    )
