"""Databases whose commits take 5 ms longer, as where the disk is far away.

    python -m benchmarks.slow_commits serve --port 0

is the service over such a SQLite file: every connection waits in the thread that commits, with the
file's lock in its hands, and only for a transaction that has written. On PostgreSQL the server
itself waits, once in each transaction that has written, just before its commit and with all its
locks; so it does not matter how, and from which driver, a commit is asked for.
"""

import sqlite3
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

SECONDS = 0.005
COMMAND = (sys.executable, "-m", "benchmarks.slow_commits")
"""The service over SQLite, to be followed by its arguments."""

# A deferred trigger runs for each row when the transaction commits; the first of them waits.
_WAIT = f"""
CREATE FUNCTION wait_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF current_setting('bench.has_waited', true) IS DISTINCT FROM pg_current_xact_id()::text THEN
    PERFORM pg_sleep({SECONDS}), set_config('bench.has_waited', pg_current_xact_id()::text, true);
  END IF;
  RETURN NULL;
END $$
"""
_TRIGGER = """
CREATE CONSTRAINT TRIGGER wait_once AFTER INSERT OR UPDATE OR DELETE ON {} DEFERRABLE INITIALLY
DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_once()
"""


class SlowCursor(sqlite3.Cursor):
    """A cursor that waits before it commits what its connection has written."""

    def execute(self, statement: str, parameters: Any = (), /) -> "SlowCursor":  # noqa: ANN401
        """See sqlite3.Cursor.execute."""
        if statement[:6].upper() == "COMMIT" and isinstance(self.connection, SlowConnection):
            self.connection.wait()
        return super().execute(statement, parameters)


class SlowConnection(sqlite3.Connection):
    """A connection that waits before each commit."""

    _committed = 0

    def cursor(self, factory: Any = SlowCursor) -> Any:  # noqa: ANN401
        """See sqlite3.Connection.cursor."""
        return super().cursor(factory)

    def execute(self, statement: str, parameters: Any = (), /) -> SlowCursor:  # noqa: ANN401
        """See sqlite3.Connection.execute, which takes the driver's own cursor."""
        return SlowCursor(self).execute(statement, parameters)

    def commit(self) -> None:
        """See sqlite3.Connection.commit."""
        self.wait()
        super().commit()

    def wait(self) -> None:
        """Wait, unless nothing has changed since the last commit."""
        if self.total_changes != self._committed:
            self._committed = self.total_changes
            time.sleep(SECONDS)


def slow_down(url: str) -> None:
    """Have a PostgreSQL server wait for the commits of a database that is migrated."""
    with psycopg.connect(url, autocommit=True) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()
        connection.execute(_WAIT.encode())
        for (table,) in tables:
            connection.execute(sql.SQL(_TRIGGER).format(sql.Identifier(table)))


def _slow_down_sqlite() -> None:
    """Have every connection of this process be a slow one."""
    connect = sqlite3.connect

    def slow_connect(path: str | Path, **options: Any) -> sqlite3.Connection:  # noqa: ANN401
        return connect(path, factory=SlowConnection, **options)

    # Methods that are taken from the class of a cursor are ours.
    for module in (sqlite3, sqlite3.dbapi2):
        vars(module).update(connect=slow_connect, Connection=SlowConnection, Cursor=SlowCursor)


def main(arguments: Sequence[str]) -> None:
    """Run the command over slow files."""
    _slow_down_sqlite()
    # Behind it, so that nothing has kept the driver's own classes.
    from app.cli.main import main as run  # noqa: PLC0415

    sys.argv[1:] = arguments
    run()


if __name__ == "__main__":
    main(sys.argv[1:])
