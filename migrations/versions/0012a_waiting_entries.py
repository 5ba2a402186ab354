# ruff: noqa: S608 - the names in the statements are written here
"""Queue existing records for the index, and existing pages, whose words have no stems yet.

The service works through both queues while it runs.
"""

from alembic import op

from app.stores.records.migration_steps import run_batches

revision = "0012a"
down_revision = "0012"
branch_labels = None
depends_on = None
is_online = True

# By the kind of an entry: the table of its records, its id column, and the condition of the rows
# that are searchable.
_FOUND = {
    "tool_result": ("tool_results", "tool_result_id", "1 = 1"),
    "message": ("messages", "message_id", "1 = 1"),
    "interaction": ("interactions", "interaction_id", "1 = 1"),
    "file": ("resources", "resource_id", "filename IS NOT NULL"),
}
_LIST = "found_entries"


def upgrade() -> None:
    # Records of all kinds are sorted by age once, into a table that only this migration uses.
    # Batches are then read from that table.
    rows = " UNION ALL ".join(
        f"SELECT project_id, '{kind}' AS kind, {key} AS entry_id, created_at FROM {table} "
        f"WHERE {condition}"
        for kind, (table, key, condition) in _FOUND.items()
    )
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    op.execute(f"DROP TABLE IF EXISTS {_LIST}")
    op.execute(
        # SQLite writes a temporary table to a separate file, so other writers do not wait.
        f"CREATE {'' if is_postgresql else 'TEMPORARY '}TABLE {_LIST} AS SELECT "
        "row_number() OVER (ORDER BY created_at, kind, entry_id) AS place, "
        f"project_id, kind, entry_id FROM ({rows}) AS found"
    )
    op.execute(f"CREATE INDEX ix_{_LIST} ON {_LIST} (place)")
    run_batches(
        _LIST,
        ("place",),
        "INSERT INTO search_entries (project_id, kind, entry_id) "
        f"SELECT project_id, kind, entry_id FROM {_LIST} WHERE {{rows}} ORDER BY place "
        "ON CONFLICT DO NOTHING",
    )
    op.execute(f"DROP TABLE {_LIST}")
    run_batches(
        "pages",
        ("page_number",),
        "INSERT INTO stemless_pages (project_id, page_number) "
        "SELECT project_id, page_number FROM pages WHERE {rows} ON CONFLICT DO NOTHING",
    )


def downgrade() -> None:
    """Do nothing: `0012` removes the tables."""
