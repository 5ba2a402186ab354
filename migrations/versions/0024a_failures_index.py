"""Add an index of the few messages that have failed results."""

import sqlalchemy as sa
from alembic import op

from app.stores.records.migration_steps import build_index

revision = "0024a"
down_revision = "0024"
branch_labels = None
depends_on = None
is_online = True


def upgrade() -> None:
    has_failures = sa.text("failures > 0")
    build_index(
        "ix_messages_failures",
        "messages",
        ["project_id", "session_id"],
        sqlite_where=has_failures,
        postgresql_where=has_failures,
    )


def downgrade() -> None:
    op.drop_index("ix_messages_failures", table_name="messages")
