"""Databases at schemas of earlier versions."""

import gzip
from pathlib import Path

import psycopg
from alembic import command
from sqlalchemy import Connection

from app.config.settings import Settings
from app.stores.records.migrations import alembic_config

_DUMPS = Path(__file__).parents[1] / "data" / "schemas"


def upgrade_to(connection: Connection, revision: str) -> None:
    """Bring an empty database to a revision."""
    command.upgrade(alembic_config(connection, is_online=False), revision)


def load_dump(settings: Settings, revision: str) -> None:
    """Make a database of the dump of a schema, which has some of everything."""
    if settings.db.url is None:
        dump = _DUMPS / f"{revision}-sqlite.db.gz"
        (settings.data_dir / "pagefault.db").write_bytes(gzip.decompress(dump.read_bytes()))
        return
    statements = gzip.decompress((_DUMPS / f"{revision}-postgresql.sql.gz").read_bytes())
    with psycopg.connect(settings.db.url.get_secret_value(), autocommit=True) as connection:
        connection.execute(statements)
