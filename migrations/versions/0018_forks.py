"""Add the origin of a fork: the session that it was copied from. Null in other sessions."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("forked_from", sa.String()))


def downgrade() -> None:
    op.drop_column("sessions", "forked_from")
