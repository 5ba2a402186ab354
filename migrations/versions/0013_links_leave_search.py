"""Index a file again when the link from a session is removed, or moved to another session.

Migration `0012` does this when a link is added.
"""

from alembic import op

revision = "0013"
down_revision = "0012a"
branch_labels = None
depends_on = None

# By the name of the trigger: the change that it follows, and its condition.
_CHANGES = {
    "resource_links_leave_search": ("DELETE", "OLD.session_id IS NOT NULL"),
    "resource_links_move_search": (
        "UPDATE OF session_id",
        "OLD.session_id IS DISTINCT FROM NEW.session_id",
    ),
}
_REVISED = (
    "UPDATE search_entries SET revision = revision + 1 WHERE project_id = OLD.project_id "
    "AND entry_id = OLD.resource_id AND kind = 'file'"
)


def upgrade() -> None:
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    for name, (change, condition) in _CHANGES.items():
        if is_postgresql:
            op.execute(
                f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN {_REVISED}; RETURN NULL; END $$"
            )
            op.execute(
                f"CREATE TRIGGER {name} AFTER {change} ON resource_links FOR EACH ROW "
                f"WHEN ({condition}) EXECUTE FUNCTION {name}()"
            )
        else:
            # SQLite has `IS DISTINCT FROM` since 3.39, and `IS NOT` always.
            sqlite_condition = condition.replace("IS DISTINCT FROM", "IS NOT")
            op.execute(
                f"CREATE TRIGGER {name} AFTER {change} ON resource_links "
                f"WHEN {sqlite_condition} BEGIN {_REVISED}; END"
            )


def downgrade() -> None:
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    for name in _CHANGES:
        op.execute(f"DROP TRIGGER {name}" + (" ON resource_links" if is_postgresql else ""))
        if is_postgresql:
            op.execute(f"DROP FUNCTION {name}()")
