"""The table of the prompts of sessions: system prompt, tools and model."""

from sqlalchemy import Column, ForeignKeyConstraint, LargeBinary, String, Table

from app.stores.records.columns import UtcTime, metadata

session_prompts = Table(
    "session_prompts",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("session_id", String, primary_key=True),
    Column("dialect", String),
    Column("prompt", LargeBinary, nullable=False),
    Column("receipt", String),
    Column("updated_at", UtcTime, nullable=False),
    ForeignKeyConstraint(
        ["project_id", "session_id"],
        ["sessions.project_id", "sessions.session_id"],
        ondelete="CASCADE",
    ),
)
