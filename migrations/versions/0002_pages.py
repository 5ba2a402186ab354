"""Add memory pages with their levels and accesses, the word index of pages, and messages."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# The columns by which lists of pages are filtered. Each index continues with the page number, which
# is the order of a list.
_LISTED_BY = (
    (),
    ("session_id",),
    ("modality",),
    ("page_type",),
    ("pinned",),
    ("compression_level",),
    ("session_id", "pinned", "importance"),
)


def upgrade() -> None:
    _create_pages()
    op.create_table(
        "page_levels",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("page_id", sa.String(), nullable=False),
        sa.Column("level", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "page_id", "level", name="pk_page_levels"),
        _of_page("page_levels"),
    )
    op.create_table(
        "page_accesses",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("page_id", sa.String(), nullable=False),
        sa.Column("access_count", sa.BigInteger(), nullable=False),
        sa.Column("last_accessed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "page_id", name="pk_page_accesses"),
        _of_page("page_accesses"),
    )
    _create_messages()
    if op.get_bind().dialect.name == "postgresql":
        _create_search_on_postgresql()
    else:
        _create_search_on_sqlite()


def _of_page(table: str) -> sa.ForeignKeyConstraint:
    """Return the foreign key to the page of a row, with which the row is deleted."""
    return sa.ForeignKeyConstraint(
        ["project_id", "page_id"],
        ["pages.project_id", "pages.page_id"],
        name=f"fk_{table}_pages",
        ondelete="CASCADE",
    )


def _create_pages() -> None:
    op.create_table(
        "pages",
        sa.Column(
            "page_number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("page_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.Column("modality", sa.String(), nullable=False),
        sa.Column("page_type", sa.String(), nullable=False),
        sa.Column("pinned", sa.Boolean(), nullable=False),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("compression_level", sa.Integer(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("fetched_resource_id", sa.String(), nullable=True),
        sa.Column("inline_form", sa.String(), nullable=True),
        sa.Column("descriptor", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("page_number", name="pk_pages"),
        sa.UniqueConstraint("project_id", "page_id", name="uq_pages_project_id_page_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_pages_projects"),
        sqlite_autoincrement=True,
    )
    for columns in _LISTED_BY:
        names = ["project_id", *columns, "page_number"]
        op.create_index(f"ix_pages_{'_'.join(names)}", "pages", names)


def _create_messages() -> None:
    op.create_table(
        "messages",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("tool_call_id", sa.String(), nullable=True),
        sa.Column("request_digest", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "message_id", name="pk_messages"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], name="fk_messages_projects"
        ),
    )
    op.create_index(
        "ix_messages_project_id_session_id_tool_call_id",
        "messages",
        ["project_id", "session_id", "tool_call_id"],
    )


def _create_search_on_sqlite() -> None:
    # `heading` and `body` are words joined by spaces, so the tokenizer only has to split at spaces:
    # `ascii` treats all characters above 127 as letters. `columnsize=0` omits the sizes that the
    # ranking function bm25 needs. It is not used, because it weighs a word by its frequency in all
    # projects, which would disclose the content of other projects.
    op.execute(
        "CREATE VIRTUAL TABLE page_search USING fts5("
        "project_id UNINDEXED, scope, heading, body, tokenize='ascii', prefix='3', columnsize=0)"
    )
    # A virtual table cannot have a foreign key, so a trigger replaces ON DELETE CASCADE.
    op.execute(
        "CREATE TRIGGER pages_leave_search AFTER DELETE ON pages BEGIN "
        "DELETE FROM page_search WHERE rowid = old.page_number; END"
    )


def _create_search_on_postgresql() -> None:
    for name, columns in (
        ("page_search", "is_long boolean NOT NULL, words tsvector NOT NULL"),
        ("page_search_texts", "heading text NOT NULL, body text NOT NULL"),
    ):
        op.execute(
            f"CREATE TABLE {name} ("
            f"page_number bigint NOT NULL, project_id varchar NOT NULL, {columns}, "
            f"CONSTRAINT pk_{name} PRIMARY KEY (page_number), "
            f"CONSTRAINT fk_{name}_pages FOREIGN KEY (page_number) "
            "REFERENCES pages (page_number) ON DELETE CASCADE)"
        )
    # A GIN index first collects new entries in a pending list. Every search reads this whole list,
    # so it has to be short.
    op.execute(
        "CREATE INDEX ix_page_search_words ON page_search USING gin (words) "
        "WITH (gin_pending_list_limit = 256)"
    )


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.drop_table("page_search_texts")
    op.drop_table("page_search")
    for table in ("messages", "page_accesses", "page_levels", "pages"):
        op.drop_table(table)
