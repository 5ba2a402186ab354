"""Changes that are committed together: each by itself, none before the commit, none lost alone."""

import asyncio
import gc
import sqlite3
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, Engine, Executable, event, make_url, text

from app.config.settings import Settings
from app.errors import StoreUnavailableError
from app.models.event import NewEvent
from app.models.identity import new_id
from app.models.session import TOOL_RESULT
from app.models.tool_result import StoredToolResult
from app.stores.records.answered_calls import AnsweredCallRecords
from app.stores.records.database import WriteResult
from app.stores.records.database_address import parse_address
from app.stores.records.engine import Engines, open_engines
from app.stores.records.events import EventRecords
from app.stores.records.group_commits import GroupCommits
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.tool_results import ToolResultRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.stores import migrate_database, open_database

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, tzinfo=UTC)
WRITERS = 12
NOTHING = WriteResult(None, PROJECT, ())


class GivenUpError(Exception):
    """An error that rolls a change back."""


@pytest.fixture
async def records(settings: Settings) -> AsyncIterator[Records]:
    await migrate_database(settings)
    made = Records(open_database(settings))
    await made.write_projects(lambda projects: projects.ensure(PROJECT, NOW))
    yield made
    await made.close()


@pytest.fixture
async def engines(tmp_path: Path) -> AsyncIterator[Engines]:
    """A new SQLite file with one table."""
    made = await opened(tmp_path, timeout_seconds=30)
    yield made
    await made.close()


async def opened(folder: Path, *, timeout_seconds: float) -> Engines:
    engines = open_engines(
        parse_address(None, folder), pool_size=2, timeout_seconds=timeout_seconds
    )
    await run(engines, text("CREATE TABLE t (k INTEGER PRIMARY KEY)"))
    return engines


def group_of(engines: Engines) -> GroupCommits:
    assert engines.group is not None
    return engines.group


def inserting(key: int) -> Executable:
    return text("INSERT INTO t VALUES (:key)").bindparams(key=key)


async def insert(engines: Engines, key: int, *more: str) -> None:
    """Insert a key, and run more statements behind it, in a group."""
    await run(engines, inserting(key), *map(text, more))


async def insert_alone(engines: Engines, key: int) -> None:
    """Insert a key in a transaction of its own."""
    await run(engines, inserting(key), is_alone=True)


async def run(engines: Engines, *statements: Executable, is_alone: bool = False) -> None:
    """Run statements in one transaction, with others or alone."""

    def work(connection: Connection) -> WriteResult[None]:
        for statement in statements:
            connection.execute(statement)
        return NOTHING

    await group_of(engines).write(work, is_alone=is_alone)


@asynccontextmanager
async def somebody_writes(engines: Engines) -> AsyncIterator[None]:
    """Have others wait for the length of the block, for a transaction that changes nothing."""
    begun, may_end = threading.Event(), threading.Event()

    def hold(_: Connection) -> WriteResult[None]:
        begun.set()
        may_end.wait()
        return NOTHING

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(group_of(engines).write, hold, is_alone=True))
        await anyio.to_thread.run_sync(begun.wait)
        try:
            yield
        finally:
            may_end.set()


def commits(folder: Path) -> int:
    """Return the number of transactions in the write-ahead log of a SQLite file."""
    log = (folder / "pagefault.db-wal").read_bytes()
    page_bytes = int.from_bytes(log[8:12], "big")
    salt = log[16:24]
    frames = (log[at : at + 24] for at in range(32, len(log), 24 + page_bytes))
    # The last frame of a transaction has the size of the file behind it.
    return sum(frame[8:16] == salt and frame[4:8] != bytes(4) for frame in frames)


async def keys(engines: Engines) -> list[int]:
    with engines.reader.connect() as connection:
        return list(connection.execute(text("SELECT k FROM t ORDER BY k")).scalars())


@pytest.mark.promise(
    "durability.md#requests-break-off",
    "A change that fails leaves the others of its group as they are, and takes no number",
    kept_by="app/stores/records/group_commits.py",
    tried="12 changes, every third fails, both engines",
)
async def test_changes_given_up_leave_the_others_and_take_no_numbers(records: Records) -> None:
    numbers: list[int] = []

    def append(writer: int, unit: UnitOfWork) -> int:
        unit[SessionRecords].ensure("s", NOW)
        seq = unit[SessionRecords].append("s", TOOL_RESULT, str(writer))
        unit.add_event(NewEvent("page:deleted", str(writer), NOW, session_id="s", seq=seq))
        if writer % 3 == 0:
            raise GivenUpError
        return seq

    async def write(writer: int) -> None:
        try:
            numbers.append(await records.write(PROJECT, partial(append, writer)))
        except GivenUpError:
            return

    async with anyio.create_task_group() as tasks:
        for writer in range(WRITERS):
            tasks.start_soon(write, writer)
    logged = await records.read(PROJECT, lambda unit: unit[EventRecords].list_after(0, limit=100))
    session = await records.read(PROJECT, lambda unit: unit[SessionRecords].find("s"))
    kept = [writer for writer in range(WRITERS) if writer % 3]
    assert sorted(numbers) == [*range(1, len(kept) + 1)]
    assert [(entry.number, entry.seq) for entry in logged] == [
        (number, number) for number in range(1, len(kept) + 1)
    ]
    assert sorted(int(item.subject_id) for item in logged) == kept
    assert session is not None
    assert session.last_seq == len(kept)


@pytest.mark.promise(
    "durability.md#requests-break-off",
    "Changes that are committed together are answered after the commit",
    kept_by="app/stores/records/group_commits.py",
    tried="12 changes, 1 commit",
)
async def test_those_who_wait_are_committed_together_and_return_behind_the_commit(
    engines: Engines, tmp_path: Path
) -> None:
    before = commits(tmp_path)
    seen: list[list[int]] = []

    async def write(key: int) -> None:
        await insert(engines, key)
        seen.append(await keys(engines))

    async with anyio.create_task_group() as tasks, somebody_writes(engines):
        for key in range(WRITERS):
            tasks.start_soon(write, key)
        await anyio.wait_all_tasks_blocked()
    assert seen == [[*range(WRITERS)]] * WRITERS
    assert commits(tmp_path) - before == 1


async def test_many_are_committed_in_several_transactions_and_let_others_write(
    engines: Engines, tmp_path: Path
) -> None:
    before = commits(tmp_path)

    async with anyio.create_task_group() as tasks, somebody_writes(engines):
        for key in range(70):
            tasks.start_soon(insert, engines, key)
        tasks.start_soon(insert_alone, engines, 1000)
        await anyio.wait_all_tasks_blocked()
    assert await keys(engines) == [*range(70), 1000]
    assert commits(tmp_path) - before == 4


async def test_who_writes_alone_comes_in_turn_and_shares_the_commit_with_nobody(
    engines: Engines, tmp_path: Path
) -> None:
    before = commits(tmp_path)
    seen: list[tuple[int, list[int]]] = []

    async def write(key: int, *, is_alone: bool) -> None:
        await (insert_alone if is_alone else insert)(engines, key)
        seen.append((key, await keys(engines)))

    async with anyio.create_task_group() as tasks, somebody_writes(engines):
        for key in range(6):
            tasks.start_soon(partial(write, key, is_alone=key in {2, 3}))
            await anyio.wait_all_tasks_blocked()
    assert [key for key, _ in seen] == [*range(6)]
    assert all(there[: key + 1] == [*range(key + 1)] for key, there in seen)
    assert commits(tmp_path) - before == 4


async def test_transaction_that_is_lost_is_lost_for_all_and_for_nobody_else(
    engines: Engines,
) -> None:
    failed: list[int] = []

    async def write(key: int, *more: str) -> None:
        try:
            await insert(engines, key, *more)
        except StoreUnavailableError:
            failed.append(key)

    async with anyio.create_task_group() as tasks, somebody_writes(engines):
        tasks.start_soon(write, 1)
        # As SQLite does by itself where the disk is full, or does not answer.
        tasks.start_soon(write, 2, "ROLLBACK", "SELECT missing FROM t")
        tasks.start_soon(write, 3)
        await anyio.wait_all_tasks_blocked()
    await insert(engines, 4)
    assert (sorted(failed), await keys(engines)) == ([1, 2, 3], [4])


async def test_who_was_refused_for_what_is_lost_is_told_that_it_is_lost(engines: Engines) -> None:
    told: list[StoreUnavailableError] = []

    def refuse_twin(connection: Connection) -> WriteResult[None]:
        if connection.execute(text("SELECT 1 FROM t WHERE k = 1")).first():
            raise GivenUpError
        return NOTHING

    async def write(work: Callable[[], Awaitable[object]]) -> None:
        with pytest.raises(StoreUnavailableError) as raised:
            await work()
        told.append(raised.value)

    async with anyio.create_task_group() as tasks, somebody_writes(engines):
        for work in (
            partial(insert, engines, 1),
            partial(group_of(engines).write, refuse_twin),
            partial(insert, engines, 2, "ROLLBACK", "SELECT missing FROM t"),
        ):
            tasks.start_soon(write, work)
            await anyio.wait_all_tasks_blocked()
    assert await keys(engines) == []
    # Callers add to what they are told: each has an error of his own.
    assert len({id(item) for item in told}) == 3


@pytest.mark.promise(
    "durability.md#requests-break-off",
    "If the commit of a group fails, it fails for all of the group and for nobody else",
    kept_by="app/stores/records/group_commits.py",
    tried="a commit that fails, SQLite",
)
async def test_commit_that_fails_fails_for_all_and_for_nobody_else(engines: Engines) -> None:
    failed: list[str] = []
    with engines.writer.begin() as connection:
        connection.execute(text("CREATE TABLE u (k INTEGER REFERENCES t (k))"))

    async def write(key: int, *more: str) -> None:
        try:
            await insert(engines, key, *more)
        except StoreUnavailableError as exc:
            failed.append(exc.detail)

    async with anyio.create_task_group() as tasks, somebody_writes(engines):
        tasks.start_soon(write, 1)
        # It is judged at the commit.
        tasks.start_soon(write, 2, "PRAGMA defer_foreign_keys=ON", "INSERT INTO u VALUES (1000)")
        await anyio.wait_all_tasks_blocked()
    assert ["may have been stored, or not" in item for item in failed] == [True, True]
    await insert(engines, 3)
    assert await keys(engines) == [3]


async def test_first_of_a_group_that_gives_up_takes_nobody_with_it(engines: Engines) -> None:
    async def write_given_up() -> None:
        with pytest.raises(GivenUpError):
            await group_of(engines).write(give_up)

    def give_up(connection: Connection) -> WriteResult[None]:
        connection.execute(text("INSERT INTO t VALUES (1)"))
        raise GivenUpError

    async with anyio.create_task_group() as tasks, somebody_writes(engines):
        tasks.start_soon(write_given_up)
        tasks.start_soon(insert, engines, 2)
        tasks.start_soon(write_given_up)
        tasks.start_soon(insert, engines, 3)
        await anyio.wait_all_tasks_blocked()
    assert await keys(engines) == [2, 3]


async def test_group_is_made_again_only_where_one_has_failed_for_what_may_be_others_fault(
    engines: Engines,
) -> None:
    made: list[str] = []

    def changing(name: str, *, fails: bool = False) -> Callable[[Connection], Any]:
        def work(_: Connection) -> WriteResult[None]:
            made.append(name)
            if fails:
                raise GivenUpError
            return NOTHING

        return work

    async def write(work: Callable[[Connection], Any]) -> None:
        with suppress(GivenUpError):
            await group_of(engines).write(work)

    async def makes(*works: Callable[[Connection], Any]) -> str:
        made.clear()
        async with anyio.create_task_group() as tasks, somebody_writes(engines):
            for work in works:
                tasks.start_soon(write, work)
                await anyio.wait_all_tasks_blocked()
        return "".join(made)

    a, b, c = map(changing, "abc")
    failing = changing("x", fails=True)
    assert await makes(a, b, c) == "abc"
    assert await makes(a, failing, c) == "axaxc"
    # The next one is made with savepoints, and so on until nothing fails.
    assert await makes(a, failing, c) == "axc"
    assert await makes(a, b, c) == "abc"
    assert await makes(failing, b, c) == "xbc"


@pytest.mark.engines("server")
async def test_tool_result_is_six_messages_to_the_server(records: Records) -> None:
    result = StoredToolResult(
        tool_result_id=new_id(),
        session_id="s",
        seq=None,
        created_at=NOW,
        tool_name="look",
        tool_call_id="c",
        sanitized=b"{}",
    )

    def append(unit: UnitOfWork) -> int:
        unit[SessionRecords].ensure("s", NOW)
        assert unit[AnsweredCallRecords].newest_answer("s", "c") is None
        row = unit[ToolResultRecords].row(result, success=True, request_digest="d")
        seq = unit[SessionRecords].append(
            "s", TOOL_RESULT, result.tool_result_id, size_bytes=2, row=row
        )
        unit.add_event(NewEvent("page:deleted", "p", NOW, session_id="s", seq=seq))
        return seq

    await records.write(PROJECT, lambda unit: unit[SessionRecords].ensure("t", NOW))
    sent: list[tuple[Engine, str]] = []

    def note(connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        sent.append((connection.engine, " ".join(statement.split()[:2])))

    event.listen(Engine, "before_cursor_execute", note)
    seq = await records.write(PROJECT, append)
    event.remove(Engine, "before_cursor_execute", note)
    stored = await records.read(
        PROJECT, lambda unit: unit[AnsweredCallRecords].newest_answer("s", "c")
    )
    logged = await records.read(PROJECT, lambda unit: unit[EventRecords].list_after(0, limit=9))
    numbering = "WITH numbered"
    # Other services of this process use engines of their own. The driver adds COMMIT.
    own = next(engine for engine, words in sent if words == "INSERT INTO")
    assert [words for engine, words in sent if engine is own] == [
        "BEGIN ISOLATION",
        "INSERT INTO",
        "SELECT (EXISTS",
        numbering,
        numbering,
    ]
    assert stored is not None
    assert (stored.entry_id, stored.seq) == (result.tool_result_id, seq)
    assert [(entry.number, entry.seq, entry.created_at) for entry in logged] == [(1, 1, NOW)]


async def test_change_that_has_not_begun_is_cancelled_and_the_others_stay(
    engines: Engines,
) -> None:
    cancelled = anyio.CancelScope()

    async def write_cancelled() -> None:
        with cancelled:
            await insert(engines, 2)

    async with anyio.create_task_group() as tasks, somebody_writes(engines):
        tasks.start_soon(insert, engines, 1)
        tasks.start_soon(write_cancelled)
        tasks.start_soon(insert, engines, 3)
        await anyio.wait_all_tasks_blocked()
        cancelled.cancel()
        await anyio.wait_all_tasks_blocked()
    assert (cancelled.cancelled_caught, await keys(engines)) == (True, [1, 3])


async def test_result_is_freed_without_a_collection_of_garbage(engines: Engines) -> None:
    class Result:
        """An object that can be observed."""

    def work(_: Connection) -> WriteResult[Result]:
        return WriteResult(Result(), PROJECT, ())

    gc.disable()
    try:
        result, _ = await group_of(engines).write(work)
        observed = weakref.ref(result)
        del result
        # The thread is done with the first one.
        await insert(engines, 1)
        assert observed() is None
    finally:
        gc.enable()


async def test_change_that_has_begun_is_made_though_its_caller_is_cancelled(
    engines: Engines,
) -> None:
    cancelled = anyio.CancelScope()
    begun = threading.Event()
    goes_on = threading.Event()

    def work(connection: Connection) -> WriteResult[None]:
        begun.set()
        goes_on.wait()
        connection.execute(text("INSERT INTO t VALUES (1)"))
        return NOTHING

    async def write_cancelled() -> None:
        with cancelled:
            await group_of(engines).write(work)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write_cancelled)
        await anyio.to_thread.run_sync(begun.wait)
        cancelled.cancel()
    goes_on.set()
    await insert(engines, 2)
    assert (cancelled.cancelled_caught, await keys(engines)) == (True, [1, 2])


@pytest.mark.slow
async def test_error_of_a_change_whose_caller_is_cancelled_is_not_logged(
    engines: Engines,
) -> None:
    logged: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
    begun, goes_on = threading.Event(), threading.Event()

    def fail(_: Connection) -> WriteResult[None]:
        begun.set()
        goes_on.wait()
        raise GivenUpError

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(group_of(engines).write, fail)
        await anyio.to_thread.run_sync(begun.wait)
        tasks.cancel_scope.cancel()
    goes_on.set()
    await insert(engines, 1)
    gc.collect()
    assert logged == []


async def test_turn_that_does_not_come_is_a_database_that_does_not_answer(tmp_path: Path) -> None:
    engines = await opened(tmp_path, timeout_seconds=0.01)
    refused = 0

    async def write() -> None:
        nonlocal refused
        with pytest.raises(StoreUnavailableError):
            await insert(engines, 1)
        with pytest.raises(StoreUnavailableError):
            await insert_alone(engines, 1)
        refused += 1

    async with somebody_writes(engines), anyio.create_task_group() as tasks:
        tasks.start_soon(write)
    assert refused == 1
    await insert(engines, 2)
    assert await keys(engines) == [2]
    await engines.close()


async def test_lock_of_another_process_that_stays_is_told_and_the_next_one_writes(
    tmp_path: Path,
) -> None:
    engines = await opened(tmp_path, timeout_seconds=0.01)
    other = sqlite3.connect(tmp_path / "pagefault.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailableError):
        await insert(engines, 1)
    other.execute("ROLLBACK")
    other.close()
    await insert(engines, 2)
    assert await keys(engines) == [2]
    await engines.close()


async def test_nobody_waits_for_what_is_closed(engines: Engines) -> None:
    await insert(engines, 1)
    refused: list[int] = []

    async def write(key: int) -> None:
        try:
            await insert(engines, key)
        except StoreUnavailableError:
            refused.append(key)

    async with anyio.create_task_group() as tasks, somebody_writes(engines):
        tasks.start_soon(write, 2)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(group_of(engines).close)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(write, 3)
        await anyio.wait_all_tasks_blocked()
        assert sorted(refused) == [2, 3]
    await write(4)
    assert (sorted(refused), await keys(engines)) == ([2, 3, 4], [1])


async def test_each_waits_for_its_own_time(tmp_path: Path) -> None:
    engines = await opened(tmp_path, timeout_seconds=2)
    refused: list[int] = []

    async def write(key: int) -> None:
        try:
            await insert(engines, key)
        except StoreUnavailableError:
            refused.append(key)
            late.set()

    late = anyio.Event()
    async with anyio.create_task_group() as tasks, somebody_writes(engines):
        tasks.start_soon(write, 1)
        with anyio.move_on_after(1):
            await late.wait()
        tasks.start_soon(write, 2)
        await late.wait()
    assert (refused, await keys(engines)) == ([1], [2])
    await engines.close()


async def test_commits_that_need_not_last_are_left_to_the_next_that_does(
    settings: Settings,
) -> None:
    await migrate_database(settings)
    engines = open_database(settings)
    if engines.is_postgresql and settings.db.url is not None:
        # The server of the tests syncs nothing by itself.
        await engines.close()
        url = make_url(settings.db.url.get_secret_value())
        asking = url.update_query_dict({"options": "-csynchronous_commit=on"})
        shown = SecretStr(asking.render_as_string(hide_password=False))
        db = settings.db.model_copy(update={"url": shown})
        engines = open_database(settings.model_copy(update={"db": db}))
    sentence = "SHOW synchronous_commit" if engines.is_postgresql else "PRAGMA synchronous"
    synced, left = ("on", "off") if engines.is_postgresql else (2, 1)

    def look(connection: Connection) -> WriteResult[object]:
        return WriteResult(connection.execute(text(sentence)).scalar_one(), PROJECT, ())

    seen = [
        (await engines.write(look, is_alone=False, is_durable=is_durable))[0]
        for is_durable in (True, False, False, True)
    ]
    assert seen == [synced, left, left, synced]
    await engines.close()


async def test_group_is_synced_if_anything_in_it_is_to_last(engines: Engines) -> None:
    seen: list[object] = []

    def look(connection: Connection) -> WriteResult[None]:
        seen.append(connection.execute(text("PRAGMA synchronous")).scalar_one())
        return NOTHING

    async with anyio.create_task_group() as tasks, somebody_writes(engines):
        for is_durable in (False, True, False):
            tasks.start_soon(partial(group_of(engines).write, look, is_durable=is_durable))
        await anyio.wait_all_tasks_blocked()
    assert seen == [2, 2, 2]
