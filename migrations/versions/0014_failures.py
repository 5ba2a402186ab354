"""Add an index of failed tool results, because lists of sessions show their number."""

import sqlalchemy as sa
from alembic import op

from app.stores.records.migration_steps import build_index

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None
is_online = True


def upgrade() -> None:
    build_index(
        "ix_tool_results_failures",
        "tool_results",
        ["project_id", "session_id"],
        sqlite_where=sa.text("success IS 0"),
        postgresql_where=sa.text("success IS false"),
    )


def downgrade() -> None:
    op.drop_index("ix_tool_results_failures", table_name="tool_results")
