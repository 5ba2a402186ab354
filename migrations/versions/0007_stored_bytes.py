"""Add tables for the quota of a project: its stored blobs, their total, and reservations."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006a"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Nothing is inserted here: a service with a quota counts the stored blobs when it starts.
    _create("stored_blobs", ["digest"], sa.Column("size_bytes", sa.BigInteger(), nullable=False))
    _create(
        "stored_totals",
        [],
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("reserved_bytes", sa.BigInteger(), nullable=False),
    )
    _create(
        "byte_reservations",
        ["reservation_id"],
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
    )


def downgrade() -> None:
    for table in ("byte_reservations", "stored_totals", "stored_blobs"):
        op.drop_table(table)


def _create(table: str, keys: list[str], *columns: sa.Column[int]) -> None:
    """Create a table whose primary key is the project and the text columns `keys`."""
    op.create_table(
        table,
        sa.Column("project_id", sa.String(), nullable=False),
        *(sa.Column(key, sa.String(), nullable=False) for key in keys),
        *columns,
        sa.PrimaryKeyConstraint("project_id", *keys, name=f"pk_{table}"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], name=f"fk_{table}_projects"
        ),
    )
