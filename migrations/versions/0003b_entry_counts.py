# ruff: noqa: S608 - the names in the statements are written here
"""Store the number of entries of existing sessions, and the size of each entry's record."""

from app.stores.records.migration_steps import run_batches, select_locked

revision = "0003b"
down_revision = "0003a"
branch_labels = None
depends_on = None
is_online = True

# For each kind of entry that existed before `0003`: the table of the records, its id column, and
# the column with the bytes of the record.
_SIZED = (
    ("tool_result", "tool_results", "tool_result_id", "sanitized"),
    ("page_fault", "messages", "message_id", "message"),
)


def upgrade() -> None:
    counts = (
        f"{kind}_count = (SELECT count(*) FROM history_entries h "
        "WHERE h.project_id = sessions.project_id AND h.session_id = sessions.session_id "
        f"AND h.kind = '{kind}')"
        for kind, *_ in _SIZED
    )
    # A separate statement locks the sessions first, so that the counts include all committed
    # entries: a statement does not see what was committed while it waited for a lock.
    run_batches(
        "sessions",
        ("project_id", "session_id"),
        *select_locked("sessions"),
        f"UPDATE sessions SET {', '.join(counts)} WHERE {{rows}}",
        rows=200,
    )
    run_batches(
        "history_entries",
        ("project_id", "session_id", "seq"),
        *(
            f"UPDATE history_entries SET size_bytes = COALESCE((SELECT length(t.{text}) "
            f"FROM {table} t WHERE t.project_id = history_entries.project_id "
            f"AND t.{key} = history_entries.entry_id), 0) "
            f"WHERE kind = '{kind}' AND size_bytes = 0 AND {{rows}}"
            for kind, table, key, text in _SIZED
        ),
    )


def downgrade() -> None:
    """Do nothing: `0003` removes the columns."""
