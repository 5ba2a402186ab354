"""The dialect of a message, by which reading it came in, and its role if it is wrapped.

All three are null in rows of an earlier version, and in those that it still writes.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("dialect", sa.String()))
    op.add_column("messages", sa.Column("reading", sa.Integer()))
    op.add_column("messages", sa.Column("role", sa.String()))


def downgrade() -> None:
    for name in ("role", "reading", "dialect"):
        op.drop_column("messages", name)
