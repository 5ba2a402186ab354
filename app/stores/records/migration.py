"""Brings a database to the schema this version needs, and says whether it is there.

`app.shipped_files` says where the migrations are. On the embedded database `serve` applies
them itself; on a server's they are applied by `pagefault migrate`, once, before the new version
starts. Alembic, which applies them, is loaded for that alone: a command over a database that is up
to date would wait longer for it than for everything else it does.
"""

from sqlalchemy import Connection, Engine, inspect

from app.shipped_files import MIGRATIONS
from app.stores.records.connections import translated_errors


def newest_revision() -> str:
    """Return the revision this version of the service needs: the number of its last migration.

    Each file is named by its revision, `0001_first_schema.py`, and follows the one before it.
    """
    names = [path.name for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py")]
    if not names:
        msg = f"no migrations under {MIGRATIONS}"
        raise RuntimeError(msg)
    return max(names).partition("_")[0]


def current_revision(engine: Engine) -> str | None:
    """The revision a database is at; `None` if it was never migrated."""
    with translated_errors(), engine.connect() as connection:
        return _read_revision(connection)


def migrate(engine: Engine) -> tuple[str | None, str]:
    """Bring a database to the newest revision; returns the one before and the one after.

    All in one transaction: an interrupted run leaves the database as it was, and run again it
    completes. Two processes at the same time take turns.
    """
    with translated_errors(), engine.begin() as connection:
        before, after = _read_revision(connection), newest_revision()
        if before != after:
            _upgrade(connection)
        return before, after


def _read_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return None if found is None else str(found)


def _upgrade(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    if connection.dialect.name == "postgresql":
        # Any number will do as long as every version of the service uses the same.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7224012)")
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS))
    command.upgrade(config, "head")
