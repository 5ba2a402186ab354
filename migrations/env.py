"""Run migrations on the connection that `app.stores.records.migrations` puts into the config."""

from alembic import context

from app.stores.records import search_tables  # noqa: F401 - adds its tables to the metadata
from app.stores.records.columns import is_shared_schema, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    include_name=is_shared_schema,
    transactional_ddl=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
