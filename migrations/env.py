"""Runs migrations on the connection that `app.stores.records.migration` hands over."""

from alembic import context

from app.stores.records.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
