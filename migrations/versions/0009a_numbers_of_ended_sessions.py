"""Take the numbers of ended sessions from their events."""

from alembic import op

revision = "0009a"
down_revision = "0009"
branch_labels = None
depends_on = None
is_online = True


def upgrade() -> None:
    # Of those that ended longer ago than events are kept, nothing is known any more.
    op.execute(
        "INSERT INTO ended_sessions (project_id, session_id, last_seq) "
        "SELECT project_id, session_id, max(seq) FROM events "
        "WHERE type = 'session:deleted' AND session_id IS NOT NULL AND seq IS NOT NULL "
        "GROUP BY project_id, session_id ON CONFLICT DO NOTHING"
    )


def downgrade() -> None:
    """Do nothing: `0009` removes the table."""
