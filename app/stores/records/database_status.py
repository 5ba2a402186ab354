"""The state of a database for operators: its size, its queues, its connections and statements.

The statements read only counters and short queues, so they are fast even in a slow database.
"""

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, TextClause, func, select, text
from sqlalchemy.exc import DBAPIError

from app.stores.records.projects import ProjectRecords
from app.stores.records.scope import read_row
from app.stores.records.search_entries import SearchEntryRecords
from app.stores.records.search_queue import measure_queue
from app.stores.records.search_tables import search_entries
from app.stores.records.tables import projects, stored_totals, uploads
from app.stores.records.unit_of_work import UnitOfWork

# The length of the lists of statements and projects.
_LISTED = 5
# Literals in statements may be data of clients, so they are replaced.
_LITERALS = re.compile(r"\$(\w*)\$.*?(?:\$\1\$|\Z)|'(?:[^']|'')*(?:'|\Z)", re.DOTALL)
_SQLITE_SIZE = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
_SERVER = text("""
    SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS is_replica,
      pg_database_size(current_database()) AS size_bytes,
      current_setting('max_connections')::int AS max_connections,
      count(*) FILTER (WHERE datname IS NOT NULL) AS connections,
      count(*) FILTER (WHERE datname = current_database() AND application_name = 'pagefault'
        AND pid <> pg_backend_pid()) AS of_service,
      count(*) FILTER (WHERE datname = current_database() AND wait_event_type = 'Lock') AS waiting
    FROM pg_stat_activity
""")
_RUNNING = text("""
    SELECT extract(epoch FROM clock_timestamp() - xact_start)::float AS seconds, state,
      coalesce(wait_event_type || ': ' || wait_event, '') AS waits_for, left(query, 500) AS query
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND xact_start IS NOT NULL AND backend_type = 'client backend'
    ORDER BY xact_start LIMIT :listed
""")
_HAS_STATISTICS = text("SELECT to_regclass('pg_stat_statements') IS NOT NULL")
# Only these statements are shown, because others, such as those about roles, may contain passwords.
_SLOW = text("""
    SELECT calls, mean_exec_time / 1000 AS mean_seconds, max_exec_time / 1000 AS max_seconds,
      left(query, 500) AS query
    FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND query ~* '^\\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\\M'
    ORDER BY mean_exec_time DESC LIMIT :listed
""")
_UPLOADS = select(
    func.count().filter(uploads.c.resource_id.is_(None)).label("open_uploads"),
    func.min(uploads.c.expires_at).label("oldest_expiry"),
)
_PROJECTS = select(
    func.count().label("projects"),
    func.coalesce(func.sum(projects.c.last_event - projects.c.events_removed), 0).label("events"),
).select_from(projects)
_STORED = (stored_totals.c.stored_bytes + stored_totals.c.reserved_bytes).label("stored_bytes")
_LARGEST = select(stored_totals.c.project_id, _STORED).order_by(_STORED.desc()).limit(_LISTED)


@dataclass(frozen=True, slots=True)
class RunningStatement:
    """The last statement of a transaction that is open."""

    seconds: float
    """The age of the transaction."""
    state: str
    waits_for: str
    query: str


@dataclass(frozen=True, slots=True)
class SlowStatement:
    """A statement with its times since the statistics were reset."""

    calls: int
    mean_seconds: float
    max_seconds: float
    query: str


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The state of a PostgreSQL server, as far as the role of the service may read it."""

    is_replica: bool
    connections: int
    """Connections of all clients."""
    max_connections: int
    of_service: int
    """Connections of processes of the service; 0 if none runs."""
    waiting: int
    """Connections to the database that wait for a lock."""
    running: Sequence[RunningStatement]
    """The last statements of the oldest transactions."""
    slow: Sequence[SlowStatement] | None
    """`None` if the database has no statistics of statements."""


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """The version and size of a database; `server` is `None` for SQLite."""

    version: str
    size_bytes: int
    server: ServerStatus | None


@dataclass(frozen=True, slots=True)
class ProjectBytes:
    """The bytes that count towards the quota of a project."""

    project_id: str
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """The queues in the tables of a database of this version."""

    projects: int
    events: int
    """Events in the logs of all projects."""
    search_entries: int
    """Entries that wait for the search index."""
    oldest_entry: datetime | None
    """The time when the record of the oldest of these entries was written."""
    open_uploads: int
    oldest_expiry: datetime | None
    """The earliest expiry of an upload; it may be in the past."""
    largest: Sequence[ProjectBytes]


def read_database_status(connection: Connection) -> DatabaseStatus:
    """Return the state of a database of any revision."""
    if connection.dialect.name == "sqlite":
        size_bytes = connection.exec_driver_sql(_SQLITE_SIZE).scalar_one()
        return DatabaseStatus(sqlite3.sqlite_version, size_bytes, None)
    row: Any = connection.execute(_SERVER).one()
    running = [
        _read_statement(RunningStatement, item) for item in _select_listed(connection, _RUNNING)
    ]
    server = read_row(ServerStatus, row, running=running, slow=_read_slow(connection))
    return DatabaseStatus(row.version, row.size_bytes, server)


def read_queue_status(connection: Connection) -> QueueStatus:
    """Return the state of the queues of a database of this version."""
    queue = measure_queue(ProjectRecords(connection))
    counts = connection.execute(_PROJECTS).one()
    waiting = connection.execute(_UPLOADS).one()
    return QueueStatus(
        projects=counts.projects,
        events=int(counts.events),
        search_entries=queue.waiting,
        oldest_entry=None if queue.oldest is None else _created_at(connection, queue.oldest),
        open_uploads=waiting.open_uploads,
        oldest_expiry=waiting.oldest_expiry,
        largest=[ProjectBytes(*row) for row in connection.execute(_LARGEST)],
    )


def _read_slow(connection: Connection) -> Sequence[SlowStatement] | None:
    if not connection.execute(_HAS_STATISTICS).scalar_one():
        return None
    try:
        return [_read_statement(SlowStatement, item) for item in _select_listed(connection, _SLOW)]
    except DBAPIError:
        # The extension is not loaded, or the role may not read it.
        return None


def _select_listed(connection: Connection, statement: TextClause) -> Sequence[Row[Any]]:
    return connection.execute(statement, {"listed": _LISTED}).all()


def _read_statement(kind: Any, row: Row[Any]) -> Any:  # noqa: ANN401 - either of the two
    """Return a `RunningStatement` or `SlowStatement`, without the literals of its query."""
    query = " ".join(_LITERALS.sub("'…'", row.query or "").split())
    return read_row(kind, row, query=query)


def _created_at(connection: Connection, number: int) -> datetime | None:
    """Return the time when the record of a search entry was written; `None` if it was deleted."""
    project = select(search_entries.c.project_id).where(search_entries.c.entry_number == number)
    project_id = connection.execute(project).scalar()
    if project_id is None:
        return None
    entries = UnitOfWork(connection, project_id, {})[SearchEntryRecords]
    sources = entries.load_sources(entries.find_entries([number]).values())
    return next((source.created_at for source in sources.values()), None)
