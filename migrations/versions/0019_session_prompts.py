"""Add the newest prompt of a session: its system prompt, instructions, tools and model."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "session_prompts",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("dialect", sa.String(), nullable=True),
        sa.Column("prompt", sa.LargeBinary(), nullable=False),
        sa.Column("receipt", sa.String(), nullable=True),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "session_id", name="pk_session_prompts"),
        sa.ForeignKeyConstraint(
            ["project_id", "session_id"],
            ["sessions.project_id", "sessions.session_id"],
            name="fk_session_prompts_sessions",
            ondelete="CASCADE",
        ),
    )


def downgrade() -> None:
    op.drop_table("session_prompts")
