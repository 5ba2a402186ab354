"""The tables.

    projects ─┬─ api_keys
              ├─ sessions ── history_entries ·· tool_results
              ├─ resources ── resource_links
              └─ idempotency_keys

Every table but `projects` and `api_keys` starts its primary key with `project_id`, and every
statement on them is made by `ProjectScope`, which puts the project into it. A tool result's bytes
are stored once, in `tool_results`; its history entry points to them.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

from app.stores.records.columns import ClientText, UtcTime

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _project() -> Column[str]:
    return Column("project_id", String, ForeignKey("projects.project_id"), primary_key=True)


projects = Table(
    "projects",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("created_at", UtcTime, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", String, primary_key=True),
    Column("project_id", String, ForeignKey("projects.project_id"), nullable=False),
    Column("label", ClientText, nullable=False),
    Column("secret_sha256", String, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("revoked_at", UtcTime),
)

sessions = Table(
    "sessions",
    metadata,
    _project(),
    Column("session_id", String, primary_key=True),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
)

history_entries = Table(
    "history_entries",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("session_id", String, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String, nullable=False),
    Column("entry_id", String, nullable=False),
    ForeignKeyConstraint(
        ["project_id", "session_id"], ["sessions.project_id", "sessions.session_id"]
    ),
)

tool_results = Table(
    "tool_results",
    metadata,
    _project(),
    Column("tool_result_id", String, primary_key=True),
    Column("session_id", String),
    Column("seq", BigInteger),
    Column("tool_name", ClientText, nullable=False),
    Column("tool_call_id", ClientText, nullable=False),
    Column("success", Boolean, nullable=False),
    Column("request_digest", String, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("sanitized", LargeBinary, nullable=False),
    UniqueConstraint("project_id", "session_id", "tool_call_id"),
    Index(None, "project_id", "session_id", "tool_result_id"),
)

resources = Table(
    "resources",
    metadata,
    _project(),
    Column("resource_id", String, primary_key=True),
    Column("digest", String, nullable=False),
    Column("mime_type", String, nullable=False),
    Column("filename", ClientText),
    Column("size_bytes", BigInteger, nullable=False),
    Column("kind", String, nullable=False),
    Column("width", Integer),
    Column("height", Integer),
    Column("duration_seconds", Float),
    Column("created_at", UtcTime, nullable=False),
    Index(None, "project_id", "digest"),
    Index(None, "project_id", "created_at", "resource_id"),
)

resource_links = Table(
    "resource_links",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("resource_id", String, primary_key=True),
    Column("owner_kind", String, primary_key=True),
    Column("owner_id", String, primary_key=True),
    Column("session_id", String),
    # The database itself refuses to delete a resource that something refers to.
    ForeignKeyConstraint(
        ["project_id", "resource_id"], ["resources.project_id", "resources.resource_id"]
    ),
    Index(None, "project_id", "session_id", "resource_id"),
    Index(None, "project_id", "owner_kind", "owner_id"),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    _project(),
    Column("route", String, primary_key=True),
    Column("idempotency_key", ClientText, primary_key=True),
    Column("request_digest", String, nullable=False),
    Column("claimed_at", UtcTime, nullable=False),
    Column("answer_id", String),
)
