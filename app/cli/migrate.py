"""`pagefault migrate`: the database to the schema of this version."""

from pathlib import Path

import anyio

from app.cli.terminal import read_settings, say
from app.wiring.stores import migrate_database


def migrate_stores(data_dir: Path | None, env_file: Path | None) -> None:
    """Bring the database up to date, and say from where to where it went."""
    before, after = anyio.run(migrate_database, read_settings(data_dir, env_file))
    if before == after:
        say(f"The database is up to date (revision {after}).")
    else:
        say(f"Migrated the database from {before or 'nothing'} to revision {after}.")
