"""Steps of migrations without long locks: indexes that are built concurrently, and batches.

Only migrations with `is_online = True` use these functions. They run outside of a transaction,
except in a new database, which no other process uses.
"""

import time
from collections.abc import Sequence
from typing import Any

from alembic import context, op
from sqlalchemy import Connection, text

from app.stores.records.migrations import yield_to_others

# A batch of this many rows takes some tenths of a second.
_BATCH_ROWS = {"postgresql": 5_000, "sqlite": 20_000}


def build_index(name: str, table: str, columns: Sequence[str], **options: Any) -> None:  # noqa: ANN401 - Alembic's
    """Build an index while other processes write.

    A build that was interrupted has left an invalid index, which is replaced.

    Args:
        name: The name of the index.
        table: The table.
        columns: Its columns.
        options: Options of `op.create_index`.
    """
    is_concurrent = _is_online() and op.get_bind().dialect.name == "postgresql"
    if is_concurrent and not context.is_offline_mode() and _is_invalid(name):
        op.drop_index(name, table, postgresql_concurrently=True)
    op.create_index(
        name,
        table,
        columns,
        if_not_exists=True,
        postgresql_concurrently=is_concurrent,
        **options,
    )


def run_batches(table: str, keys: Sequence[str], *statements: str, rows: int | None = None) -> None:
    """Run statements over all rows of a table, in transactions over consecutive rows.

    Args:
        table: The table.
        keys: Its primary key.
        statements: Each contains `{rows}`, which is replaced by the condition for the batch.
        rows: The number of rows of a batch, if the statements take unusually long.
    """
    if context.is_offline_mode():
        for statement in statements:
            op.execute(f"/* in batches */ {statement.format(rows='true')}")
        return
    connection = op.get_bind()
    size = rows or _BATCH_ROWS[connection.dialect.name]
    low: Sequence[Any] | None = None
    while True:
        began = time.monotonic()
        high = _last_of_batch(connection, table, keys, low, size)
        condition, values = _batch_condition(table, keys, low, high)
        _run(connection, [item.format(rows=condition) for item in statements], values)
        if high is None:
            return
        low = high
        if _is_online():
            yield_to_others(connection, time.monotonic() - began)


def select_locked(table: str) -> Sequence[str]:
    """Return the statement that locks the rows of a batch, for `run_batches`; none on SQLite."""
    if op.get_bind().dialect.name != "postgresql":
        return ()
    return (f"SELECT 1 FROM {table} WHERE {{rows}} FOR UPDATE",)  # noqa: S608


def _is_online() -> bool:
    return bool(context.config.attributes.get("is_online"))


def _is_invalid(name: str) -> bool:
    statement = text(
        "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(:name) AND NOT indisvalid"
    )
    return op.get_bind().execute(statement, {"name": name}).first() is not None


def _last_of_batch(
    connection: Connection, table: str, keys: Sequence[str], low: Sequence[Any] | None, size: int
) -> Sequence[Any] | None:
    """Return the key of the last row of the batch after `low`; `None` if it is the last batch."""
    condition, values = _batch_condition(table, keys, low, None)
    names = ", ".join(keys)
    rows = f"FROM {table} WHERE {condition} ORDER BY {names} LIMIT 1 OFFSET {size - 1}"
    return connection.execute(text(f"SELECT {names} {rows}"), values).first()


def _batch_condition(
    table: str, keys: Sequence[str], low: Sequence[Any] | None, high: Sequence[Any] | None
) -> tuple[str, dict[str, Any]]:
    """Return the condition for rows after `low` and up to `high`, and its parameters."""
    row = ", ".join(f"{table}.{key}" for key in keys)
    conditions = ["1 = 1"]
    values: dict[str, Any] = {}
    for name, sign, bound in (("low", ">", low), ("high", "<=", high)):
        if bound is not None:
            names = [f"{name}_{index}" for index in range(len(keys))]
            conditions.append(f"({row}) {sign} ({', '.join(f':{item}' for item in names)})")
            values |= dict(zip(names, bound, strict=True))
    return " AND ".join(conditions), values


def _run(connection: Connection, statements: Sequence[str], values: dict[str, Any]) -> None:
    """Execute the statements of a batch in one transaction."""
    is_online = _is_online()
    if is_online:
        is_postgresql = connection.dialect.name == "postgresql"
        connection.exec_driver_sql("BEGIN" if is_postgresql else "BEGIN IMMEDIATE")
    try:
        for statement in statements:
            connection.execute(text(statement), values)
    except BaseException:
        if is_online:
            connection.exec_driver_sql("ROLLBACK")
        raise
    if is_online:
        connection.exec_driver_sql("COMMIT")
