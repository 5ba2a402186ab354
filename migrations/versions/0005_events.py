"""Add the log of events, numbered separately in each project."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("last_event", "events_removed"):
        op.add_column(
            "projects", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")
        )
    op.create_table(
        "events",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("subject_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("members", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "number", name="pk_events"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_events_projects"),
    )
    for columns in (("session_id", "number"), ("session_id", "seq"), ("created_at",)):
        op.create_index(
            f"ix_events_project_id_{'_'.join(columns)}", "events", ["project_id", *columns]
        )


def downgrade() -> None:
    op.drop_table("events")
    for name in ("events_removed", "last_event"):
        op.drop_column("projects", name)
