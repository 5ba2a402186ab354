"""Add the dialect of a message, the version of its reader, and the role of a bare content.

All three are null in rows that an earlier version has written, or writes after this migration.
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
