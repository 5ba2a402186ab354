"""Distinguish a request whose idempotency key was taken over from its successor."""

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
