"""Migrations, on both engines: they make the schema the code has, once, and can go back."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from pydantic import SecretStr
from sqlalchemy import URL, Connection, inspect, text
from sqlalchemy.engine.interfaces import ReflectedIndex

from app.config.settings import Settings
from app.errors import StoreMisconfiguredError, StoreUnavailableError
from app.features import open_services
from app.models.message import StoredHistoryMessage, StoredMessage, wrap_message
from app.models.session import HistoryCounts, Session
from app.services.search.indexing import SearchIndexing
from app.stores.records import search_tables  # noqa: F401 - it completes the metadata
from app.stores.records.columns import is_shared_schema, metadata
from app.stores.records.database_address import DATABASE_FILE, DatabaseAddress
from app.stores.records.derived_images import DerivedImageRecords
from app.stores.records.engine import (
    open_engines,
)
from app.stores.records.group_commits import begin
from app.stores.records.history import MessageRecords, SessionHistory
from app.stores.records.migrations import (
    current_revision,
    is_newest,
    migrate,
    newest_revision,
)
from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.search_entries import SearchEntryRecords
from app.stores.records.sessions import SessionRecords
from app.wiring.startup_errors import MissingSigningKeysError, OutdatedDatabaseError
from app.wiring.stores import (
    migrate_database,
    migrate_in_subprocess,
    open_access,
    open_database,
)
from pagefault_bundles.bundle_records import BundleRecords
from pagefault_dialects.model.page import PageFilters
from tests.faults.lengths import LONG, TIMEOUT_SECONDS, tell, times
from tests.integration.sweep_stores import environment_of
from tests.kit.process import ROOT, environment, workspace
from tests.kit.servers import Backends, Engine
from tests.kit.units import writing

_T = TypeVar("_T")
pytestmark = pytest.mark.anyio
SCRIPTS = Path(__file__).parents[2] / "migrations"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KILLED_EACH = times(25, 1)
"""The statements between two kills."""
FIRST_RECORDS = (
    "INSERT INTO projects (project_id, created_at) VALUES ('p', 0)",
    "INSERT INTO sessions VALUES ('p', 's', 0, 0, 1)",
    "INSERT INTO history_entries VALUES ('p', 's', 1, 'tool_result', 'r')",
    "INSERT INTO tool_results VALUES ('p', 'r', 's', 1, 't', 'c', true, 'd', 0, :record)",
)
STARTS = [pytest.param(FIRST_RECORDS, id="first schema")]
if LONG:
    STARTS.append(pytest.param((), id="nothing"))


@pytest.fixture
def empty(backends: Backends, engine: Engine, tmp_path: Path) -> Settings:
    """Settings over a database in which nothing is yet."""
    settings = backends.settings(engine, tmp_path / "data", is_migrated=False)
    settings.data_dir.mkdir(parents=True)
    return settings


async def with_engines(settings: Settings, run: Callable[[Connection], _T]) -> _T:
    engines = open_database(settings)
    try:
        with engines.writer.connect() as connection:
            begin(connection)
            result = run(connection)
            connection.commit()
            return result
    finally:
        await engines.close()


def differences(connection: Connection) -> list[Any]:
    context = MigrationContext.configure(
        connection,
        opts={
            "compare_type": True,
            "compare_server_default": True,
            "include_name": is_shared_schema,
        },
    )
    return list(compare_metadata(context, metadata))


def schema(connection: Connection) -> dict[str, Any]:
    """Everything the database says of its tables."""
    inspector = inspect(connection)
    return {
        table: (
            [(column["name"], str(column["type"]), column["nullable"]) for column in columns],
            inspector.get_pk_constraint(table),
            sorted(inspector.get_foreign_keys(table), key=lambda key: str(key["name"])),
            sorted(map(described, inspector.get_indexes(table))),
            sorted(inspector.get_unique_constraints(table), key=lambda key: str(key["name"])),
        )
        for table in sorted(inspector.get_table_names())
        for columns in [inspector.get_columns(table)]
    }


def described(index: ReflectedIndex) -> str:
    """An index in words, the condition of a partial one too."""
    options = {
        name: str(dialect_option)
        for name, dialect_option in index.get("dialect_options", {}).items()
    }
    return str({**index, "dialect_options": options})


def downgraded(connection: Connection) -> list[str]:
    """Take all back, and say what tables are left."""
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(SCRIPTS))
    command.downgrade(config, "base")
    return inspect(connection).get_table_names()


async def test_migrating_from_nothing_makes_the_schema_of_the_code(empty: Settings) -> None:
    assert await migrate_database(empty) == (None, newest_revision())
    assert await with_engines(empty, differences) == []


async def test_migrating_again_changes_nothing(empty: Settings) -> None:
    await migrate_database(empty)
    before = await with_engines(empty, schema)
    assert await migrate_database(empty) == (newest_revision(), newest_revision())
    assert await with_engines(empty, schema) == before


@pytest.mark.slow
async def test_going_down_and_up_again_ends_where_it_began(empty: Settings) -> None:
    await migrate_database(empty)
    before = await with_engines(empty, schema)
    assert await with_engines(empty, downgraded) == ["alembic_version"]
    assert await migrate_database(empty) == (None, newest_revision())
    assert await with_engines(empty, schema) == before


def first_schema(connection: Connection) -> None:
    """Make the first schema, and a record in it."""
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(SCRIPTS))
    command.upgrade(config, "0001")
    for statement in FIRST_RECORDS:
        connection.execute(text(statement), {"record": b"{}"})


@pytest.mark.slow
async def test_records_of_the_first_schema_are_read_after_migrating(empty: Settings) -> None:
    await with_engines(empty, first_schema)
    assert await migrate_database(empty) == ("0001", newest_revision())
    assert await with_engines(empty, differences) == []
    records = Records(open_database(empty))
    async with writing(records, "p") as unit:
        kept = await unit[SessionHistory].entries("s", after_seq=0, limit=9)
        assert await unit[PageRecords].list_numbers(PageFilters(), before=None, limit=9) == []
        session = await unit[SessionRecords].find("s")
        assert await unit[SearchEntryRecords].count_waiting() == 1
    assert await SearchIndexing(records).index_all() == 1
    await records.close()
    assert session == Session("s", EPOCH, EPOCH, 1, HistoryCounts(tool_results=1))
    assert kept == [StoredMessage(1, "r", EPOCH, "c", "t", b"{}")]


@pytest.mark.slow
async def test_going_back_before_derived_images_leaves_none_behind(empty: Settings) -> None:
    await migrate_database(empty)

    def back(connection: Connection) -> list[str]:
        connection.execute(text("INSERT INTO projects (project_id, created_at) VALUES ('p', 0)"))
        for name, is_derived in (("source", False), ("made", True)):
            stored = {"project": "p", "name": name, "made": is_derived}
            connection.execute(
                text(
                    "INSERT INTO resources (project_id, resource_id, digest, mime_type, size_bytes,"
                    " kind, created_at, is_derived)"
                    " VALUES (:project, :name, :name, 'image/png', 1, 'image', 0, :made)"
                ),
                stored,
            )
        connection.execute(
            text("INSERT INTO derived_images VALUES ('p', 'source', 'r', 'made', false, 0)")
        )
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(SCRIPTS))
        command.downgrade(config, "0003")
        left = connection.execute(text("SELECT resource_id FROM resources"))
        return list(left.scalars())

    assert await with_engines(empty, back) == ["source"]
    assert await migrate_database(empty) == ("0003", newest_revision())
    assert await with_engines(empty, differences) == []
    records = Records(open_database(empty))
    assert await records.read("p", lambda unit: unit[ResourceRecords].find("source")) is not None
    assert (
        await records.read("p", lambda unit: unit[DerivedImageRecords].find("source", "r")) is None
    )
    await records.close()


OLD_MESSAGE = """
    INSERT INTO messages (project_id, message_id, session_id, seq, tool_call_id, request_digest,
        created_at, message, inline_form, page_fault)
    VALUES ('p', 'old', 's', 1, NULL, 'd', 0, :message, NULL, NULL)
"""
"""As the version before messages had dialects writes one."""


@pytest.mark.slow
async def test_version_without_dialects_writes_and_reads_messages_beside_the_new_one(
    empty: Settings,
) -> None:
    await migrate_database(empty)
    flat, posted = b'{"role":"user","content":"hello"}', b'{"type":"function_call","id":"fc_1"}'

    def write_as_before(connection: Connection) -> None:
        connection.execute(text("INSERT INTO projects (project_id, created_at) VALUES ('p', 0)"))
        connection.execute(text(OLD_MESSAGE), {"message": flat})

    await with_engines(empty, write_as_before)
    wrapped = StoredHistoryMessage(
        *(2, "new", EPOCH, None, "d"),
        message=wrap_message(posted, dialect="openai-responses", role="assistant"),
        dialect="openai-responses",
        reading=1,
        role="assistant",
    )
    records = Records(open_database(empty))
    async with writing(records, "p") as unit:
        await unit[BundleRecords].add_messages("s", [wrapped])
        old = await unit[MessageRecords].find("old")
        new = await unit[MessageRecords].find("new")
    await records.close()
    assert old == StoredHistoryMessage(1, "old", EPOCH, None, "d", flat)
    assert (new, wrapped.sent) == (wrapped, posted)

    def read_as_before(connection: Connection) -> list[Any]:
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(SCRIPTS))
        command.downgrade(config, "0015")
        rows = connection.execute(text("SELECT message FROM messages ORDER BY seq")).scalars()
        return [json.loads(bytes(row)) for row in rows]

    # It takes the object around the message for one with a role, which it needs.
    around = {"dialect": "openai-responses", "role": "assistant", "message": json.loads(posted)}
    assert await with_engines(empty, read_as_before) == [json.loads(flat), around]
    assert await migrate_database(empty) == ("0015", newest_revision())
    assert await with_engines(empty, differences) == []


async def test_migrations_at_the_same_time_take_turns(empty: Settings) -> None:
    outcomes: list[tuple[str | None, str]] = []

    async def run() -> None:
        outcomes.append(await migrate_database(empty))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(run)
    assert {after for _, after in outcomes} == {newest_revision()}
    assert await with_engines(empty, differences) == []


@pytest.mark.slow
async def test_new_files_are_opened_by_eight_at_once(tmp_path: Path) -> None:
    together = [threading.Barrier(8) for _ in range(60)]

    def opened(number: int) -> None:
        together[number].wait()
        url = URL.create("sqlite", database=str(tmp_path / f"{number}.db"))
        engine = open_engines(DatabaseAddress(url), pool_size=1, timeout_seconds=10).writer
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS opened (number INTEGER)")
            connection.exec_driver_sql("INSERT INTO opened VALUES (1)")

    async with anyio.create_task_group() as tasks:
        for number in range(60):
            for _ in range(8):
                tasks.start_soon(anyio.to_thread.run_sync, opened, number)
    for number in range(60):
        with closing(sqlite3.connect(tmp_path / f"{number}.db")) as connection:
            assert connection.execute("SELECT count(*) FROM opened").fetchone() == (8,)


class PowerCutError(Exception):
    """An event in the middle of a migration."""


@pytest.mark.promise(
    "durability.md#changes-of-the-service",
    "An interrupted migration of a new database leaves nothing, and completes when run again",
    kept_by="migrations",
    tried="1 interruption, both engines",
)
async def test_interrupted_migration_leaves_nothing_and_completes_when_run_again(
    empty: Settings,
) -> None:
    def upgrade_and_fail(connection: Connection) -> None:
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(SCRIPTS))
        command.upgrade(config, "head")
        raise PowerCutError

    with pytest.raises(PowerCutError):
        await with_engines(empty, upgrade_and_fail)
    assert await with_engines(empty, schema) == {}
    assert await migrate_database(empty) == (None, newest_revision())
    assert await with_engines(empty, differences) == []


@contextmanager
def dying_migrations(settings: Settings) -> Iterator[Callable[[int], int]]:
    """Migrates in a process that dies behind so many statements; returns how it ended."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.dying_migrations"],
        cwd=ROOT,
        env=environment(environment_of(settings)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def migrate_until(statement: int) -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{statement}\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        # It ends when nothing more can come to it.
        yield migrate_until


def first_records(connection: Connection) -> list[tuple[Any, ...]]:
    """Return the rows of the first schema; empty if it was never there."""
    if not inspect(connection).has_table("history_entries"):
        return []
    return [
        tuple(row)
        for row in connection.execute(
            text("SELECT project_id, session_id, seq FROM history_entries")
        )
    ]


@pytest.mark.slow
@pytest.mark.promise(
    "durability.md#changes-of-the-service",
    (
        "A migration that is killed after any statement loses nothing, and completes when "
        "it is run again"
    ),
    kept_by="migrations",
    tried=(
        "behind every 25th statement, both engines, from the first schema; long: behind each,"
        " also from nothing"
    ),
)
@pytest.mark.timeout(TIMEOUT_SECONDS)
@pytest.mark.parametrize("records", STARTS)
async def test_migration_killed_behind_a_statement_loses_nothing_and_completes_at_last(
    empty: Settings, engine: Engine, records: tuple[str, ...]
) -> None:
    def begin(connection: Connection) -> None:
        if records:
            first_schema(connection)

    await with_engines(empty, begin)
    before = await with_engines(empty, first_records)
    with dying_migrations(empty) as migrate_until:
        for statement in count(1, KILLED_EACH):
            ended = await anyio.to_thread.run_sync(migrate_until, statement)
            if ended == 0:
                break
            assert ended == -signal.SIGKILL
            if not records:
                assert await with_engines(empty, schema) == {}
            assert await with_engines(empty, first_records) == before
    assert statement > 1
    assert await with_engines(empty, differences) == []
    assert await with_engines(empty, first_records) == before
    kills = len(range(1, statement, KILLED_EACH))
    start = "from the first schema" if records else "from nothing"
    tell(f"Migrations killed, {engine}, {start}", f"{kills} kills: 0 records lost, completed")


async def test_outdated_server_database_is_refused_until_it_is_migrated(
    backends: Backends, tmp_path: Path
) -> None:
    database = backends.postgres.settings(backends.postgres.new_database())
    settings = backends.settings("server", tmp_path).model_copy(update={"db": database})
    for opened in (open_services, open_access):
        with pytest.raises(OutdatedDatabaseError, match="pagefault migrate"):
            async with opened(settings):
                pass
    assert await with_engines(settings, schema) == {}
    await migrate_database(settings)
    async with open_services(settings) as services:
        await services[Records].check()


async def test_embedded_database_is_migrated_when_it_is_opened(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new" / "data")
    async with open_services(settings):
        pass
    assert await with_engines(settings, differences) == []


async def test_server_database_without_signing_keys_is_refused(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("server", tmp_path).model_copy(update={"signing_keys": ()})
    with pytest.raises(MissingSigningKeysError, match="PAGEFAULT_SIGNING_KEYS"):
        async with open_services(settings):
            pass


async def test_database_that_does_not_answer_is_named(backends: Backends, tmp_path: Path) -> None:
    missing = SecretStr(backends.postgres.url("there_is_none"))
    settings = backends.settings("server", tmp_path)
    lost = settings.model_copy(update={"db": settings.db.model_copy(update={"url": missing})})
    with pytest.raises(StoreMisconfiguredError, match="database refuses this service"):
        await migrate_database(lost)


@pytest.mark.parametrize("kept_bytes", [0, 4096])
async def test_file_that_is_no_sound_database_is_called_so(tmp_path: Path, kept_bytes: int) -> None:
    settings = Settings(data_dir=tmp_path)
    await migrate_database(settings)
    path = tmp_path / "pagefault.db"
    path.write_bytes(path.read_bytes()[:kept_bytes] + b"x" * 8192)
    with pytest.raises(StoreUnavailableError, match=r"^The database file is damaged, or is no"):
        await migrate_database(settings)


async def test_revision_is_none_before_and_the_newest_after(empty: Settings) -> None:
    engines = open_database(empty)
    try:
        before = current_revision(engines.reader)
        migrate(engines.writer)
        after = current_revision(engines.reader)
    finally:
        await engines.close()
    assert (before, after) == (None, newest_revision())


@pytest.mark.slow
@pytest.mark.engines("embedded")
@pytest.mark.promise(
    "security.md#settings",
    "Nothing is loaded from the folder that a host starts the proxy in",
    kept_by="app/wiring/stores.py",
    tried="a folder with a package `app`",
)
async def test_database_is_migrated_by_no_code_of_the_folder_it_is_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    folder = workspace(tmp_path)
    monkeypatch.chdir(folder)
    await migrate_in_subprocess(settings)
    assert is_newest(settings.data_dir / DATABASE_FILE)
    assert "ran" not in os.listdir(folder)
