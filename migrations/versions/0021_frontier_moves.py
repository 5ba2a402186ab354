"""Add the moves of frontiers. Earlier moves are unknown, so nothing is inserted."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "frontier_moves",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("levels", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "session_id", "name", "seq", name="pk_frontier_moves"
        ),
        sa.ForeignKeyConstraint(
            ["project_id", "session_id"],
            ["sessions.project_id", "sessions.session_id"],
            name="fk_frontier_moves_sessions",
            ondelete="CASCADE",
        ),
    )


def downgrade() -> None:
    op.drop_table("frontier_moves")
