"""Store the highest `seq` of sessions that were deleted earlier, from their events."""

from alembic import op

revision = "0009a"
down_revision = "0009"
branch_labels = None
depends_on = None
is_online = True


def upgrade() -> None:
    # If the events of a deletion have expired, the number of the session is unknown.
    op.execute(
        "INSERT INTO ended_sessions (project_id, session_id, last_seq) "
        "SELECT project_id, session_id, max(seq) FROM events "
        "WHERE type = 'session:deleted' AND session_id IS NOT NULL AND seq IS NOT NULL "
        "GROUP BY project_id, session_id ON CONFLICT DO NOTHING"
    )


def downgrade() -> None:
    """Do nothing: `0009` removes the table."""
