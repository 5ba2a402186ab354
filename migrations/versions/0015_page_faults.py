"""Store the request of a page fault beside the message that answers it; null in older rows."""

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
