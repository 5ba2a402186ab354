"""Ended sessions: the numbers that deleted sessions have taken, by their names."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ended_sessions",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "session_id", name="pk_ended_sessions"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], name="fk_ended_sessions_projects"
        ),
    )
    # Of those that ended longer ago than events are kept, nothing is known any more.
    op.execute(
        "INSERT INTO ended_sessions (project_id, session_id, last_seq) "
        "SELECT project_id, session_id, max(seq) FROM events "
        "WHERE type = 'session:deleted' AND session_id IS NOT NULL AND seq IS NOT NULL "
        "GROUP BY project_id, session_id"
    )


def downgrade() -> None:
    op.drop_table("ended_sessions")
