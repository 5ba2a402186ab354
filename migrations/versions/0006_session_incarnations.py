"""Add the incarnation of a session, which differs from that of a deleted one with the same id."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("incarnation", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("sessions", "incarnation")
