"""Add an index of the search entries that an earlier version has indexed.

The service indexes these entries once more.
"""

import sqlalchemy as sa
from alembic import op

from app.stores.records.migration_steps import build_index

revision = "0023a"
down_revision = "0023"
branch_labels = None
depends_on = None
is_online = True


def upgrade() -> None:
    outdated = sa.text("indexed >= revision AND form < 1")
    build_index(
        "ix_search_entries_outdated",
        "search_entries",
        ["project_id", "entry_number"],
        sqlite_where=outdated,
        postgresql_where=outdated,
    )


def downgrade() -> None:
    op.drop_index("ix_search_entries_outdated", table_name="search_entries")
