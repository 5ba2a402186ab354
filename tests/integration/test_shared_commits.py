"""Changes that are committed together: each by itself, none before the commit, none lost alone."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import Connection, event, text

from app.errors import StoreUnavailableError
from app.models.event import NewEvent
from app.settings import Settings
from app.stores.records import Records
from app.stores.records.engine import Engines, database_url, open_engines
from app.stores.records.sessions import TOOL_RESULT
from app.wiring import migrate_database, open_database

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, tzinfo=UTC)
WRITERS = 12


class GivenUpError(Exception):
    """What makes a change be taken back."""


class Commits:
    """The commits of an engine, and who had returned by then."""

    def __init__(self, engines: Engines, returned: Sequence[int]) -> None:
        self.seen: list[list[int]] = []
        self._returned = returned
        event.listen(engines.writer.sync_engine, "commit", self._note)

    def _note(self, _: Connection) -> None:
        self.seen.append(list(self._returned))


@pytest.fixture
async def records(settings: Settings) -> AsyncIterator[Records]:
    await migrate_database(settings)
    made = Records(open_database(settings))
    async with made.projects() as projects:
        await projects.ensure(PROJECT, NOW)
    yield made
    await made.close()


@pytest.fixture
async def engines(tmp_path: Path) -> AsyncIterator[Engines]:
    """A new SQLite file with one table."""
    made = await opened(tmp_path, timeout_seconds=30)
    yield made
    await made.close()


async def opened(folder: Path, *, timeout_seconds: float) -> Engines:
    engines = open_engines(database_url(None, folder), pool_size=2, timeout_seconds=timeout_seconds)
    async with engines.writer.begin() as connection:
        await connection.execute(text("CREATE TABLE t (k INTEGER PRIMARY KEY)"))
    return engines


async def insert(engines: Engines, key: int, *more: str) -> None:
    """Insert a key, and run more statements behind it, in a shared transaction."""
    assert engines.shared is not None
    async with engines.shared.transaction() as connection:
        # Whoever comes after the first has come by now, and waits.
        await anyio.wait_all_tasks_blocked()
        await connection.execute(text("INSERT INTO t VALUES (:key)"), {"key": key})
        for statement in more:
            await connection.exec_driver_sql(statement)


async def keys(engines: Engines) -> list[int]:
    async with engines.reader.connect() as connection:
        return list((await connection.execute(text("SELECT k FROM t ORDER BY k"))).scalars())


async def test_changes_given_up_leave_the_others_and_take_no_numbers(records: Records) -> None:
    numbers: list[int] = []

    async def write(writer: int) -> None:
        try:
            async with records.write_together(PROJECT) as unit:
                await unit.sessions.enter("s", NOW)
                seq = await unit.sessions.append("s", TOOL_RESULT, str(writer))
                unit.events.note(
                    NewEvent("page:deleted", str(writer), NOW, session_id="s", seq=seq)
                )
                if writer % 3 == 0:
                    raise GivenUpError
            numbers.append(seq)
        except GivenUpError:
            return

    async with anyio.create_task_group() as tasks:
        for writer in range(WRITERS):
            tasks.start_soon(write, writer)
    async with records.read(PROJECT) as unit:
        logged = await unit.events.after(0, limit=100)
        session = await unit.sessions.find("s")
    kept = [writer for writer in range(WRITERS) if writer % 3]
    assert sorted(numbers) == [*range(1, len(kept) + 1)]
    assert [(each.number, each.seq) for each in logged] == [
        (number, number) for number in range(1, len(kept) + 1)
    ]
    assert sorted(int(each.subject_id) for each in logged) == kept
    assert session is not None
    assert session.last_seq == len(kept)


async def test_those_who_wait_are_committed_together_and_return_behind_the_commit(
    engines: Engines,
) -> None:
    returned: list[int] = []
    commits = Commits(engines, returned)

    async def write(key: int) -> None:
        await insert(engines, key)
        returned.append(key)

    async with anyio.create_task_group() as tasks:
        for key in range(WRITERS):
            tasks.start_soon(write, key)
    assert (commits.seen, await keys(engines)) == ([[]], [*range(WRITERS)])


async def test_many_are_committed_in_several_transactions_and_let_others_write(
    engines: Engines,
) -> None:
    commits = Commits(engines, [])

    async def write_alone() -> None:
        async with engines.writer.begin() as connection:
            await connection.execute(text("INSERT INTO t VALUES (1000)"))

    async with anyio.create_task_group() as tasks:
        for key in range(70):
            tasks.start_soon(insert, engines, key)
        tasks.start_soon(write_alone)
    assert (len(commits.seen), await keys(engines)) == (4, [*range(70), 1000])


async def test_transaction_that_is_lost_is_lost_for_all_and_for_nobody_else(
    engines: Engines,
) -> None:
    failed: list[int] = []

    async def write(key: int, *more: str) -> None:
        try:
            await insert(engines, key, *more)
        except StoreUnavailableError:
            failed.append(key)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write, 1)
        # As SQLite does by itself where the disk is full, or does not answer.
        tasks.start_soon(write, 2, "ROLLBACK")
        tasks.start_soon(write, 3)
    assert (sorted(failed), await keys(engines)) == ([1, 2], [3])


async def test_caller_that_is_cancelled_leaves_the_others_their_changes(engines: Engines) -> None:
    async def write_cancelled() -> None:
        assert engines.shared is not None
        with anyio.CancelScope() as scope:
            async with engines.shared.transaction() as connection:
                scope.cancel()
                await connection.execute(text("INSERT INTO t VALUES (2)"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(insert, engines, 1)
        tasks.start_soon(write_cancelled)
        tasks.start_soon(insert, engines, 3)
    assert await keys(engines) == [1, 2, 3]


async def test_turn_that_is_given_up_as_it_comes_is_ended_by_who_gives_it_up(
    engines: Engines,
) -> None:
    given_up = anyio.CancelScope()

    def give_up(*executed: Any) -> None:  # noqa: ANN401 - as SQLAlchemy calls it
        if executed[2] == "RELEASE own":
            given_up.cancel()

    async def wait_for_the_turn() -> None:
        assert engines.shared is not None
        with given_up:
            async with engines.shared.transaction() as connection:
                await connection.execute(text("INSERT INTO t VALUES (2)"))

    event.listen(engines.writer.sync_engine, "after_cursor_execute", give_up)
    async with anyio.create_task_group() as tasks:
        # It returns though the one it has left its transaction to has gone.
        tasks.start_soon(insert, engines, 1)
        tasks.start_soon(wait_for_the_turn)
    assert (given_up.cancelled_caught, await keys(engines)) == (True, [1])


async def test_turn_that_does_not_come_is_a_database_that_does_not_answer(tmp_path: Path) -> None:
    engines = await opened(tmp_path, timeout_seconds=0.01)
    refused = anyio.Event()

    async def keep() -> None:
        assert engines.shared is not None
        async with engines.shared.transaction():
            await refused.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(StoreUnavailableError):
            await insert(engines, 1)
        refused.set()
    assert await keys(engines) == []
    await engines.close()
