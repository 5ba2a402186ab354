"""Add the tools that a session has called, and `form`, the version that has indexed an entry.

A trigger deletes the tools of a deleted session, because earlier versions of the service do not
know the table.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_FORGET = (
    "DELETE FROM session_tools WHERE project_id = OLD.project_id AND session_id = OLD.session_id"
)


def upgrade() -> None:
    op.create_table(
        "session_tools",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("tool_name", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "tool_name", "session_id", name="pk_session_tools"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], name="fk_session_tools_projects"
        ),
    )
    op.create_index(
        "ix_session_tools_project_id_session_id", "session_tools", ["project_id", "session_id"]
    )
    op.add_column(
        "search_entries", sa.Column("form", sa.Integer(), nullable=False, server_default="0")
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION sessions_forget_tools() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {_FORGET}; RETURN NULL; END $$"
        )
        op.execute(
            "CREATE TRIGGER sessions_forget_tools AFTER DELETE ON sessions FOR EACH ROW "
            "EXECUTE FUNCTION sessions_forget_tools()"
        )
    else:
        op.execute(
            f"CREATE TRIGGER sessions_forget_tools AFTER DELETE ON sessions BEGIN {_FORGET}; END"
        )


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER sessions_forget_tools ON sessions")
        op.execute("DROP FUNCTION sessions_forget_tools()")
    else:
        op.execute("DROP TRIGGER sessions_forget_tools")
    op.drop_column("search_entries", "form")
    op.drop_table("session_tools")
