"""The status of a service for its operator, and the problems that follow from it.

The command `pagefault status` shows it. The status is read from the stores, so no server has to
run. `app/wiring/store_status.py` reads it; `find_problems` judges it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.stores.records.database_status import DatabaseStatus, QueueStatus

# The limits above or below which a value is a problem.
# The alert about the backlog, in the documentation of the metrics, has the same limit.
_MAX_BACKLOG_SECONDS = 300.0
_MAX_TRANSACTION_SECONDS = 60.0
_MAX_USED_SHARE = 0.9
_MIN_FREE_DISK_SHARE = 0.05
# The sweep of a server removes uploads a few hours after they have expired.
_MAX_OVERDUE_SECONDS = 24 * 3600.0


Carrier = Literal["database", "listen-url", "redis"]
CARRIER_SETTINGS: Mapping[Carrier, str] = {
    "database": "PAGEFAULT_DB__URL",
    "listen-url": "PAGEFAULT_DB__LISTEN_URL",
    "redis": "PAGEFAULT_EVENTS__REDIS_URL",
}
"""The setting with the address of each service that can transport notifications of events."""


@dataclass(frozen=True, slots=True)
class Revision:
    """The revision of the schema of the database."""

    current: str | None
    """The revision of the database; `None` if it has no schema."""
    needed: str
    """The revision that this version of the service needs."""


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk of the data directory."""

    free_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Pooler:
    """A connection pooler between the service and PostgreSQL."""

    is_recognized: bool
    """True if the service has found a pooler. It then sends no prepared statements."""
    is_set: bool | None
    """The value of the setting `PAGEFAULT_DB__TRANSACTION_POOLER`."""


@dataclass(frozen=True, slots=True)
class Notifications:
    """The test of notifications of events between processes, which some poolers do not pass on."""

    carrier: Carrier
    """The service that transports them."""
    are_arriving: bool
    advice: str
    """What to change if they do not arrive."""


@dataclass(frozen=True, slots=True)
class QuotaLimits:
    """The quotas of a key and of a project; 0 for no limit."""

    requests_per_minute: int
    body_bytes_per_day: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The status of a service. A field is `None` if it could not be read."""

    read_at: datetime
    version: str
    python: str
    database_location: str
    """The file, or the hosts and the name of the database."""
    blobs_location: str
    """The directory or bucket of the files."""
    disk: Disk
    quotas: QuotaLimits
    failures: Mapping[str, str]
    """A sentence for each part that does not answer: `database`, `files` or `notifications`."""
    revision: Revision | None = None
    database: DatabaseStatus | None = None
    pooler: Pooler | None = None
    notifications: Notifications | None = None
    queues: QueueStatus | None = None

    @property
    def backlog_seconds(self) -> float | None:
        """The age of the oldest entry that waits for the search index."""
        oldest = self.queues.oldest_entry if self.queues else None
        return None if oldest is None else (self.read_at - oldest).total_seconds()


def find_problems(report: StatusReport) -> Iterator[str]:
    """Yield a sentence for each problem that the operator has to solve, the most urgent first."""
    yield from report.failures.values()
    yield from _find_schema_problems(report.revision)
    if report.disk.free_bytes < _MIN_FREE_DISK_SHARE * report.disk.size_bytes:
        yield (
            "the disk of the data directory is nearly full: docs/operations.md, A full disk, has "
            "the remedies"
        )
    yield from _find_server_problems(report.database)
    if report.notifications is not None and not report.notifications.are_arriving:
        yield f"notifications do not arrive: {report.notifications.advice}"
    yield from _find_queue_problems(report)


def _find_schema_problems(revision: Revision | None) -> Iterator[str]:
    if revision is not None and revision.current != revision.needed:
        yield (
            f"the schema is at revision {revision.current or 'none'}, and this version needs "
            f"{revision.needed}: run `pagefault migrate` of the newer version"
        )


def _find_server_problems(database: DatabaseStatus | None) -> Iterator[str]:
    server = database.server if database else None
    if server is None:
        return
    if server.is_replica:
        yield "the database is a replica, which takes no writes: name the primary server"
    if server.connections > _MAX_USED_SHARE * server.max_connections:
        yield (
            f"the database has {server.connections} of {server.max_connections} connections: "
            "lower PAGEFAULT_DB__POOL_SIZE, or use PgBouncer"
        )
    if server.waiting:
        yield f"connections that wait for a lock: {server.waiting}; see the open transactions below"
    if server.running and server.running[0].seconds > _MAX_TRANSACTION_SECONDS:
        yield (
            f"a transaction has been open for {server.running[0].seconds:.0f} s: it keeps locks, "
            "and old rows from being removed"
        )


def _find_queue_problems(report: StatusReport) -> Iterator[str]:
    queues, age = report.queues, report.backlog_seconds
    if queues is None:
        return
    if age is not None and age > _MAX_BACKLOG_SECONDS:
        yield (
            f"the search index is {age / 60:.0f} min behind: entries are written faster than they "
            "are indexed, no server runs, or its log has `not indexed for searches`"
        )
    if queues.oldest_expiry is not None:
        overdue = (report.read_at - queues.oldest_expiry).total_seconds()
        if overdue > _MAX_OVERDUE_SECONDS:
            yield "uploads have expired for more than a day: no sweep runs; run `pagefault gc`"
    quota = report.quotas.stored_bytes
    for project in queues.largest:
        if quota and project.stored_bytes > _MAX_USED_SHARE * quota:
            yield (
                f"project {project.project_id} has used {project.stored_bytes / quota:.0%} of its "
                "quota of stored bytes"
            )
