"""Migrate a database to the newest revision while other processes use it.

A new database gets all revisions in one transaction. A database with data gets each revision
separately:

    most revisions    a short transaction. It waits at most 200 ms for a lock, because other
                      transactions wait behind it, and is then tried again
    other revisions   have `is_online = True` in their module, and run outside of a transaction:
                      they build an index concurrently, or fill in values in batches. After an
                      interruption they are executed again, which changes nothing that is done
                      already

An SQLite database is migrated by `serve` itself. A PostgreSQL database is migrated once, by
`pagefault migrate`, before the new version starts. Importing Alembic takes longer than a whole
command on an up-to-date database, so it is imported only to migrate.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator, Set
from contextlib import closing, contextmanager
from pathlib import Path
from secrets import SystemRandom
from typing import TYPE_CHECKING

import structlog
from sqlalchemy import Connection, Engine, inspect
from sqlalchemy.exc import OperationalError

from app.shipped_files import MIGRATIONS
from app.stores.records.database_errors import translate_errors
from app.stores.records.group_commits import CONTENTION, begin

if TYPE_CHECKING:
    from alembic.config import Config

_log = structlog.get_logger(__name__)
_LOCK_TIMEOUT_MS = 200
# The attempts take about ten minutes with the pauses between them, because a long transaction may
# lock a table for that long.
_MAX_ATTEMPTS = 600
_PAUSE_SECONDS = (0.5, 1.5)
_SQLITE_PAUSE_SECONDS = 0.05
# The number is arbitrary, but the same in every version of the service.
_LOCK_STATEMENT = "SELECT pg_advisory_xact_lock(7224012)"
_TRY_LOCK_STATEMENT = "SELECT pg_try_advisory_xact_lock(7224012)"
ALEMBIC_LOCK = threading.Lock()
"""Callers lock this while they run Alembic, because Alembic has global state."""


def newest_revision() -> str:
    """Return the revision of the last migration of this version of the service."""
    return max(known_revisions())


def known_revisions() -> Set[str]:
    """Return the revisions of this version of the service.

    The name of each file begins with its revision, `0001_first_schema.py`.
    """
    names = [path.name for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py")]
    if not names:
        msg = f"no migrations under {MIGRATIONS}"
        raise RuntimeError(msg)
    return {name.partition("_")[0] for name in names}


def is_newest(path: Path) -> bool:
    """Return whether the database in a file is at the newest revision; false if there is none."""
    try:
        # Opened read-only, so that a missing file is not created.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error:
        return False
    return found is not None and found[0] == newest_revision()


def current_revision(engine: Engine) -> str | None:
    """Return the revision of the database of an engine; see `read_revision`."""
    with translate_errors(), engine.connect() as connection:
        return read_revision(connection)


def migrate(engine: Engine) -> tuple[str | None, str]:
    """Migrate a database to the newest revision; return the revisions before and after.

    An interrupted run leaves the database at a revision in between, or empty if it was new; the
    next run continues. Concurrent processes wait for each other. The engine needs two connections.
    """
    with ALEMBIC_LOCK, translate_errors(), engine.connect() as connection:
        before, after = read_revision(connection), newest_revision()
        connection.rollback()
        if before is None:
            _create(connection)
        elif before != after:
            with _lock(engine):
                _upgrade(connection)
        return before, after


def read_revision(connection: Connection) -> str | None:
    """Return the revision of a database; `None` if it was never migrated."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return None if found is None else str(found)


def alembic_config(connection: Connection, *, is_online: bool) -> "Config":
    """Return the configuration for Alembic.

    `migration_steps` reads `is_online` from it: if true, indexes are built concurrently, and each
    batch is a transaction.
    """
    from alembic.config import Config  # noqa: PLC0415

    config = Config(attributes={"connection": connection, "is_online": is_online})
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


@contextmanager
def _lock(engine: Engine) -> Iterator[None]:
    """Prevent other processes from migrating while the block runs.

    The lock belongs to a transaction, because a pooler may execute each transaction in another
    session. The lock is polled: a statement that waits for it would have a snapshot, and the
    process with the lock would wait for this snapshot while it builds an index concurrently. On
    SQLite there is no lock: a revision that another process has applied is skipped.
    """
    with engine.connect() as connection:
        while connection.dialect.name == "postgresql":
            begin(connection)
            connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            if connection.exec_driver_sql(_TRY_LOCK_STATEMENT).scalar_one():
                break
            connection.rollback()
            _pause()
        yield
        connection.rollback()


def _create(connection: Connection) -> None:
    """Apply all revisions to a new database, in one transaction."""
    from alembic import command  # noqa: PLC0415

    begin(connection)
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_LOCK_STATEMENT)
    command.upgrade(alembic_config(connection, is_online=False), "head")
    connection.commit()


def _upgrade(connection: Connection) -> None:
    """Apply the revisions that a database with data does not have yet, one after the other."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    script = ScriptDirectory.from_config(alembic_config(connection, is_online=True))
    # Another process may have migrated the database before the lock was acquired.
    current = read_revision(connection)
    connection.rollback()
    for revision in reversed([*script.iterate_revisions("head", current or "base")]):
        is_online = getattr(revision.module, "is_online", False)
        _apply(connection, current, revision.revision, is_online=is_online)
        yield_to_others(connection, 0.0)
        current = revision.revision


def _apply_once(
    connection: Connection, current: str | None, revision: str, *, is_online: bool
) -> None:
    """Apply a revision. Ignore an error if another process has applied the revision meanwhile.

    On SQLite, where there is no lock, two processes may execute the same steps.
    """
    from alembic import command  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    try:
        command.upgrade(alembic_config(connection, is_online=is_online), revision)
    except CommandError:
        if read_revision(connection) == current:
            raise


def _apply(connection: Connection, current: str | None, revision: str, *, is_online: bool) -> None:
    """Apply a revision, and try again while another transaction has locked a table."""
    for attempt in range(1, _MAX_ATTEMPTS + 1):
        try:
            # The engine is in autocommit mode: `connection.begin` sends no BEGIN to the database.
            with connection.begin() if is_online else _transaction(connection):
                if read_revision(connection) == current:
                    _apply_once(connection, current, revision, is_online=is_online)
        except OperationalError as exc:
            is_contended = getattr(exc.orig, "sqlstate", None) in CONTENTION
            if not is_contended or attempt == _MAX_ATTEMPTS:
                raise
            _log.warning("migration waits for a lock", revision=revision, attempt=attempt)
            _pause()
        else:
            return


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    begin(connection, lock_timeout_ms=_LOCK_TIMEOUT_MS)
    try:
        yield
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def yield_to_others(connection: Connection, seconds: float) -> None:
    """Sleep as long as the last step took, so that other transactions can write.

    On SQLite this sleeps at least 50 ms, because waiting writers poll for the lock.

    Args:
        connection: The connection.
        seconds: The duration of the last step.
    """
    is_sqlite = connection.dialect.name == "sqlite"
    time.sleep(max(seconds, _SQLITE_PAUSE_SECONDS) if is_sqlite else seconds)


def _pause() -> None:
    time.sleep(SystemRandom().uniform(*_PAUSE_SECONDS))
