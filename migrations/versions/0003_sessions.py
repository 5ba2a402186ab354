"""Add counts and sizes of entries, interactions, resumable uploads and swept blobs."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# The kinds of entries of a history; a session has a column with the number of each.
_COUNTED = ("tool_result", "page_fault", "message", "interaction", "answer")


def upgrade() -> None:
    for kind in _COUNTED:
        op.add_column(
            "sessions",
            sa.Column(f"{kind}_count", sa.BigInteger(), nullable=False, server_default="0"),
        )
    op.add_column(
        "history_entries",
        sa.Column("size_bytes", sa.BigInteger(), nullable=False, server_default="0"),
    )
    op.add_column("resources", sa.Column("derived_in", sa.String(), nullable=True))
    op.add_column("messages", sa.Column("inline_form", sa.String(), nullable=True))
    _create_interactions()
    _create_uploads()
    op.create_table(
        "swept_blobs",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("claimed_at", sa.BigInteger(), nullable=False),
        sa.Column("swept_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("project_id", "digest", name="pk_swept_blobs"),
        _of_project("swept_blobs"),
    )


def _of_project(table: str) -> sa.ForeignKeyConstraint:
    """Return the foreign key to the project of a row."""
    return sa.ForeignKeyConstraint(
        ["project_id"], ["projects.project_id"], name=f"fk_{table}_projects"
    )


def _create_interactions() -> None:
    op.create_table(
        "interactions",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("interaction_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("input_kind", sa.String(), nullable=False),
        sa.Column("timestamp", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("answer_seq", sa.BigInteger(), nullable=True),
        sa.Column("answered_at", sa.BigInteger(), nullable=True),
        sa.Column("output", sa.LargeBinary(), nullable=True),
        sa.Column("input", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "interaction_id", name="pk_interactions"),
        _of_project("interactions"),
    )
    for columns in (("session_id", "seq"), ("session_id", "input_kind", "seq")):
        names = ["project_id", *columns]
        op.create_index(f"ix_interactions_{'_'.join(names)}", "interactions", names)


def _create_uploads() -> None:
    op.create_table(
        "uploads",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("upload_id", sa.String(), nullable=False),
        sa.Column("length_bytes", sa.BigInteger(), nullable=False),
        sa.Column("received_bytes", sa.BigInteger(), nullable=False),
        sa.Column("metadata", sa.String(), nullable=True),
        sa.Column("filename", sa.String(), nullable=True),
        sa.Column("mime_type", sa.String(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("project_id", "upload_id", name="pk_uploads"),
        _of_project("uploads"),
    )
    op.create_index("ix_uploads_project_id_expires_at", "uploads", ["project_id", "expires_at"])
    op.create_table(
        "upload_segments",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("upload_id", sa.String(), nullable=False),
        sa.Column("start", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "upload_id", "start", name="pk_upload_segments"),
        sa.ForeignKeyConstraint(
            ["project_id", "upload_id"],
            ["uploads.project_id", "uploads.upload_id"],
            name="fk_upload_segments_uploads",
            ondelete="CASCADE",
        ),
    )
    op.create_index(
        "ix_upload_segments_project_id_digest", "upload_segments", ["project_id", "digest"]
    )


def downgrade() -> None:
    for table in ("swept_blobs", "upload_segments", "uploads", "interactions"):
        op.drop_table(table)
    op.drop_column("messages", "inline_form")
    op.drop_column("resources", "derived_in")
    op.drop_column("history_entries", "size_bytes")
    for kind in _COUNTED:
        op.drop_column("sessions", f"{kind}_count")
