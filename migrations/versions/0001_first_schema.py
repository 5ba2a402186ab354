"""Create projects, API keys, sessions, history, tool results, resources and their links."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "projects",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name="pk_projects"),
    )
    op.create_table(
        "api_keys",
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("secret_sha256", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("key_id", name="pk_api_keys"),
        _of_project("api_keys"),
    )
    _create_sessions()
    _create_tool_results()
    _create_resources()
    op.create_table(
        "idempotency_keys",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("route", sa.String(), nullable=False),
        sa.Column("idempotency_key", sa.String(), nullable=False),
        sa.Column("request_digest", sa.String(), nullable=False),
        sa.Column("claimed_at", sa.BigInteger(), nullable=False),
        sa.Column("answer_id", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint(
            "project_id", "route", "idempotency_key", name="pk_idempotency_keys"
        ),
        _of_project("idempotency_keys"),
    )


def _of_project(table: str) -> sa.ForeignKeyConstraint:
    """Return the foreign key to the project of a row."""
    return sa.ForeignKeyConstraint(
        ["project_id"], ["projects.project_id"], name=f"fk_{table}_projects"
    )


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "session_id", name="pk_sessions"),
        _of_project("sessions"),
    )
    op.create_table(
        "history_entries",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("entry_id", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "session_id", "seq", name="pk_history_entries"),
        sa.ForeignKeyConstraint(
            ["project_id", "session_id"],
            ["sessions.project_id", "sessions.session_id"],
            name="fk_history_entries_sessions",
        ),
    )


def _create_tool_results() -> None:
    op.create_table(
        "tool_results",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("tool_result_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("tool_name", sa.String(), nullable=False),
        sa.Column("tool_call_id", sa.String(), nullable=False),
        sa.Column("success", sa.Boolean(), nullable=False),
        sa.Column("request_digest", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("sanitized", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "tool_result_id", name="pk_tool_results"),
        sa.UniqueConstraint(
            "project_id",
            "session_id",
            "tool_call_id",
            name="uq_tool_results_project_id_session_id_tool_call_id",
        ),
        _of_project("tool_results"),
    )
    op.create_index(
        "ix_tool_results_project_id_session_id_tool_result_id",
        "tool_results",
        ["project_id", "session_id", "tool_result_id"],
    )


def _create_resources() -> None:
    op.create_table(
        "resources",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("mime_type", sa.String(), nullable=False),
        sa.Column("filename", sa.String(), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=True),
        sa.Column("height", sa.Integer(), nullable=True),
        sa.Column("duration_seconds", sa.Float(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "resource_id", name="pk_resources"),
        _of_project("resources"),
    )
    op.create_index("ix_resources_project_id_digest", "resources", ["project_id", "digest"])
    op.create_index(
        "ix_resources_project_id_created_at_resource_id",
        "resources",
        ["project_id", "created_at", "resource_id"],
    )
    op.create_table(
        "resource_links",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("owner_kind", sa.String(), nullable=False),
        sa.Column("owner_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint(
            "project_id", "resource_id", "owner_kind", "owner_id", name="pk_resource_links"
        ),
        sa.ForeignKeyConstraint(
            ["project_id", "resource_id"],
            ["resources.project_id", "resources.resource_id"],
            name="fk_resource_links_resources",
        ),
    )
    op.create_index(
        "ix_resource_links_project_id_session_id_resource_id",
        "resource_links",
        ["project_id", "session_id", "resource_id"],
    )
    op.create_index(
        "ix_resource_links_project_id_owner_kind_owner_id",
        "resource_links",
        ["project_id", "owner_kind", "owner_id"],
    )


def downgrade() -> None:
    for table in (
        "idempotency_keys",
        "resource_links",
        "resources",
        "tool_results",
        "history_entries",
        "sessions",
        "api_keys",
        "projects",
    ):
        op.drop_table(table)
