"""Set the incarnation of existing sessions."""

from app.stores.records.migration_steps import run_batches

revision = "0006a"
down_revision = "0006"
branch_labels = None
depends_on = None
is_online = True


def upgrade() -> None:
    # New sessions get random incarnations, which differ from 'first'. So all existing sessions may
    # have the same incarnation.
    run_batches(
        "sessions",
        ("project_id", "session_id"),
        "UPDATE sessions SET incarnation = 'first' WHERE incarnation IS NULL AND {rows}",
    )


def downgrade() -> None:
    """Do nothing: `0006` removes the column."""
