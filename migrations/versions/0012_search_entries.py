# ruff: noqa: S608 - the names in the statements are written here
"""Add search entries: a row for each searchable record that is not a memory page.

Triggers of the database insert and remove the rows. The index of pages is not changed, so an
earlier version can use it after a downgrade.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# By the kind of an entry: the table of its records, its id column, and the condition of the rows
# that are searchable.
_FOUND = {
    "tool_result": ("tool_results", "tool_result_id", "true"),
    "message": ("messages", "message_id", "true"),
    "interaction": ("interactions", "interaction_id", "true"),
    "file": ("resources", "resource_id", "{row}.filename IS NOT NULL"),
}
# By the kind of an entry: the change of a record after which it is indexed again, the table, its id
# column, and the condition of the change.
_CHANGED = {
    "interaction": ("UPDATE OF output", "interactions", "interaction_id", "true"),
    "file": (
        "UPDATE OF is_derived",
        "resources",
        "resource_id",
        "OLD.is_derived AND NOT NEW.is_derived",
    ),
}
# A file is also indexed again when a session links it: the table, and the condition.
_LINKED = ("resource_links", "NEW.session_id IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "search_entries",
        sa.Column(
            "entry_number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("entry_id", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), server_default="1", nullable=False),
        sa.Column("indexed", sa.Integer(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("entry_number", name="pk_search_entries"),
        sa.UniqueConstraint(
            "project_id", "entry_id", "kind", name="uq_search_entries_project_id_entry_id_kind"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], name="fk_search_entries_projects"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_search_entries_project_id_entry_number",
        "search_entries",
        ["project_id", "entry_number"],
    )
    waiting = sa.text("indexed < revision")
    op.create_index(
        "ix_search_entries_waiting",
        "search_entries",
        ["project_id", "entry_number"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    op.create_table(
        "stemless_pages",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("page_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "page_number", name="pk_stemless_pages"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], name="fk_stemless_pages_projects"
        ),
    )
    if op.get_bind().dialect.name == "postgresql":
        _create_on_postgresql()
    else:
        _create_on_sqlite()


def _create_on_sqlite() -> None:
    # The options are explained at the table `page_search` in `0002_pages.py`.
    op.execute(
        "CREATE VIRTUAL TABLE entry_search USING fts5("
        "project_id UNINDEXED, scope, heading, body, tokenize='ascii', prefix='3', columnsize=0)"
    )
    op.execute(
        "CREATE TRIGGER search_entries_leave_search AFTER DELETE ON search_entries BEGIN "
        "DELETE FROM entry_search WHERE rowid = old.entry_number; END"
    )
    for kind, (table, key, condition) in _FOUND.items():
        op.execute(
            f"CREATE TRIGGER {table}_enter_search AFTER INSERT ON {table} "
            f"WHEN {condition.format(row='NEW')} BEGIN "
            "INSERT INTO search_entries (project_id, kind, entry_id) "
            f"VALUES (NEW.project_id, '{kind}', NEW.{key}); END"
        )
        op.execute(
            f"CREATE TRIGGER {table}_leave_search AFTER DELETE ON {table} "
            f"BEGIN {_removed(kind, key)}; END"
        )
    for kind, (change, table, key, condition) in _CHANGED.items():
        op.execute(
            f"CREATE TRIGGER {table}_change_search AFTER {change} ON {table} "
            f"WHEN {condition} BEGIN {_revised(kind, key)}; END"
        )
    table, condition = _LINKED
    op.execute(
        f"CREATE TRIGGER {table}_change_search AFTER INSERT ON {table} "
        f"WHEN {condition} BEGIN {_revised('file', 'resource_id')}; END"
    )


def _removed(kind: str, key: str) -> str:
    """Return the statement of a trigger that removes the entry of a removed record."""
    return (
        "DELETE FROM search_entries WHERE project_id = OLD.project_id "
        f"AND entry_id = OLD.{key} AND kind = '{kind}'"
    )


def _revised(kind: str, key: str) -> str:
    """Return the statement of a trigger that queues the entry of a changed record again."""
    return (
        "UPDATE search_entries SET revision = revision + 1 WHERE project_id = NEW.project_id "
        f"AND entry_id = NEW.{key} AND kind = '{kind}'"
    )


def _create_on_postgresql() -> None:
    for name, columns in (
        ("entry_search", "is_long boolean NOT NULL, words tsvector NOT NULL"),
        ("entry_search_texts", "heading text NOT NULL, body text NOT NULL"),
    ):
        op.execute(
            f"CREATE TABLE {name} ("
            f"entry_number bigint NOT NULL, project_id varchar NOT NULL, {columns}, "
            f"CONSTRAINT pk_{name} PRIMARY KEY (entry_number), "
            f"CONSTRAINT fk_{name}_search_entries FOREIGN KEY (entry_number) "
            "REFERENCES search_entries (entry_number) ON DELETE CASCADE)"
        )
    op.execute(
        "CREATE INDEX ix_entry_search_words ON entry_search USING gin (words) "
        "WITH (gin_pending_list_limit = 256)"
    )
    for kind, (table, key, condition) in _FOUND.items():
        entering = (
            "INSERT INTO search_entries (project_id, kind, entry_id) "
            f"VALUES (NEW.project_id, '{kind}', NEW.{key})"
        )
        _trigger(
            f"{table}_enter_search", f"INSERT ON {table}", entering, condition.format(row="NEW")
        )
        _trigger(f"{table}_leave_search", f"DELETE ON {table}", _removed(kind, key), "true")
    for kind, (change, table, key, condition) in _CHANGED.items():
        _trigger(f"{table}_change_search", f"{change} ON {table}", _revised(kind, key), condition)
    table, condition = _LINKED
    revised = _revised("file", "resource_id")
    _trigger(f"{table}_change_search", f"INSERT ON {table}", revised, condition)


def _trigger(name: str, change: str, statement: str, condition: str) -> None:
    op.execute(
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN {statement}; RETURN NULL; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {name} AFTER {change} FOR EACH ROW WHEN ({condition}) "
        f"EXECUTE FUNCTION {name}()"
    )


def downgrade() -> None:
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    names = {f"{_LINKED[0]}_change_search": _LINKED[0]}
    names |= {f"{table}_change_search": table for _, table, _, _ in _CHANGED.values()}
    for table, _, _ in _FOUND.values():
        names |= {f"{table}_enter_search": table, f"{table}_leave_search": table}
    for name, table in names.items():
        if is_postgresql:
            op.execute(f"DROP TRIGGER {name} ON {table}")
            op.execute(f"DROP FUNCTION {name}()")
        else:
            op.execute(f"DROP TRIGGER {name}")
    if is_postgresql:
        op.drop_table("entry_search_texts")
    op.drop_table("entry_search")
    op.drop_table("stemless_pages")
    op.drop_table("search_entries")
