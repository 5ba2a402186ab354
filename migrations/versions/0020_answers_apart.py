"""Add `is_apart`: whether a request stored a result alone, or in a list with others.

`app.stores.records.tables` explains the values. Rows of earlier versions have null.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("tool_results", "messages"):
        op.add_column(table, sa.Column("is_apart", sa.Boolean()))


def downgrade() -> None:
    for table in ("messages", "tool_results"):
        op.drop_column(table, "is_apart")
