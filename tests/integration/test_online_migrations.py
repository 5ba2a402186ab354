"""Migrations of databases with records, beside processes that use them."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count

import anyio
import anyio.to_thread
import psycopg
import pytest
from sqlalchemy import Connection, inspect, text

from app.config.settings import Settings
from app.models.session import HistoryCounts
from app.services.search.indexing import SearchIndexing
from app.stores.records.columns import metadata
from app.stores.records.history import SessionHistory
from app.stores.records.migration_plan import SHORT_WAITS, PlannedStatement
from app.stores.records.migrations import newest_revision
from app.stores.records.records import Records
from app.stores.records.search_entries import SearchEntryRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.startup_errors import NewerDatabaseError
from app.wiring.stores import (
    migrate_database,
    open_access,
    open_database,
    plan_database_migration,
)
from tests.integration.sweep_stores import environment_of
from tests.integration.test_migrations import differences, empty, with_engines  # noqa: F401
from tests.kit.process import run_command
from tests.kit.schemas import load_dump
from tests.kit.servers import Engine

pytestmark = pytest.mark.anyio
FIRST, BEFORE_RELEASE = "0001", "0021"
MAX_MS = 1_000
"""The time that a statement of an old process may take, by a limit of the database."""

_RESULT = """
    INSERT INTO tool_results (project_id, tool_result_id, session_id, seq, tool_name, tool_call_id,
        success, request_digest, created_at, sanitized)
    SELECT 'default', :id, session_id, last_seq, 'look', :id, true, 'd', 9, :record
    FROM sessions WHERE project_id = 'default' AND session_id = :session
"""
_FILE = """
    INSERT INTO resources (project_id, resource_id, digest, mime_type, filename, size_bytes, kind,
        created_at)
    VALUES ('default', :id, :id, 'image/png', 'a walrus.png', 1, 'image', 9)
"""
_LINK = """
    INSERT INTO resource_links (project_id, resource_id, owner_kind, owner_id, session_id)
    VALUES ('default', :id, 'tool_result', :id, :session)
"""
_WRITES = {
    FIRST: [
        """UPDATE sessions SET last_seq = last_seq + 1, updated_at = 9
        WHERE project_id = 'default' AND session_id = :session""",
        """INSERT INTO history_entries (project_id, session_id, seq, kind, entry_id)
        SELECT project_id, session_id, last_seq, 'tool_result', :id
        FROM sessions WHERE project_id = 'default' AND session_id = :session""",
        *(_RESULT, _FILE, _LINK),
        """INSERT INTO idempotency_keys (project_id, route, idempotency_key, request_digest,
            claimed_at, answer_id)
        VALUES ('default', 'POST /api/resources', :id, 'd', 9, :id)""",
    ],
    BEFORE_RELEASE: [
        """UPDATE sessions SET last_seq = last_seq + 1, updated_at = 9,
            tool_result_count = tool_result_count + 1
        WHERE project_id = 'default' AND session_id = :session""",
        """INSERT INTO history_entries (project_id, session_id, seq, kind, entry_id, size_bytes)
        SELECT project_id, session_id, last_seq, 'tool_result', :id, 9
        FROM sessions WHERE project_id = 'default' AND session_id = :session""",
        *(_RESULT, _FILE, _LINK),
        "UPDATE projects SET last_event = last_event + 1 WHERE project_id = 'default'",
        """INSERT INTO events (project_id, number, type, subject_id, session_id, seq, created_at,
            size_bytes, members)
        SELECT 'default', last_event, 'tool:result', :id, :session, 9, 9, 9, :record
        FROM projects WHERE project_id = 'default'""",
    ],
}
_READS = (
    "SELECT project_id, session_id, created_at, updated_at, last_seq FROM sessions",
    """SELECT h.seq, h.kind, r.tool_name, r.sanitized FROM history_entries h
    JOIN tool_results r ON r.project_id = h.project_id AND r.tool_result_id = h.entry_id""",
    "SELECT resource_id, digest FROM resources WHERE filename IS NOT NULL",
)
_SESSIONS = {FIRST: "s0", BEFORE_RELEASE: "checkout-regression"}


class OldProcess:
    """Reads and writes by the statements of a version until it is ended; `written` has the ids.

    The database ends a statement, or the wait for a lock, that takes longer than a second.
    """

    def __init__(self, settings: Settings, revision: str) -> None:
        self.written: list[str] = []
        self.error: BaseException | None = None
        self._session, self._writes = _SESSIONS[revision], _WRITES[revision]
        self._engines = open_database(settings)
        self._has_written, self._is_over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "OldProcess":
        self._thread.start()
        self.wait_for_writes(1)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        if self.error is not None:
            raise self.error

    def wait_for_writes(self, more: int) -> None:
        """Wait until so many more writes are committed."""
        until = len(self.written) + more
        while len(self.written) < until and self.error is None:
            self._has_written.clear()
            assert self._has_written.wait(30)

    def _run(self) -> None:
        try:
            with self._engines.writer.connect() as connection:
                is_postgresql = connection.dialect.name == "postgresql"
                limit = "SET statement_timeout =" if is_postgresql else "PRAGMA busy_timeout ="
                connection.exec_driver_sql(f"{limit} {MAX_MS}")
                for number in count():
                    self._write(connection, f"old-{number}")
                    for statement in _READS:
                        assert connection.execute(text(statement)).all()
                    if self._is_over.is_set():
                        return
        except BaseException as exc:  # noqa: BLE001 - the test raises it
            self.error = exc
        finally:
            self._engines.writer.dispose()
            self._has_written.set()

    def _write(self, connection: Connection, entry_id: str) -> None:
        values = {"id": entry_id, "session": self._session, "record": b'{"parts":[],"meta":{}}'}
        is_postgresql = connection.dialect.name == "postgresql"
        connection.exec_driver_sql("BEGIN" if is_postgresql else "BEGIN IMMEDIATE")
        for statement in self._writes:
            connection.execute(text(statement), values)
        connection.exec_driver_sql("COMMIT")
        self.written.append(entry_id)
        self._has_written.set()


def count_rows(connection: Connection) -> Mapping[str, int]:
    """Return the number of rows of each table that both databases have."""
    there = set(inspect(connection).get_table_names())
    return {
        name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar_one()  # noqa: S608
        for name in metadata.tables
        if name in there
    }


def ids_of(table: str, column: str) -> Callable[[Connection], set[str]]:
    return lambda connection: set(
        connection.exec_driver_sql(f"SELECT {column} FROM {table}").scalars()  # noqa: S608
    )


@contextmanager
def open_transaction(settings: Settings, statement: bytes) -> Iterator[None]:
    """Execute a statement, and keep its locks for the length of the block."""
    assert settings.db.url is not None
    with psycopg.connect(settings.db.url.get_secret_value()) as connection:
        connection.execute(statement)
        yield


@pytest.mark.slow
@pytest.mark.promise(
    "durability.md#changes-of-the-service",
    "A process of an older version reads and writes during a migration, and loses nothing",
    kept_by="migrations",
    tried="from the schemas 0001 and 0021, both engines; each statement within a second",
)
@pytest.mark.parametrize("revision", [FIRST, BEFORE_RELEASE])
async def test_old_process_reads_and_writes_while_its_database_is_migrated(
    empty: Settings,  # noqa: F811
    revision: str,
) -> None:
    load_dump(empty, revision)
    with OldProcess(empty, revision) as old:
        assert await migrate_database(empty) == (revision, newest_revision())
        old.wait_for_writes(1)
    assert await with_engines(empty, differences) == []
    for table, column in (("tool_results", "tool_result_id"), ("resources", "resource_id")):
        assert set(old.written) <= await with_engines(empty, ids_of(table, column))


async def test_dump_of_the_release_has_some_of_everything_and_keeps_it(
    empty: Settings,  # noqa: F811
) -> None:
    load_dump(empty, BEFORE_RELEASE)
    before = await with_engines(empty, count_rows)
    assert min(before.values()) > 0
    await migrate_database(empty)
    after = await with_engines(empty, count_rows)
    assert {name: after[name] for name in before} == before


@pytest.mark.slow
async def test_records_of_the_first_schema_are_counted_sized_and_found(
    empty: Settings,  # noqa: F811
) -> None:
    load_dump(empty, FIRST)
    await migrate_database(empty)
    records = Records(open_database(empty))

    def read(unit: UnitOfWork) -> dict[str, HistoryCounts]:
        sessions = (unit[SessionRecords].find(f"s{number}") for number in range(4))
        return {session.session_id: session.counts for session in sessions if session is not None}

    found = await records.read("default", read)
    listed = await records.read(
        "default", lambda unit: unit[SessionHistory].entries("s0", after_seq=0, limit=9)
    )
    waiting = await records.read("default", lambda unit: unit[SearchEntryRecords].count_waiting())
    indexed = await SearchIndexing(records).index_all()
    await records.close()
    assert found == {f"s{number}": HistoryCounts(tool_results=5) for number in range(4)}
    assert [entry.seq for entry in listed] == [1, 2, 3, 4, 5]
    # 21 results and two files with names.
    assert (waiting, indexed) == (23, 23)
    sizes = await with_engines(empty, ids_of("history_entries", "size_bytes"))
    lengths = await with_engines(empty, ids_of("tool_results", "length(sanitized)"))
    assert sizes <= lengths
    assert await with_engines(empty, ids_of("sessions", "incarnation")) == {"first"}


@pytest.mark.slow
@pytest.mark.engines("server")
@pytest.mark.promise(
    "durability.md#changes-of-the-service",
    "A migration that waits for a lock keeps nobody else waiting",
    kept_by="app/stores/records/migrations.py",
    tried="a transaction that has read the table, and 30 writes meanwhile",
)
async def test_migration_that_waits_for_a_lock_keeps_nobody_waiting(
    empty: Settings,  # noqa: F811
) -> None:
    load_dump(empty, FIRST)
    with OldProcess(empty, FIRST) as old:
        async with anyio.create_task_group() as tasks:
            with open_transaction(empty, b"SELECT count(*) FROM sessions"):
                tasks.start_soon(migrate_database, empty)
                await anyio.to_thread.run_sync(wait_for_lock_request, empty)
                await anyio.to_thread.run_sync(old.wait_for_writes, 30)
                assert await with_engines(empty, revision_of) in {"0001", "0002"}
    assert await with_engines(empty, revision_of) == newest_revision()
    assert await with_engines(empty, differences) == []


def wait_for_lock_request(settings: Settings) -> None:
    """Wait until a transaction waits for a lock of a whole table that excludes readers."""
    assert settings.db.url is not None
    waiting = b"SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
    with psycopg.connect(settings.db.url.get_secret_value(), autocommit=True) as connection:
        for _ in range(100_000):
            if connection.execute(waiting).fetchone():
                return
    raise AssertionError("the migration has not asked for a lock")


def revision_of(connection: Connection) -> str:
    return str(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one())


@pytest.mark.slow
async def test_processes_that_migrate_records_at_once_take_turns(
    empty: Settings,  # noqa: F811
) -> None:
    load_dump(empty, FIRST)
    migrate = partial(run_command, "migrate", env=environment_of(empty))
    ended: list[int] = []

    async def run() -> None:
        ended.append((await anyio.to_thread.run_sync(migrate)).returncode)

    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(run)
    assert ended == [0, 0]
    assert await with_engines(empty, differences) == []
    assert await with_engines(empty, revision_of) == newest_revision()


@pytest.mark.slow
@pytest.mark.engines("server")
async def test_invalid_index_of_an_interrupted_migration_is_built_again(
    empty: Settings,  # noqa: F811
) -> None:
    load_dump(empty, FIRST)
    index = "ix_sessions_project_id_updated_at_session_id"
    invalidate = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass('{}')"
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('{}')"

    def leave_invalid(connection: Connection) -> None:
        columns = "project_id, updated_at, session_id"
        connection.exec_driver_sql(f"CREATE INDEX {index} ON sessions ({columns})")
        connection.exec_driver_sql(invalidate.format(index))

    await with_engines(empty, leave_invalid)
    await migrate_database(empty)
    assert await with_engines(
        empty, lambda item: item.exec_driver_sql(valid.format(index)).scalar_one()
    )


async def test_plan_names_statements_locks_and_waits(
    empty: Settings,  # noqa: F811
    engine: Engine,
) -> None:
    load_dump(empty, FIRST)
    if engine == "server":
        await with_engines(empty, lambda item: item.exec_driver_sql("ANALYZE"))
    planned = await plan_database_migration(empty)
    found = [item for item in planned if item.revision in {"0003a", "0003b", "0009a"}]
    waits = {
        "server": [
            ("CREATE INDEX CONCURRENTLY", "SHARE UPDATE EXCLUSIVE", "nobody waits"),
            ("LOCK in batches", "ROW SHARE", "writers of the same rows wait for a batch"),
            ("UPDATE in batches", "ROW EXCLUSIVE", "writers of the same rows wait for a batch"),
            ("UPDATE in batches", "ROW EXCLUSIVE", "writers of the same rows wait for a batch"),
        ],
        "embedded": [
            ("CREATE INDEX", "writer", "writers wait while the rows are read"),
            ("UPDATE in batches", "writer", "writers wait for a batch"),
            ("UPDATE in batches", "writer", "writers wait for a batch"),
        ],
    }[engine]
    tables = [("sessions", 4)] * (len(waits) - 1) + [("history_entries", 20)]
    assert found == [
        PlannedStatement(
            "0003a" if "INDEX" in statement else "0003b", statement, table, rows, lock, wait
        )
        for (statement, lock, wait), (table, rows) in zip(waits, tables, strict=True)
    ]
    assert await with_engines(empty, revision_of) == FIRST


@pytest.mark.engines("server")
async def test_no_migration_lets_others_wait_longer_the_more_rows_there_are(
    empty: Settings,  # noqa: F811
) -> None:
    load_dump(empty, FIRST)
    planned = await plan_database_migration(empty)
    assert {item.revision for item in planned if item.waits not in SHORT_WAITS} == set()


async def test_database_of_a_newer_version_is_refused_with_what_to_do(
    empty: Settings,  # noqa: F811
) -> None:
    await migrate_database(empty)
    newer = text("UPDATE alembic_version SET version_num = '9999'")
    await with_engines(empty, lambda connection: connection.execute(newer))
    told = "revision 9999, which version .* does not know: a newer version has migrated it"
    for run in (migrate_database, plan_database_migration):
        with pytest.raises(NewerDatabaseError, match=told):
            await run(empty)
    with pytest.raises(NewerDatabaseError, match=told):
        async with open_access(empty):
            pass


async def test_plan_of_a_current_database_is_empty(empty: Settings) -> None:  # noqa: F811
    await migrate_database(empty)
    assert await plan_database_migration(empty) == []
