"""The tables of the bytes that a project stores, which are used if a quota is set.

They have each blob once, the sum of their bytes, and the reservations for others.
"""

from sqlalchemy import BigInteger, Column, ForeignKey, String, Table
from sqlalchemy.schema import SchemaItem

from app.stores.records.columns import UtcTime, metadata


def _of_project(name: str, *columns: SchemaItem) -> Table:
    project = Column("project_id", String, ForeignKey("projects.project_id"), primary_key=True)
    return Table(name, metadata, project, *columns)


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
