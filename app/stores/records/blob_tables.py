"""The tables of uploads in pieces, and of what is swept, counted and reserved of the blobs."""

from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, Index, String, Table

from app.stores.records.columns import ClientText, UtcTime, metadata, project_column

uploads = Table(
    "uploads",
    metadata,
    project_column(),
    Column("upload_id", String, primary_key=True),
    Column("length_bytes", BigInteger, nullable=False),
    Column("received_bytes", BigInteger, nullable=False),
    Column("metadata", ClientText),
    Column("filename", ClientText),
    Column("mime_type", ClientText),
    # What the resource is to be called beside its id.
    Column("alias", String),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    # Set once the whole file is a resource; a resource that is deleted later leaves it as it is.
    Column("resource_id", String),
    Index(None, "project_id", "expires_at"),
)

upload_segments = Table(
    "upload_segments",
    metadata,
    Column("project_id", String, primary_key=True),
    Column("upload_id", String, primary_key=True),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("digest", String, nullable=False),
    ForeignKeyConstraint(
        ["project_id", "upload_id"],
        ["uploads.project_id", "uploads.upload_id"],
        ondelete="CASCADE",
    ),
    Index(None, "project_id", "digest"),
)

swept_blobs = Table(
    "swept_blobs",
    metadata,
    project_column(),
    Column("digest", String, primary_key=True),
    Column("claimed_at", UtcTime, nullable=False),
    Column("swept_at", UtcTime),
)

# What a project keeps, where a quota of bytes is set: each blob once, their sum, and what is on its
# way.
stored_blobs = Table(
    "stored_blobs",
    metadata,
    project_column(),
    Column("digest", String, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
)

stored_totals = Table(
    "stored_totals",
    metadata,
    project_column(),
    Column("stored_bytes", BigInteger, nullable=False),
    Column("reserved_bytes", BigInteger, nullable=False),
)

byte_reservations = Table(
    "byte_reservations",
    metadata,
    project_column(),
    Column("reservation_id", String, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
)
