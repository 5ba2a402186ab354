"""Brings a database to the schema this version needs, and says whether it is there.

Migrations live under `migrations/` beside the package. On the embedded database `serve` applies
them itself; on a server's they are applied by `pagefault migrate`, once, before the new version
starts.
"""

from pathlib import Path

import anyio.to_thread
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect
from sqlalchemy.ext.asyncio import AsyncEngine

from app.stores.records.unit_of_work import translated_errors

_SCRIPTS = Path(__file__).resolve().parents[3] / "migrations"


def newest_revision() -> str:
    """The revision this version of the service needs."""
    revision = ScriptDirectory(str(_SCRIPTS)).get_current_head()
    if revision is None:
        msg = f"no migrations under {_SCRIPTS}"
        raise RuntimeError(msg)
    return revision


async def current_revision(engine: AsyncEngine) -> str | None:
    """The revision a database is at; `None` if it was never migrated."""
    with translated_errors():
        async with engine.connect() as connection:
            return await connection.run_sync(_read_revision)


async def migrate(engine: AsyncEngine) -> tuple[str | None, str]:
    """Bring a database to the newest revision; returns the one before and the one after.

    All in one transaction: an interrupted run leaves the database as it was, and run again it
    completes. Two processes at the same time take turns.
    """
    with translated_errors():
        async with engine.begin() as connection:
            before = await connection.run_sync(_read_revision)
            after = await anyio.to_thread.run_sync(newest_revision)
            if before != after:
                await connection.run_sync(_upgrade)
            return before, after


def _read_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return MigrationContext.configure(connection).get_current_revision()


def _upgrade(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        # Any number will do as long as every version of the service uses the same.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7224012)")
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_SCRIPTS))
    command.upgrade(config, "head")
