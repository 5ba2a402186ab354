"""Add `whole_call_id`: the id of a call, if `tool_call_id` is a key that was made from the id.

Such keys replace long and repeated ids. In all other rows `whole_call_id` is null, and
`tool_call_id` is the id. Earlier versions read a key as if it were the id, and write only ids.
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
