"""The tables of the database, except those of search, which are in `search_tables`.

    projects ─┬─ api_keys
              ├─ sessions ─┬─ history_entries ·· tool_results, messages, interactions
              │            ├─ frontiers, frontier_moves
              │            └─ session_prompts, session_tools
              ├─ ended_sessions
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

Every table has a `project_id`. For all tables except `projects` and `api_keys`, `ProjectScope` adds
its project to every statement. The bytes of a tool result, a message or an interaction are stored
once, in `tool_results`, `messages` or `interactions`; history entries and events refer to these
rows. A page has an id, which clients use, and a number, which lists and search use; newer pages
have higher numbers.
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
    literal_column,
)
from sqlalchemy.schema import SchemaItem

from app.stores.records.columns import ClientText, UtcTime, metadata


def _project_table(name: str, *parts: SchemaItem) -> Table:
    """Return a table whose primary key begins with the project of a row."""
    project = Column("project_id", String, ForeignKey("projects.project_id"), primary_key=True)
    return Table(name, metadata, project, *parts)


def _child_table(name: str, *parts: SchemaItem) -> Table:
    """Return a table whose rows belong to rows of another table, by a foreign key in `parts`.

    The primary key begins with the project, but there is no foreign key to `projects`: the parent
    row has one.
    """
    return Table(name, metadata, Column("project_id", String, primary_key=True), *parts)


def _foreign_key_to(table: str, key: str, ondelete: str | None = None) -> ForeignKeyConstraint:
    """Return a foreign key to a row of the same project in another table."""
    columns = ["project_id", key]
    return ForeignKeyConstraint(columns, [f"{table}.{name}" for name in columns], ondelete=ondelete)


projects = Table(
    "projects",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("created_at", UtcTime, nullable=False),
    # The numbers of the newest event, and of the newest one that was removed from the log.
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

sessions = _project_table(
    "sessions",
    Column("session_id", String, primary_key=True),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    # The number of entries of each kind, because counting the entries would take long.
    *(
        Column(f"{kind}_count", BigInteger, nullable=False, server_default="0")
        for kind in ("tool_result", "page_fault", "message", "interaction", "answer")
    ),
    # A new id for each session, because a deleted session may be imported again with the same id
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

# The frontiers of a session, by name. `state` is the `Frontier`, as JSON. `sent` has the hashes of
# the messages that were rendered last. `version` grows with every change.
frontiers = _child_table(
    "frontiers",
    Column("session_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("state", String, nullable=False),
    Column("sent", LargeBinary, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    _foreign_key_to("sessions", "session_id", ondelete="CASCADE"),
)

# For each move of a frontier: the `seq` of the newest entry at that time, and the levels after the
# move.
frontier_moves = _child_table(
    "frontier_moves",
    Column("session_id", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("levels", String, nullable=False),
    _foreign_key_to("sessions", "session_id", ondelete="CASCADE"),
)

# The tools that were called in each session, written when the entries are indexed for searches. A
# trigger removes the rows of a removed session.
session_tools = _project_table(
    "session_tools",
    Column("tool_name", String, primary_key=True),
    Column("session_id", String, primary_key=True),
    Index(None, "project_id", "session_id"),
)

# The highest `seq` of deleted sessions with an id. If another session with this id is created, a
# client may still send a `seq` of the deleted one as the position from which it reads events.
ended_sessions = _project_table(
    "ended_sessions",
    Column("session_id", String, primary_key=True),
    Column("last_seq", BigInteger, nullable=False),
)

history_entries = _child_table(
    "history_entries",
    Column("session_id", String, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String, nullable=False),
    # The id of the record.
    Column("entry_id", String, nullable=False),
    # The size of the record, for limiting the bytes of a list.
    Column("size_bytes", BigInteger, nullable=False, server_default="0"),
    _foreign_key_to("sessions", "session_id"),
)

tool_results = _project_table(
    "tool_results",
    Column("tool_result_id", String, primary_key=True),
    Column("session_id", String),
    Column("seq", BigInteger),
    Column("tool_name", ClientText, nullable=False),
    # The id of the call. If an earlier call of the session has the same id, or the id is long, this
    # is a key that is made from the id (see `app.models.call_ids`).
    Column("tool_call_id", ClientText, nullable=False),
    # The id of the call, if `tool_call_id` is such a key.
    Column("whole_call_id", ClientText),
    # False if a request stored the result in a list with others; null means true.
    Column("is_apart", Boolean),
    Column("success", Boolean, nullable=False),
    Column("request_digest", String, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("sanitized", LargeBinary, nullable=False),
    UniqueConstraint("project_id", "session_id", "tool_call_id"),
    Index(None, "project_id", "session_id", "tool_result_id"),
)
# Lists of sessions count the failed results, which are few.
Index(
    "ix_tool_results_failures",
    tool_results.c.project_id,
    tool_results.c.session_id,
    sqlite_where=tool_results.c.success.is_(False),
    postgresql_where=tool_results.c.success.is_(False),
)

resources = _project_table(
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
    # The id of a resource is a hash of its project and its file. If the resource was imported with
    # a session of another project, this is the project in the hash.
    Column("derived_in", String),
    # True if the resource was made from another one, and is removed together with that one.
    Column("is_derived", Boolean, nullable=False, server_default=false()),
    Index(None, "project_id", "digest"),
    Index(None, "project_id", "created_at", "resource_id"),
)

# Which records refer to a resource. `owner_kind` and `owner_id` identify the record.
resource_links = _child_table(
    "resource_links",
    Column("resource_id", String, primary_key=True),
    Column("owner_kind", String, primary_key=True),
    Column("owner_id", String, primary_key=True),
    Column("session_id", String),
    # Because of this key, the database refuses to delete a resource that has links.
    _foreign_key_to("resources", "resource_id"),
    Index(None, "project_id", "session_id", "resource_id"),
    Index(None, "project_id", "owner_kind", "owner_id"),
)

# Names that other systems use for resources.
aliases = _project_table(
    "aliases",
    Column("alias", String, primary_key=True),
    Column("resource_id", String, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    # An alias is removed with its resource.
    _foreign_key_to("resources", "resource_id", ondelete="CASCADE"),
    Index(None, "project_id", "resource_id"),
    Index(None, "project_id", "created_at", "alias"),
)

derived_images = _project_table(
    "derived_images",
    # The SHA-256 of the image that was converted.
    Column("source_digest", String, primary_key=True),
    # The maximum size, the format and the other settings of the conversion.
    Column("recipe", String, primary_key=True),
    # The smaller image. Null if the source cannot be decoded, so that it is not decoded again.
    Column("resource_id", String),
    # True if the source is animated or has several pictures, of which this is the first.
    Column("is_first_picture", Boolean, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    _foreign_key_to("resources", "resource_id", ondelete="CASCADE"),
    Index(None, "project_id", "resource_id"),
)

events = _project_table(
    "events",
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("type", String, nullable=False),
    # The id of the record that was written, or of the session that was deleted.
    Column("subject_id", String, nullable=False),
    Column("session_id", String),
    # The number of the write in the session.
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

idempotency_keys = _project_table(
    "idempotency_keys",
    Column("route", String, primary_key=True),
    Column("idempotency_key", ClientText, primary_key=True),
    Column("request_digest", String, nullable=False),
    Column("claimed_at", UtcTime, nullable=False),
    # The id of the record that the request has stored; null until then.
    Column("answer_id", String),
    # A new id for each request that claims the key. A slow request detects by it that another
    # request has taken over the claim. Null if an older version has claimed the key.
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
    # The last column, because SQLite reads a row up to the last column of a select, and lists do
    # not need the content.
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

page_levels = _child_table(
    "page_levels",
    Column("page_id", String, primary_key=True),
    Column("level", Integer, primary_key=True, autoincrement=False),
    Column("origin", String, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("body", LargeBinary, nullable=False),
    _foreign_key_to("pages", "page_id", ondelete="CASCADE"),
)

page_accesses = _child_table(
    "page_accesses",
    Column("page_id", String, primary_key=True),
    Column("access_count", BigInteger, nullable=False),
    Column("last_accessed", UtcTime, nullable=False),
    _foreign_key_to("pages", "page_id", ondelete="CASCADE"),
)

messages = _project_table(
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
    # The dialect of the message; null in rows of earlier versions.
    Column("dialect", String),
    # The version of the reader of the dialect; null in rows of earlier versions.
    Column("reading", Integer),
    # The role, if `message` is only the content of a message; null if `message` is a whole message.
    Column("role", String),
    # As in `tool_results`.
    Column("whole_call_id", ClientText),
    # True if a request stored only this result; otherwise null.
    Column("is_apart", Boolean),
    # The number of failed results in the message; 0 in page faults.
    Column("failures", Integer, nullable=False, server_default="0"),
    Index(None, "project_id", "session_id", "tool_call_id"),
)
Index(
    "ix_messages_failures",
    messages.c.project_id,
    messages.c.session_id,
    sqlite_where=messages.c.failures > literal_column("0"),
    postgresql_where=messages.c.failures > literal_column("0"),
)

interactions = _project_table(
    "interactions",
    Column("interaction_id", String, primary_key=True),
    Column("session_id", String, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("input_kind", String, nullable=False),
    Column("timestamp", String, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    # The `seq` of the output in the history; null if there is no output, or it came with the input.
    Column("answer_seq", BigInteger),
    Column("answered_at", UtcTime),
    # JSON: the ids of resources, by the other names of attachments, such as aliases.
    Column("bindings", String),
    Column("output", LargeBinary),
    Column("input", LargeBinary, nullable=False),
    Index(None, "project_id", "session_id", "seq"),
    Index(None, "project_id", "session_id", "input_kind", "seq"),
)

uploads = _project_table(
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

upload_segments = _child_table(
    "upload_segments",
    Column("upload_id", String, primary_key=True),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("digest", String, nullable=False),
    _foreign_key_to("uploads", "upload_id", ondelete="CASCADE"),
    Index(None, "project_id", "digest"),
)

# Blobs that a sweep has claimed, and removes or has removed (see `swept_blobs.py`).
swept_blobs = _project_table(
    "swept_blobs",
    Column("digest", String, primary_key=True),
    Column("claimed_at", UtcTime, nullable=False),
    Column("swept_at", UtcTime),
)

# The prompts of sessions: system prompt, tools and model. `receipt` describes the request that has
# stored the prompt.
session_prompts = _child_table(
    "session_prompts",
    Column("session_id", String, primary_key=True),
    Column("dialect", String),
    Column("prompt", LargeBinary, nullable=False),
    Column("receipt", String),
    Column("updated_at", UtcTime, nullable=False),
    _foreign_key_to("sessions", "session_id", ondelete="CASCADE"),
)

# The next three tables are for the quota of stored bytes: each stored blob, the sum of the sizes,
# and reservations for new blobs.
stored_blobs = _project_table(
    "stored_blobs",
    Column("digest", String, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
)

stored_totals = _project_table(
    "stored_totals",
    Column("stored_bytes", BigInteger, nullable=False),
    Column("reserved_bytes", BigInteger, nullable=False),
)

byte_reservations = _project_table(
    "byte_reservations",
    Column("reservation_id", String, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
)
