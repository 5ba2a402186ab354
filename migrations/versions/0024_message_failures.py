"""Add the number of failed results in a message, which lists of sessions add up."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023a"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "messages", sa.Column("failures", sa.Integer(), nullable=False, server_default="0")
    )


def downgrade() -> None:
    op.drop_column("messages", "failures")
