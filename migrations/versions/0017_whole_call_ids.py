"""The whole id of a call where its column has a key made of it; null where that is the id itself.

Versions that do not know it read the key as an id, and write ids that are keys of themselves.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_TABLES = ("tool_results", "messages")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("whole_call_id", sa.String()))


def downgrade() -> None:
    for table in _TABLES:
        op.drop_column(table, "whole_call_id")
