"""Add an index of sessions by the time of the last write, in which order they are listed."""

from alembic import op

from app.stores.records.migration_steps import build_index

revision = "0003a"
down_revision = "0003"
branch_labels = None
depends_on = None
is_online = True

_NAME = "ix_sessions_project_id_updated_at_session_id"


def upgrade() -> None:
    build_index(_NAME, "sessions", ["project_id", "updated_at", "session_id"])


def downgrade() -> None:
    op.drop_index(_NAME, "sessions")
