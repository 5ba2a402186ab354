"""Add the id of a claim of an idempotency key.

A request whose claim was taken over by another request finds another id in the row.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("idempotency_keys", sa.Column("claim_id", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("idempotency_keys", "claim_id")
