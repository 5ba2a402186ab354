"""The tables.

    projects ─┬─ api_keys
              ├─ sessions ─┬─ history_entries ·· tool_results, messages, interactions
              │            ├─ frontiers, frontier_moves
              │            └─ session_prompts
              ├─ resources ─┬─ resource_links
              │             ├─ derived_images
              │             └─ aliases
              ├─ uploads ── upload_segments
              ├─ swept_blobs
              ├─ stored_blobs, stored_totals, byte_reservations
              ├─ events
              ├─ pages ─┬─ page_levels
              │         ├─ page_accesses
              │         └─ page_search, page_search_texts (differ between the databases)
              ├─ search_entries ── entry_search, entry_search_texts (differ, too)
              ├─ stemless_pages
              └─ idempotency_keys

Every table except `projects` and `api_keys` has a `project_id`, and `ProjectScope` executes every
statement on them with its project. The bytes of a tool result, a message or an interaction are
stored once, in `tool_results`, `messages` or `interactions`; history entries and events refer to
them. A page has an id, which clients use, and a number, which lists and search use; newer pages
have higher numbers. The tables of search are in `search_tables`.
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
    Sequence,
    String,
    Table,
    UniqueConstraint,
    false,
)
from sqlalchemy.schema import SchemaItem

from app.stores.records.columns import ClientText, UtcTime, metadata


def _of_project(name: str, *parts: SchemaItem) -> Table:
    """Return a table whose primary key begins with the project of a row."""
    project = Column("project_id", String, ForeignKey("projects.project_id"), primary_key=True)
    return Table(name, metadata, project, *parts)


def _of_owner(name: str, *parts: SchemaItem) -> Table:
    """Return a table with `project_id`, without a foreign key to `projects`.

    A foreign key to another table implies that the project exists.
    """
    return Table(name, metadata, Column("project_id", String, primary_key=True), *parts)


def _refers_to(table: str, key: str, ondelete: str | None = None) -> ForeignKeyConstraint:
    """Return a foreign key to a row of the same project in another table."""
    columns = ["project_id", key]
    return ForeignKeyConstraint(columns, [f"{table}.{name}" for name in columns], ondelete=ondelete)


projects = _of_owner(
    "projects",
    Column("created_at", UtcTime, nullable=False),
    # The number of its newest event, and the highest number that was removed from the log.
    Column("last_event", BigInteger, nullable=False, server_default="0"),
    Column("events_removed", BigInteger, nullable=False, server_default="0"),
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

sessions = _of_project(
    "sessions",
    Column("session_id", String, primary_key=True),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    # The number of entries of each kind, so that they need not be counted.
    *(
        Column(f"{kind}_count", BigInteger, nullable=False, server_default="0")
        for kind in ("tool_result", "page_fault", "message", "interaction", "answer")
    ),
    # Unique to each session. After a session is deleted, another may be imported with the same ids
    # and times. Null if an older version has created the session.
    Column("incarnation", String),
    # The `ForkOrigin` of a fork, as JSON.
    Column("forked_from", String),
    # The `SessionMarks`: tags are a JSON array, null for none.
    Column("pinned", Boolean, nullable=False, server_default=false()),
    Column("tags", String),
    Column("note", ClientText),
    Index(None, "project_id", "updated_at", "session_id"),
)

# The frontiers of a session, by name, and the hashes of the messages that were rendered last.
# `version` grows with every change.
frontiers = _of_owner(
    "frontiers",
    Column("session_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("state", String, nullable=False),
    Column("sent", LargeBinary, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    _refers_to("sessions", "session_id", ondelete="CASCADE"),
)

# For each move of a frontier: the newest entry at that time, and the levels after the move.
frontier_moves = _of_owner(
    "frontier_moves",
    Column("session_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("levels", String, nullable=False),
    _refers_to("sessions", "session_id", ondelete="CASCADE"),
)

# The highest `seq` of deleted sessions with an id. A client may still send it as its last position
# after another session with this id was created.
ended_sessions = _of_project(
    "ended_sessions",
    Column("session_id", String, primary_key=True),
    Column("last_seq", BigInteger, nullable=False),
)

history_entries = _of_owner(
    "history_entries",
    Column("session_id", String, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String, nullable=False),
    Column("entry_id", String, nullable=False),
    # The size of the record, for limiting the bytes of a list.
    Column("size_bytes", BigInteger, nullable=False, server_default="0"),
    _refers_to("sessions", "session_id"),
)

tool_results = _of_project(
    "tool_results",
    Column("tool_result_id", String, primary_key=True),
    Column("session_id", String),
    Column("seq", BigInteger),
    Column("tool_name", ClientText, nullable=False),
    # Identifies it among the answers of its session: the id of its call, or a key made of that.
    Column("tool_call_id", ClientText, nullable=False),
    # The id of the call, if `tool_call_id` is a key.
    Column("whole_call_id", ClientText),
    # False if it was stored in a list with others; null means true.
    Column("is_apart", Boolean),
    Column("success", Boolean, nullable=False),
    Column("request_digest", String, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("sanitized", LargeBinary, nullable=False),
    UniqueConstraint("project_id", "session_id", "tool_call_id"),
    Index(None, "project_id", "session_id", "tool_result_id"),
)
# Failed results are few, and are counted for every list of sessions.
Index(
    "ix_tool_results_failures",
    tool_results.c.project_id,
    tool_results.c.session_id,
    sqlite_where=tool_results.c.success.is_(False),
    postgresql_where=tool_results.c.success.is_(False),
)

resources = _of_project(
    "resources",
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
    # The project that its id was derived in, if it was imported with a session of that project.
    Column("derived_in", String),
    # True if it was made from another resource, and nothing else needs it: it is removed with that.
    Column("is_derived", Boolean, nullable=False, server_default=false()),
    Index(None, "project_id", "digest"),
    Index(None, "project_id", "created_at", "resource_id"),
)

resource_links = _of_owner(
    "resource_links",
    Column("resource_id", String, primary_key=True),
    Column("owner_kind", String, primary_key=True),
    Column("owner_id", String, primary_key=True),
    Column("session_id", String),
    # The database itself refuses to delete a resource that something refers to.
    _refers_to("resources", "resource_id"),
    Index(None, "project_id", "session_id", "resource_id"),
    Index(None, "project_id", "owner_kind", "owner_id"),
)

# Ids that other systems have for resources.
aliases = _of_project(
    "aliases",
    Column("alias", String, primary_key=True),
    Column("resource_id", String, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    # An alias is removed with its resource.
    _refers_to("resources", "resource_id", ondelete="CASCADE"),
    Index(None, "project_id", "resource_id"),
    Index(None, "project_id", "created_at", "alias"),
)

derived_images = _of_project(
    "derived_images",
    Column("source_digest", String, primary_key=True),
    Column("recipe", String, primary_key=True),
    # Null if no image can be made of the source, so that hostile bytes are decoded once.
    Column("resource_id", String),
    Column("is_first_picture", Boolean, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    _refers_to("resources", "resource_id", ondelete="CASCADE"),
    Index(None, "project_id", "resource_id"),
)

events = _of_project(
    "events",
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("type", String, nullable=False),
    Column("subject_id", String, nullable=False),
    Column("session_id", String),
    # The number of the write in its session.
    Column("seq", BigInteger),
    Column("created_at", UtcTime, nullable=False),
    # The size of the record, for limiting the bytes of a list.
    Column("size_bytes", BigInteger, nullable=False),
    # The other members of the event, as a JSON object.
    Column("members", LargeBinary, nullable=False),
    Index(None, "project_id", "session_id", "number"),
    Index(None, "project_id", "session_id", "seq"),
    Index(None, "project_id", "created_at"),
)

idempotency_keys = _of_project(
    "idempotency_keys",
    Column("route", String, primary_key=True),
    Column("idempotency_key", ClientText, primary_key=True),
    Column("request_digest", String, nullable=False),
    Column("claimed_at", UtcTime, nullable=False),
    Column("answer_id", String),
    # Unique to the request that has claimed the key, so a slow request notices that another one has
    # taken its claim over. Null if an older version has claimed the key.
    Column("claim_id", String),
)

# In SQLite, only a column of exactly the type INTEGER can be the rowid.
_PageNumber = BigInteger().with_variant(Integer, "sqlite")

pages = Table(
    "pages",
    metadata,
    Column("page_number", _PageNumber, primary_key=True),
    Column("project_id", String, ForeignKey("projects.project_id"), nullable=False),
    Column("page_id", String, nullable=False),
    Column("session_id", String),
    Column("modality", String, nullable=False),
    Column("page_type", String, nullable=False),
    Column("pinned", Boolean, nullable=False),
    Column("importance", Float, nullable=False),
    Column("compression_level", Integer, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("digest", String, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("fetched_resource_id", String),
    Column("inline_form", ClientText),
    Column("descriptor", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
    # The last column, because SQLite reads a row from its beginning, and lists do not need it.
    Column("content", LargeBinary, nullable=False),
    UniqueConstraint("project_id", "page_id"),
    Index(None, "project_id", "page_number"),
    Index(None, "project_id", "session_id", "page_number"),
    Index(None, "project_id", "modality", "page_number"),
    Index(None, "project_id", "page_type", "page_number"),
    Index(None, "project_id", "pinned", "page_number"),
    Index(None, "project_id", "compression_level", "page_number"),
    Index(None, "project_id", "session_id", "pinned", "importance", "page_number"),
    # The number of a removed page is not used again, because cursors may contain it.
    sqlite_autoincrement=True,
)

page_numbers = Sequence("pages_page_number_seq")
"""The sequence of page numbers in PostgreSQL, owned by their column."""

page_levels = _of_owner(
    "page_levels",
    Column("page_id", String, primary_key=True),
    Column("level", Integer, primary_key=True, autoincrement=False),
    Column("origin", String, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("body", LargeBinary, nullable=False),
    _refers_to("pages", "page_id", ondelete="CASCADE"),
)

page_accesses = _of_owner(
    "page_accesses",
    Column("page_id", String, primary_key=True),
    Column("access_count", BigInteger, nullable=False),
    Column("last_accessed", UtcTime, nullable=False),
    _refers_to("pages", "page_id", ondelete="CASCADE"),
)

messages = _of_project(
    "messages",
    Column("message_id", String, primary_key=True),
    Column("session_id", String, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("tool_call_id", ClientText),
    Column("request_digest", String, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("message", LargeBinary, nullable=False),
    Column("inline_form", ClientText),
    # The page and level of a page fault.
    Column("page_fault", String),
    # The dialect by which the message is read; null in rows of earlier versions.
    Column("dialect", String),
    Column("reading", Integer),
    # The role, if `message` is only the content of a message; null if it is a whole message.
    Column("role", String),
    # As in `tool_results`; null if it was stored in a list.
    Column("whole_call_id", ClientText),
    Column("is_apart", Boolean),
    Index(None, "project_id", "session_id", "tool_call_id"),
)

interactions = _of_project(
    "interactions",
    Column("interaction_id", String, primary_key=True),
    Column("session_id", String, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("input_kind", String, nullable=False),
    Column("timestamp", String, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    # The number of the answer in the history; null without an answer, or if it came with the input.
    Column("answer_seq", BigInteger),
    Column("answered_at", UtcTime),
    # The resources of its attachments, if these were named by other ids, such as aliases.
    Column("bindings", String),
    Column("output", LargeBinary),
    Column("input", LargeBinary, nullable=False),
    Index(None, "project_id", "session_id", "seq"),
    Index(None, "project_id", "session_id", "input_kind", "seq"),
)

uploads = _of_project(
    "uploads",
    Column("upload_id", String, primary_key=True),
    Column("length_bytes", BigInteger, nullable=False),
    Column("received_bytes", BigInteger, nullable=False),
    Column("metadata", ClientText),
    Column("filename", ClientText),
    Column("mime_type", ClientText),
    # The alias that the resource will get.
    Column("alias", String),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    # Set when the upload is complete; not changed if the resource is deleted later.
    Column("resource_id", String),
    Index(None, "project_id", "expires_at"),
)

upload_segments = _of_owner(
    "upload_segments",
    Column("upload_id", String, primary_key=True),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("digest", String, nullable=False),
    _refers_to("uploads", "upload_id", ondelete="CASCADE"),
    Index(None, "project_id", "digest"),
)

swept_blobs = _of_project(
    "swept_blobs",
    Column("digest", String, primary_key=True),
    Column("claimed_at", UtcTime, nullable=False),
    Column("swept_at", UtcTime),
)

# The prompts of sessions: system prompt, tools and model.
session_prompts = _of_owner(
    "session_prompts",
    Column("session_id", String, primary_key=True),
    Column("dialect", String),
    Column("prompt", LargeBinary, nullable=False),
    Column("receipt", String),
    Column("updated_at", UtcTime, nullable=False),
    _refers_to("sessions", "session_id", ondelete="CASCADE"),
)

# Used if a quota is set: each stored blob, the sum of their bytes, and reservations for new blobs.
stored_blobs = _of_project(
    "stored_blobs",
    Column("digest", String, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
)

stored_totals = _of_project(
    "stored_totals",
    Column("stored_bytes", BigInteger, nullable=False),
    Column("reserved_bytes", BigInteger, nullable=False),
)

byte_reservations = _of_project(
    "byte_reservations",
    Column("reservation_id", String, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
)
