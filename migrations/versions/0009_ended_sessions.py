"""Add ended sessions: the highest `seq` of deleted sessions, by the id of the session."""

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


def downgrade() -> None:
    op.drop_table("ended_sessions")
