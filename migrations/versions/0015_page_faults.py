"""Add the requested page and level to the message of a page fault; null in existing rows."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("page_fault", sa.String()))


def downgrade() -> None:
    op.drop_column("messages", "page_fault")
