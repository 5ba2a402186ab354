"""Problems of a status: each state that needs the operator is one, with its remedy."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.services.maintenance.status import (
    Disk,
    QuotaLimits,
    Revision,
    StatusReport,
    find_problems,
)
from app.stores.records.database_status import (
    DatabaseStatus,
    ProjectBytes,
    QueueStatus,
    RunningStatement,
    ServerStatus,
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SERVER = ServerStatus(False, 90, 100, 9, 0, [RunningStatement(59, "active", "", "")], None)
DATABASE = DatabaseStatus("18.0", 1, SERVER)
QUEUES = QueueStatus(
    projects=1,
    events=1,
    search_entries=1,
    oldest_entry=NOW - timedelta(seconds=300),
    open_uploads=1,
    oldest_expiry=NOW - timedelta(hours=24),
    largest=[ProjectBytes("p", 90)],
)
SOUND = StatusReport(
    read_at=NOW,
    version="1",
    python="3",
    database_location="h/d",
    blobs_location="s3://bucket",
    disk=Disk(5, 100),
    quotas=QuotaLimits(0, 0, 100),
    failures={},
    revision=Revision("0002", "0002"),
    database=DATABASE,
    queues=QUEUES,
)


def test_service_within_all_limits_has_no_problems() -> None:
    assert [*find_problems(SOUND)] == []


def with_server(**changes: object) -> StatusReport:
    return replace(SOUND, database=replace(DATABASE, server=replace(SERVER, **changes)))  # type: ignore[arg-type]


def with_queues(**changes: object) -> StatusReport:
    return replace(SOUND, queues=replace(QUEUES, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("report", "problem"),
    [
        (replace(SOUND, failures={"files": "the blob store is away"}), "the blob store is away"),
        (
            replace(SOUND, revision=Revision("0001", "0002")),
            "the schema is at revision 0001, and this version needs 0002: run `pagefault migrate` "
            "of the newer version",
        ),
        (
            replace(SOUND, disk=Disk(4, 100)),
            "the disk of the data directory is nearly full: docs/operations.md, A full disk, has "
            "the remedies",
        ),
        (
            with_server(is_replica=True),
            "the database is a replica, which takes no writes: name the primary server",
        ),
        (
            with_server(connections=91),
            "the database has 91 of 100 connections: lower PAGEFAULT_DB__POOL_SIZE, or use "
            "PgBouncer",
        ),
        (
            with_server(waiting=2),
            "connections that wait for a lock: 2; see the open transactions below",
        ),
        (
            with_server(running=[RunningStatement(61, "active", "", "")]),
            "a transaction has been open for 61 s: it keeps locks, and old rows from being removed",
        ),
        (
            with_queues(oldest_entry=NOW - timedelta(seconds=600)),
            "the search index is 10 min behind: entries are written faster than they are indexed, "
            "no server runs, or its log has `not indexed for searches`",
        ),
        (
            with_queues(oldest_expiry=NOW - timedelta(hours=25)),
            "uploads have expired for more than a day: no sweep runs; run `pagefault gc`",
        ),
        (
            with_queues(largest=[ProjectBytes("p", 95)]),
            "project p has used 95% of its quota of stored bytes",
        ),
    ],
)
def test_state_that_needs_the_operator_is_one_problem(report: StatusReport, problem: str) -> None:
    assert [*find_problems(report)] == [problem]
