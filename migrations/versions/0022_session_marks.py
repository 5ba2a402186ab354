"""Add the marks that people set on sessions: pinned, tags and a note. Existing ones have none."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "sessions", sa.Column("pinned", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.add_column("sessions", sa.Column("tags", sa.String()))
    op.add_column("sessions", sa.Column("note", sa.String()))


def downgrade() -> None:
    for name in ("note", "tags", "pinned"):
        op.drop_column("sessions", name)
