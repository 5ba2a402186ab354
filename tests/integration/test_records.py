"""The records, on both engines: what transactions, locks and columns promise."""

import ast
import asyncio
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Sized
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from sqlalchemy import Engine, event
from sqlalchemy import exc as sql
from sqlalchemy.engine.interfaces import DBAPIConnection

import app.stores.records as records_package
from app.config.settings import DatabaseSettings, Settings
from app.errors import StoreFullError, StoreUnavailableError
from app.models.identity import new_id
from app.models.project import ApiKey
from app.models.session import TOOL_RESULT
from app.models.tool_result import StoredToolResult
from app.services.requests.idempotency import Idempotency, IdempotentCall
from app.services.requests.request_identity import RequestIdentity
from app.services.requests.session_keys import (
    CALL_ROUTE,
    PAGE_ROUTE,
    forget_session,
    key_in_session,
)
from app.stores.records.aliases import AliasRecords, AliasTarget
from app.stores.records.answered_calls import AnsweredCallRecords
from app.stores.records.database_address import parse_address
from app.stores.records.database_errors import translate_errors
from app.stores.records.engine import open_engines
from app.stores.records.history import SessionHistory
from app.stores.records.idempotency import Claim, IdempotencyRecords
from app.stores.records.projects import ProjectRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.scope import ProjectScope
from app.stores.records.sessions import SessionRecords
from app.stores.records.tables import resource_links
from app.stores.records.tool_results import ToolResultRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.stores import migrate_database, open_database
from pagefault_dialects.model.resource import MediaHints, Resource
from tests.kit.servers import Backends
from tests.kit.units import OpenUnit, reading, writing

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
STRINGS = (
    *"\x00\x1a \"'\\\x7f\x80\x9f\u00e9\u212b\u0130\u0131",
    *"\ufeff\ufffe\uffff\ufffd\U0001f600\U0010ffff",
    "",
    "a\x00b",
    "\x1a0",
    "\x1a1",
    "\x00\x1a\x00",
    "\x1a\x1a0\x00",
    "1\x1a",
    "'; DROP TABLE sessions; --",
    "%s %(x)s :x ? $1",
    "\n\r\t\x0b\x0c",
    "e\u0301",
    "\u202e\u2066",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "NULL",
    "x" * 100_000,
)


class GivenUpError(Exception):
    """An error that rolls a transaction back."""


def resource(resource_id: str = "0" * 32, filename: str | None = None) -> Resource:
    return Resource(
        resource_id=resource_id,
        digest="d" * 64,
        mime_type="image/png",
        filename=filename,
        size_bytes=2**40,
        kind="image",
        hints=MediaHints(width=1, height=2, duration_seconds=0.1),
        created_at=NOW,
    )


def tool_result(name: str = "t") -> StoredToolResult:
    return StoredToolResult(
        tool_result_id=new_id(),
        session_id="s",
        seq=1,
        created_at=NOW,
        tool_name=name,
        tool_call_id=name,
        sanitized=bytes(range(256)),
    )


@asynccontextmanager
async def given_up(records: Records) -> AsyncIterator[OpenUnit]:
    """A write that rolls back at its end."""
    with suppress(GivenUpError):
        async with writing(records, PROJECT) as unit:
            yield unit
            raise GivenUpError


async def append(unit: OpenUnit, session_id: str = "s") -> int:
    await unit[SessionRecords].ensure(session_id, NOW)
    number: int = await unit[SessionRecords].append(session_id, TOOL_RESULT, new_id())
    return number


async def link(unit: OpenUnit, owner_id: str = "o") -> None:
    await unit[ResourceRecords].ensure_linked(
        [resource()], owner_kind=TOOL_RESULT, owner_id=owner_id, session_id="s"
    )


async def test_number_of_a_rolled_back_entry_is_given_again(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        assert await append(unit) == 1
    async with given_up(records) as unit:
        assert await append(unit) == 2
    async with writing(records, PROJECT) as unit:
        assert await append(unit) == 2


async def test_session_of_a_rolled_back_write_was_never_there(records: Records) -> None:
    async with given_up(records) as unit:
        await append(unit)
    assert await records.read(PROJECT, lambda unit: unit[SessionRecords].find("s")) is None


async def test_concurrent_writers_number_a_session_without_gaps(records: Records) -> None:
    numbers: list[int] = []

    async def write(fails: bool) -> None:
        try:
            async with writing(records, PROJECT) as unit:
                number = await append(unit)
                # Others get their turn while this transaction holds the session.
                await anyio.lowlevel.checkpoint()
                if fails:
                    raise GivenUpError
        except GivenUpError:
            return
        numbers.append(number)

    async with anyio.create_task_group() as tasks:
        for index in range(40):
            tasks.start_soon(write, index % 4 == 0)
    assert sorted(numbers) == list(range(1, 31))


async def test_entering_a_session_keeps_when_it_began(records: Records) -> None:
    later = NOW + timedelta(microseconds=1)
    async with writing(records, PROJECT) as unit:
        await unit[SessionRecords].ensure("s", NOW)
        ensured = await unit[SessionRecords].ensure("s", later)
    assert (ensured.created_at, ensured.updated_at, ensured.last_seq) == (NOW, later, 0)


async def test_appending_to_a_session_before_ensure_is_a_mistake(records: Records) -> None:
    with pytest.raises(RuntimeError, match="call `ensure`"):
        await records.write(
            PROJECT, lambda unit: unit[SessionRecords].append("s", TOOL_RESULT, "x")
        )


async def test_resource_stays_as_it_was_first_stored(records: Records) -> None:
    again = replace(resource(), created_at=NOW + timedelta(days=1), hints=MediaHints())
    async with writing(records, PROJECT) as unit:
        assert await unit[ResourceRecords].ensure(resource()) == (resource(), True)
    async with writing(records, PROJECT) as unit:
        assert await unit[ResourceRecords].ensure(again) == (resource(), False)
    async with reading(records, PROJECT) as unit:
        assert await unit[ResourceRecords].find(resource().resource_id) == resource()


async def test_linked_resource_cannot_be_removed(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await unit[ResourceRecords].ensure(resource())
        await link(unit)
        await link(unit)
    with pytest.raises(sql.IntegrityError):
        await records.write(
            PROJECT, lambda unit: unit[ResourceRecords].remove(resource().resource_id)
        )
    async with reading(records, PROJECT) as unit:
        assert await unit[ResourceRecords].find(resource().resource_id) == resource()
        assert await unit[ResourceRecords].list_owners("0" * 32, limit=9) == [(TOOL_RESULT, "o")]


async def test_link_to_a_resource_that_is_not_there_is_refused(
    records: Records, settings: Settings
) -> None:
    engines = open_database(settings)
    link = {"resource_id": "0" * 32, "owner_kind": TOOL_RESULT, "owner_id": "o"}
    try:
        with pytest.raises(sql.IntegrityError), engines.writer.begin() as connection:
            ProjectScope(connection, PROJECT).insert_new(resource_links, [link])
    finally:
        await engines.close()


async def delete_unless_used(records: Records) -> bool:
    async with writing(records, PROJECT) as unit:
        if not await unit[ResourceRecords].lock(resource().resource_id):
            return False
        if await unit[ResourceRecords].list_owners(resource().resource_id, limit=1):
            return False
        await unit[ResourceRecords].remove(resource().resource_id)
        return True


async def store_and_link(records: Records, owner_id: str) -> None:
    async with writing(records, PROJECT) as unit:
        await unit[ResourceRecords].ensure(resource())
        await anyio.lowlevel.checkpoint()
        await link(unit, owner_id)


async def test_delete_waits_for_a_link_that_is_being_made(records: Records) -> None:
    deleted: list[bool] = []
    ensured = anyio.Event()

    async def delete() -> None:
        await ensured.wait()
        deleted.append(await delete_unless_used(records))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(delete)
        async with writing(records, PROJECT) as unit:
            await unit[ResourceRecords].ensure(resource())
            ensured.set()
            await anyio.lowlevel.checkpoint()
            await link(unit)
    assert deleted == [False]


async def test_links_and_deletes_at_once_never_leave_a_link_to_nothing(records: Records) -> None:
    async def delete() -> None:
        await delete_unless_used(records)

    for round_number in range(10):
        async with anyio.create_task_group() as tasks:
            for index in range(3):
                tasks.start_soon(store_and_link, records, f"{round_number}-{index}")
                tasks.start_soon(delete)
        async with reading(records, PROJECT) as unit:
            assert await unit[ResourceRecords].find(resource().resource_id) is not None
            owners = await unit[ResourceRecords].list_owners(resource().resource_id, limit=99)
        assert len(owners) == 3 * (round_number + 1)


@pytest.mark.promise(
    "security.md#the-database",
    "A string comes back from the tables unchanged",
    kept_by="app/stores/records/columns.py",
    tried="every string of a list",
)
async def test_every_string_comes_back_as_it_was(records: Records) -> None:
    stored = [resource(f"{n:032x}", string) for n, string in enumerate(STRINGS)]
    results = [tool_result(string) for string in STRINGS]
    async with writing(records, PROJECT) as unit:
        for one, result in zip(stored, results, strict=True):
            await unit[ResourceRecords].ensure(one)
            await unit[ToolResultRecords].add(result, success=True, request_digest="d")
    async with reading(records, PROJECT) as unit:
        for one, result in zip(stored, results, strict=True):
            assert await unit[ResourceRecords].find(one.resource_id) == one
            assert await unit[ToolResultRecords].find(result.tool_result_id) == result
            found = await unit[AnsweredCallRecords].newest_answer("s", result.tool_call_id)
            assert found is not None
            assert found.entry_id == result.tool_result_id


async def test_key_is_claimed_once_for_each_route_and_project(records: Records) -> None:
    claims = []
    for project, route in ((PROJECT, "a"), (PROJECT, "a"), (PROJECT, "b"), ("other", "a")):
        async with writing(records, project) as unit:
            claims.append(
                await unit[IdempotencyRecords].claim(route, "k\x00", "digest", NOW, claim_id="c")
            )
    assert [claim is None for claim in claims] == [True, False, True, True]


async def test_keys_of_a_session_are_freed_by_an_index(settings: Settings) -> None:
    await migrate_database(settings)
    engines = open_database(settings)
    records = Records(engines)
    await records.write_projects(lambda projects: projects.ensure(PROJECT, NOW))
    kept, freed = key_in_session("t", "c"), key_in_session("s", "c")
    asked: list[Any] = []

    def note(*called: object) -> None:
        asked.append(called[2:4])

    def free(unit: UnitOfWork) -> None:
        event.listen(engines.writer, "before_cursor_execute", note)
        forget_session(unit, "s")
        event.remove(engines.writer, "before_cursor_execute", note)

    def claims(unit: UnitOfWork) -> list[bool]:
        keys = unit[IdempotencyRecords]
        return [
            keys.claim(route, key, "digest", NOW, claim_id="c") is None
            for route in (CALL_ROUTE, PAGE_ROUTE)
            for key in (kept, freed)
        ]

    assert await records.write(PROJECT, claims) == [True] * 4
    await records.write(PROJECT, free)
    assert await records.write(PROJECT, claims) == [False, True] * 2
    # PostgreSQL judges by the size of the tables, and these are small.
    if not engines.is_postgresql:
        statement, parameters = asked[0]
        with engines.reader.connect() as connection:
            told = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plan = [str(row._mapping["detail"]) for row in told]
        assert "route=? AND idempotency_key>? AND idempotency_key<?" in plan[0], plan
    await engines.close()


async def test_key_is_free_whose_claim_was_cancelled_while_it_was_written(records: Records) -> None:
    idempotency = Idempotency(records)

    def call() -> IdempotentCall:
        return IdempotentCall(PROJECT, "r", "k", RequestIdentity("digest"))

    async def claim() -> None:
        async with idempotency.claim(call(), NOW):
            raise AssertionError

    async with given_up(records) as unit:
        await unit[IdempotencyRecords].claim("r", "k", "digest", NOW, claim_id="of another")
        claiming = asyncio.create_task(claim())
        await anyio.wait_all_tasks_blocked()
        claiming.cancel()
    await asyncio.wait([claiming])
    assert claiming.cancelled()
    async with idempotency.claim(call(), NOW) as answer_id:
        assert answer_id is None


async def test_claim_says_what_holds_the_key_and_may_be_taken_over(records: Records) -> None:
    later = NOW + timedelta(minutes=16)
    async with writing(records, PROJECT) as unit:
        keys = unit[IdempotencyRecords]
        await keys.claim("r", "k", "digest", NOW, claim_id="first")
        held = await keys.claim("r", "k", "other", later, claim_id="second")
        assert held == Claim("digest", NOW, None, "first")
        taken = [
            await keys.take_over(
                "r", "k", held, request_digest="other", now=later, claim_id=claim_id
            )
            for claim_id in ("second", "third")
        ]
        assert taken == [None, Claim("other", later, None, "second")]
        answered = [
            await keys.answer("r", "k", f"answer of {claim_id}", claim_id=claim_id)
            for claim_id in ("first", "second", "third")
        ]
        assert answered == [False, True, False]
        await keys.abandon("r", "k", claim_id="first")
        held = await keys.claim("r", "k", "other", later, claim_id="fourth")
    assert held == Claim("other", later, "answer of second", "second")


async def test_nothing_of_another_project_is_seen_or_changed(records: Records) -> None:
    result = tool_result()
    async with writing(records, PROJECT) as unit:
        await append(unit)
        await unit[ResourceRecords].ensure(resource())
        await unit[ToolResultRecords].add(result, success=True, request_digest="d")
    async with writing(records, "other") as unit:
        assert await unit[SessionRecords].find("s") is None
        assert await unit[SessionHistory].entries("s", after_seq=0, limit=9) == []
        assert await unit[ResourceRecords].find(resource().resource_id) is None
        assert await unit[ResourceRecords].list_resources(before=None, limit=9) == []
        assert await unit[ToolResultRecords].find(result.tool_result_id) is None
        assert await unit[ToolResultRecords].list_tool_results(None, before_id=None, limit=9) == []
        assert not await unit[ResourceRecords].lock(resource().resource_id)
        await unit[ResourceRecords].remove(resource().resource_id)
        assert await append(unit) == 1
    async with reading(records, PROJECT) as unit:
        assert await unit[ResourceRecords].find(resource().resource_id) == resource()


@asynccontextmanager
async def full_database(settings: Settings) -> AsyncIterator[Records]:
    """The embedded database without room for another page."""
    engines = open_engines(
        parse_address(None, settings.data_dir),
        pool_size=1,
        timeout_seconds=settings.db.timeout_seconds,
    )

    def fill(connection: DBAPIConnection, _: object) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA max_page_count = 1")
        cursor.close()

    event.listen(engines.writer, "connect", fill)
    try:
        yield Records(engines)
    finally:
        await engines.close()


@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "A full database is answered with 507 and can be read",
    kept_by="app/stores/records/records.py",
    tried="507",
)
async def test_full_disk_is_said_to_be_full_and_can_be_read(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    await migrate_database(settings)
    large = replace(tool_result(), sanitized=bytes(1_000_000))
    async with full_database(settings) as records:
        await records.write_projects(lambda projects: projects.ensure(PROJECT, NOW))
        with pytest.raises(StoreFullError):
            await records.write(
                PROJECT,
                lambda unit: unit[ToolResultRecords].add(large, success=True, request_digest="d"),
            )
        async with reading(records, PROJECT) as unit:
            assert (
                await unit[ToolResultRecords].list_tool_results(None, before_id=None, limit=9) == []
            )


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (sql.OperationalError("s", {}, Exception("could not connect")), StoreUnavailableError),
        (sql.InterfaceError("s", {}, Exception("closed")), StoreUnavailableError),
        (sql.TimeoutError("pool"), StoreUnavailableError),
        (sql.OperationalError("s", {}, Exception("database or disk is full")), StoreFullError),
        (
            sql.OperationalError("s", {}, Exception("extend file: No space left on device")),
            StoreFullError,
        ),
    ],
)
async def test_fault_of_the_database_becomes_ours(
    fault: Exception, expected: type[Exception]
) -> None:
    with pytest.raises(expected) as raised, translate_errors():
        raise fault
    assert (type(raised.value), raised.value.__cause__) == (expected, fault)


async def test_mistake_of_ours_passes_through() -> None:
    with pytest.raises(sql.ProgrammingError), translate_errors():
        raise sql.ProgrammingError("s", {}, Exception("no such column"))


async def test_server_that_does_not_answer_is_unavailable(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("server", tmp_path)
    lost = DatabaseSettings.model_validate({"url": backends.postgres.url("there_is_none")})
    records = Records(open_database(settings.model_copy(update={"db": lost})))
    with pytest.raises(StoreUnavailableError):
        await records.check()
    with pytest.raises(StoreUnavailableError):
        await records.read(PROJECT, lambda unit: unit[SessionRecords].find("s"))
    with pytest.raises(StoreUnavailableError):
        await records.read_snapshot(PROJECT, lambda unit: unit[SessionRecords].find("s"))
    with pytest.raises(StoreUnavailableError):
        await records.write_projects(lambda projects: projects.ensure(PROJECT, NOW))
    with pytest.raises(StoreUnavailableError):
        await records.write(PROJECT, lambda unit: unit[SessionRecords].ensure("s", NOW))
    with pytest.raises(StoreUnavailableError):
        async with writing(records, PROJECT):
            raise AssertionError("there is no transaction")
    await records.close()


async def test_reading_changes_nothing_on_the_embedded_database(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    await migrate_database(settings)
    records = Records(open_database(settings))
    with pytest.raises(StoreUnavailableError):
        await records.read(PROJECT, lambda unit: unit[SessionRecords].ensure("s", NOW))
    await records.close()


_FREE_TO_USE_SQL = {
    *("scope", "statements", "projects", "records", "engine"),
    *("columns", "search_tables", "tables"),
    # They count over all projects, for operators, or change tables.
    *("database_status", "search_queue", "migration_steps"),
}
_STATEMENTS = {"select", "insert", "update", "delete", "text", "Table"}


def imported_from_sqlalchemy(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlalchemy"):
            found |= {name.name for name in node.names}
        if isinstance(node, ast.Import):
            found |= {n.name for n in node.names if n.name.startswith("sqlalchemy")}
    return found


@pytest.mark.promise(
    "security.md#other-projects-data",
    "No database statement is made without a project",
    kept_by="app/stores/records/scope.py",
    tried="every repository",
)
def test_repositories_make_no_statement_without_a_project() -> None:
    folder = Path(str(records_package.__file__)).parent
    repositories = [path for path in folder.glob("*.py") if path.stem not in _FREE_TO_USE_SQL]
    made = {path.name: imported_from_sqlalchemy(path) for path in repositories}
    assert len(made) >= 4
    assert {
        name: used for name, used in made.items() if used & (_STATEMENTS | {"sqlalchemy"})
    } == {}


async def test_key_with_an_answer_is_not_given_up(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await unit[IdempotencyRecords].claim("r", "answered", "d", NOW, claim_id="c")
        await unit[IdempotencyRecords].answer("r", "answered", "a", claim_id="c")
        await unit[IdempotencyRecords].claim("r", "open", "d", NOW, claim_id="c")
        await unit[IdempotencyRecords].abandon("r", "answered", claim_id="c")
        await unit[IdempotencyRecords].abandon("r", "open", claim_id="c")
        assert await unit[IdempotencyRecords].claim(
            "r", "answered", "d", NOW, claim_id="c"
        ) == Claim("d", NOW, "a", "c")
        assert await unit[IdempotencyRecords].claim("r", "open", "d", NOW, claim_id="c") is None


async def test_alias_is_new_once_even_at_one_moment(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await unit[ResourceRecords].ensure(resource())
        await unit[ResourceRecords].ensure(resource("1" * 32))
        ensured = [await unit[AliasRecords].ensure("a", letter * 32, now=NOW) for letter in "001"]
        await unit[AliasRecords].remove("a")
        ensured.append(await unit[AliasRecords].ensure("a", "1" * 32, now=NOW))
    named = [AliasTarget(letter * 32, NOW) for letter in "0001"]
    assert ensured == list(zip(named, [True, False, False, True], strict=True))


async def test_many_keys_are_checked_in_statements_with_few_parameters(records: Records) -> None:
    keys = [ApiKey(f"{number:04}", PROJECT, "", "0" * 64, NOW, None) for number in range(3)]
    # By the thread that executes a statement, since other services run in this process.
    parameter_counts: dict[int, list[int]] = defaultdict(list)

    def note(_: object, __: object, ___: str, parameters: Sized, *____: object) -> None:
        parameter_counts[threading.get_ident()].append(len(parameters))

    def prepare(projects: ProjectRecords) -> None:
        for key in keys:
            projects.add_key(key)
        projects.revoke_key("0001", NOW)

    def check(projects: ProjectRecords) -> tuple[set[str], int]:
        event.listen(Engine, "before_cursor_execute", note)
        try:
            keys = projects.valid_keys([f"{number:04}" for number in range(1_001)])
            return keys, threading.get_ident()
        finally:
            event.remove(Engine, "before_cursor_execute", note)

    await records.write_projects(prepare)
    valid, thread = await records.read_projects(check)
    assert valid == {"0000", "0002"}
    assert parameter_counts[thread] == [500, 500, 1]
