"""What the modules of tables share: their metadata, and the column of the project.

`app.stores.records` imports every repository, and so every table: whoever imports this module has
the metadata complete.
"""

from sqlalchemy import Column, ForeignKey, MetaData, String

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def project_column() -> Column[str]:
    """Return the first column of a table's key: whose project a row is in."""
    return Column("project_id", String, ForeignKey("projects.project_id"), primary_key=True)


def is_shared_schema(name: str | None, kind: str, _: object) -> bool:
    """Say whether something in a database belongs to `metadata`, for Alembic's `include_name`."""
    return kind != "table" or not (name or "").startswith("page_search")
