"""Lookups: on SQLite they are read in the event loop, and see what is committed at that moment."""

import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from itertools import chain
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import anyio
import pytest
from sqlalchemy import Connection, Row, create_engine, event, text

from app.config.settings import Settings
from app.errors import UnauthorizedError
from app.models.identity import new_id
from app.models.message import StoredHistoryMessage
from app.models.project import new_api_key
from app.models.session import MESSAGE, TOOL_RESULT, Session, SessionFilter
from app.models.tool_result import StoredToolResult
from app.services.access.callers import Access
from app.stores import records
from app.stores.records.database_address import parse_address
from app.stores.records.engine import Engines, open_engines
from app.stores.records.history import SessionHistory
from app.stores.records.loop_reader import LoopReader
from app.stores.records.pages import PageLevelRecords, PageRecords
from app.stores.records.projects import _FIND_SECRET
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.statements import Lookup, WouldBlockError
from app.stores.records.tool_results import ToolResultRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.stores import migrate_database, open_database
from pagefault_bundles.bundle_records import BundleRecords
from pagefault_dialects.model.resource import MediaHints, Resource
from tests.kit.servers import Engine
from tests.kit.units import snapshot_of, writing

pytestmark = pytest.mark.anyio

PROJECT = "p"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
SHORT, LONG = 65_536, 65_537
# So many numbers that counting them takes a while.
COUNTING = """
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 5000000)
SELECT count(*) FROM numbers
"""


@dataclass
class Store:
    """Records, and how often one of the pool's connections was taken to read them."""

    records: Records
    engines: Engines
    taken: int = 0


@pytest.fixture
async def store(settings: Settings) -> AsyncIterator[Store]:
    await migrate_database(settings)
    engines = open_database(settings)
    opened = Store(Records(engines), engines)
    await opened.records.write_projects(lambda projects: projects.ensure(PROJECT, NOW))

    def count(*_: object) -> None:
        opened.taken += 1

    event.listen(engines.reader, "checkout", count)
    yield opened
    await engines.close()


def tool_result(size_bytes: int = 256, *, session_id: str | None = None) -> StoredToolResult:
    return StoredToolResult(
        tool_result_id=new_id(),
        session_id=session_id,
        seq=None,
        created_at=NOW,
        tool_name="t\x00",
        tool_call_id=new_id(),
        sanitized=bytes(size_bytes),
    )


async def add(store: Store, result: StoredToolResult) -> StoredToolResult:
    """Store a result, in the history of its session if it has one."""
    async with writing(store.records, PROJECT) as unit:
        if result.session_id is not None:
            await unit[SessionRecords].ensure(result.session_id, NOW)
            seq = await unit[SessionRecords].append(
                result.session_id,
                TOOL_RESULT,
                result.tool_result_id,
                size_bytes=len(result.sanitized),
            )
            result = replace(result, seq=seq)
        await unit[ToolResultRecords].add(result, success=True, request_digest="d")
    return result


async def found(store: Store, result: StoredToolResult) -> StoredToolResult | None:
    return await store.records.read(
        PROJECT, lambda unit: unit[ToolResultRecords].find(result.tool_result_id)
    )


@pytest.mark.parametrize(("size_bytes", "taken_on_sqlite"), [(SHORT, 0), (LONG, 1)])
async def test_only_a_long_value_is_read_by_the_pool(
    store: Store, engine: Engine, size_bytes: int, taken_on_sqlite: int
) -> None:
    result = await add(store, tool_result(size_bytes))
    store.taken = 0
    assert await found(store, result) == result
    assert store.taken == (taken_on_sqlite if engine == "embedded" else 1)


async def test_what_is_asked_all_the_time_is_read_by_no_pool(store: Store, engine: Engine) -> None:
    resource = Resource("0" * 32, "d" * 64, "image/png", "a\x00.png", 1, "image", MediaHints(), NOW)
    await store.records.write(PROJECT, lambda unit: unit[ResourceRecords].ensure(resource))
    access = Access(store.records, None)
    key = await access.create_key(PROJECT, "k")

    def find(unit: UnitOfWork) -> Resource | None:
        return unit[ResourceRecords].find(resource.resource_id)

    def find_nothing(unit: UnitOfWork) -> tuple[object, ...]:
        return (
            unit[PageRecords].find("no-page", with_content=True),
            unit[PageLevelRecords].find("no-page"),
            unit[SessionHistory].find_head("no-session"),
            unit[SessionHistory].entries("no-session", after_seq=0, limit=9),
        )

    store.taken = 0
    assert await store.records.read(PROJECT, find) == resource
    assert (await access.caller_of(f"Bearer {key}")).project_id == PROJECT
    assert await store.records.read(PROJECT, find_nothing) == (None, [], None, [])
    assert (store.taken == 0) == (engine == "embedded")


async def test_work_that_comes_upon_more_than_lookups_is_done_anew_by_the_pool(
    store: Store, engine: Engine
) -> None:
    result = await add(store, tool_result())
    begun: list[int] = []

    def work(unit: UnitOfWork) -> tuple[StoredToolResult | None, list[Session]]:
        begun.append(threading.get_ident())
        found = unit[ToolResultRecords].find(result.tool_result_id)
        return found, [*unit[SessionRecords].list_sessions(SessionFilter(), before=None, limit=9)]

    store.taken = 0
    assert await store.records.read(PROJECT, work) == (result, [])
    in_loop = [item == threading.get_ident() for item in begun]
    assert in_loop == ([True, False] if engine == "embedded" else [False])
    assert store.taken == 1


@pytest.mark.parametrize("size_bytes", [10, 400_000])
async def test_history_is_the_same_however_long_its_entries_are(
    store: Store, engine: Engine, size_bytes: int
) -> None:
    stored = [await add(store, tool_result(size_bytes, session_id="s")) for _ in range(3)]
    message = StoredHistoryMessage(4, new_id(), NOW, None, "d", b'{"role":"user"}', "form")

    def add_message(unit: UnitOfWork) -> None:
        unit[SessionRecords].ensure("s", NOW)
        unit[SessionRecords].append("s", MESSAGE, message.message_id, size_bytes=15)
        unit[BundleRecords].add_messages("s", [message])

    await store.records.write(PROJECT, add_message)
    store.taken = 0
    entries = await store.records.read(
        PROJECT, lambda unit: unit[SessionHistory].entries("s", after_seq=1, limit=200)
    )
    assert [entry.seq for entry in entries] == [2, 3, 4]
    assert [getattr(entry, "sanitized", None) for entry in entries] == [
        *(result.sanitized for result in stored[1:]),
        None,
    ]
    assert entries[-1] == message
    assert (store.taken == 0) == (engine == "embedded" and size_bytes == 10)


async def test_write_sees_what_it_has_written_and_nobody_else_does(store: Store) -> None:
    result = tool_result()
    async with writing(store.records, PROJECT) as unit:
        await unit[ToolResultRecords].add(result, success=True, request_digest="d")
        assert await unit[ToolResultRecords].find(result.tool_result_id) == result
        assert await found(store, result) is None
    assert await found(store, result) == result


async def test_snapshot_goes_on_seeing_what_is_removed(store: Store) -> None:
    result = await add(store, tool_result(session_id="s"))
    async with snapshot_of(store.records, PROJECT) as unit:
        assert await unit[ToolResultRecords].find(result.tool_result_id) == result
        async with writing(store.records, PROJECT) as removing:
            await removing[SessionRecords].find_and_lock("s")
            await removing[SessionRecords].remove("s")
        assert await found(store, result) is None
        assert await unit[ToolResultRecords].find(result.tool_result_id) == result


async def test_key_is_refused_at_once_when_others_have_revoked_it(
    store: Store, settings: Settings
) -> None:
    access = Access(store.records, None)
    key = await access.create_key(PROJECT, "k")
    offload_location = open_database(settings)
    try:
        others = Access(Records(offload_location), None)
        assert (await access.caller_of(f"Bearer {key}")).project_id == PROJECT
        await others.revoke_key(key.split("_")[1])
        with pytest.raises(UnauthorizedError):
            await access.caller_of(f"Bearer {key}")
    finally:
        await offload_location.close()


@pytest.mark.slow
async def test_lookups_are_answered_while_a_long_statement_runs(store: Store) -> None:
    """The statement counts to five million, in a thread or in the server."""
    result = await add(store, tool_result())
    order: list[str] = []

    async def count() -> None:
        await store.engines.read(lambda connection: connection.execute(text(COUNTING)).all())
        order.append("counted")

    store.taken = 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        while store.taken == 0:
            await anyio.lowlevel.checkpoint()
        for _ in range(10):
            assert await found(store, result) == result
        order.append("found")
    assert order == ["found", "counted"]


async def test_lookup_leaves_nothing_open_that_would_keep_the_log_from_being_emptied(
    store: Store, engine: Engine
) -> None:
    result = await add(store, tool_result())
    await found(store, result)
    if engine == "embedded":
        with store.engines.writer.connect() as connection:
            emptied = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            assert emptied.one() == (0, 0, 0)
    assert await found(store, result) == result


def loop_reader(folder: Path) -> LoopReader:
    """Return the reader of the database of a data directory in the event loop."""
    engines = open_engines(parse_address(None, folder), pool_size=1, timeout_seconds=1)
    assert engines.loop_reader is not None
    return engines.loop_reader


def finding(key_id: str) -> Callable[[Connection], Sequence[Row[Any]]]:
    """Work that looks a key up."""
    return lambda connection: _FIND_SECRET.read(connection, {"key_id": key_id})


async def test_each_lookup_sees_what_is_committed(
    tmp_path: Path,
) -> None:
    await migrate_database(Settings(data_dir=tmp_path))
    key = new_api_key()
    loop = loop_reader(tmp_path)
    others = sqlite3.connect(tmp_path / "pagefault.db", isolation_level=None)
    assert loop.read(finding(key.key_id)) == []
    others.execute("INSERT INTO projects (project_id, created_at) VALUES ('p', 0)")
    others.execute(
        "INSERT INTO api_keys (key_id, project_id, label, secret_sha256, created_at)"
        " VALUES (?, 'p', 'k', ?, 0)",
        (key.key_id, key.secret_sha256),
    )
    assert [tuple(row[:3]) for row in loop.read(finding(key.key_id))] == [
        ("p", key.secret_sha256, 0)
    ]
    loop.close()
    others.close()


async def test_loop_does_not_wait_for_a_file_that_others_hold(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    await migrate_database(settings)
    find = finding(new_api_key().key_id)
    holder = sqlite3.connect(tmp_path / "pagefault.db", isolation_level=None)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    loop = loop_reader(tmp_path)
    with pytest.raises(WouldBlockError):
        loop.read(find)
    holder.close()
    assert loop.read(find) == []
    loop.close()


async def test_every_lookup_is_one_that_sqlite_understands(tmp_path: Path) -> None:
    """A mistake in one would show only in the time it takes: the pool answers in its place."""
    await migrate_database(Settings(data_dir=tmp_path))
    names = [module.name for module in iter_modules(records.__path__, f"{records.__name__}.")]
    modules = [import_module(name) for name in names]
    lookups = [var for module in modules for var in vars(module).values() if type(var) is Lookup]
    assert len(lookups) >= 10
    with create_engine(f"sqlite:///{tmp_path / 'pagefault.db'}").connect() as connection:
        for lookup in lookups:
            rows = connection.execute(lookup.short_statement, some_values(lookup)).all()
            # A sum of nothing is a row as well.
            assert {*chain.from_iterable(rows)} <= {None, False, True}


def some_values(lookup: Lookup) -> dict[str, Any]:
    """A value for each parameter."""
    values: dict[str, Any] = {}
    for name, bind in lookup.statement.compile().binds.items():
        value = 1 if bind.type.python_type is int else "x"
        values[name] = [value] if bind.expanding else value
    return values
