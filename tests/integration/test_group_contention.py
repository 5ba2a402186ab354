"""Changes that are committed together, where somebody else holds what one of them needs."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from sqlalchemy import text

from app.config.settings import Settings
from app.models.event import NewEvent
from app.models.session import TOOL_RESULT
from app.stores.records.engine import Engines
from app.stores.records.events import EventRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.stores import migrate_database, open_database
from tests.kit.servers import Backends
from tests.kit.units import writing

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, tzinfo=UTC)
PATIENCE_SECONDS = 20


@pytest.fixture
async def settings(backends: Backends, tmp_path: Path) -> Settings:
    made = backends.settings("server", tmp_path / "data")
    await migrate_database(made)
    return made


@pytest.fixture
async def engines(settings: Settings) -> AsyncIterator[Engines]:
    """Those of a process of its own."""
    made = open_database(settings)
    yield made
    await made.close()


@pytest.fixture
async def mine(engines: Engines) -> Records:
    records = Records(engines)
    await records.write_projects(lambda projects: projects.ensure(PROJECT, NOW))
    return records


@pytest.fixture
async def others(mine: Records, settings: Settings) -> AsyncIterator[Records]:
    """Those of another process."""
    made = Records(open_database(settings))
    yield made
    await made.close()


def append(sessions: tuple[str, ...], begun: list[str], unit: UnitOfWork) -> None:
    """Append something to each session, in this order, and tell of it."""
    for session_id in sessions:
        begun.append(session_id)
        unit[SessionRecords].ensure(session_id, NOW)
        seq = unit[SessionRecords].append(session_id, TOOL_RESULT, f"{session_id}-{len(begun)}")
        unit.add_event(NewEvent("page:deleted", "x", NOW, session_id=session_id, seq=seq))


@pytest.mark.promise(
    "durability.md#requests-break-off",
    (
        "A change that needs a row which another transaction holds leaves its group and runs "
        "alone; the others do not wait for it"
    ),
    kept_by="app/stores/records/group_commits.py",
    tried="PostgreSQL, 3 orders",
)
@pytest.mark.parametrize("waiting", [("held", "free"), ("free", "held"), ("held", "held", "free")])
async def test_change_whose_row_is_held_is_made_alone_and_the_others_do_not_wait_for_it(
    mine: Records, others: Records, waiting: tuple[str, ...]
) -> None:
    begun: list[str] = []
    ended: list[str] = []
    free = anyio.Event()

    async def write(session_id: str) -> None:
        await mine.write(PROJECT, partial(append, (session_id,), begun))
        ended.append(session_id)
        if session_id == "free":
            free.set()

    async with anyio.create_task_group() as tasks, writing(others, PROJECT) as holder:
        await holder[SessionRecords].ensure("held", NOW)
        for session_id in waiting:
            tasks.start_soon(write, session_id)
        with anyio.fail_after(PATIENCE_SECONDS):
            await free.wait()
        assert ended == ["free"]
    held = waiting.count("held")
    assert sorted(ended) == ["free", *["held"] * held]
    # Each that was held was begun in the group, and again alone.
    assert begun.count("held") == 2 * held
    logged = await mine.read(PROJECT, lambda unit: unit[EventRecords].list_after(0, limit=9))
    assert [item.number for item in logged] == [*range(1, len(waiting) + 1)]
    assert [entry.seq for entry in logged if entry.session_id == "held"] == [*range(1, held + 1)]


@pytest.mark.promise(
    "durability.md#requests-break-off",
    (
        "Two processes that lock the same rows in different orders do not deadlock, and their"
        " numbers have no gap"
    ),
    kept_by="app/stores/records/group_commits.py",
    tried="PostgreSQL, 90 changes of 2 processes",
)
async def test_processes_that_want_rows_in_different_orders_come_apart(
    mine: Records, others: Records
) -> None:
    rounds = 15
    written: list[str] = []

    async def write(records: Records, sessions: tuple[str, ...]) -> None:
        for _ in range(rounds):
            await records.write(PROJECT, partial(append, sessions, []))
            written.extend(sessions)

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            for records, sessions in ((mine, "ab"), (others, "ab"), (mine, "c"), (others, "c")):
                tasks.start_soon(write, records, tuple(sessions))
            # In a group, the rows of several changes are taken in the order that they came in.
            for records, session in ((mine, "b"), (others, "a")):
                tasks.start_soon(write, records, (session,))
    logged = await mine.read(PROJECT, lambda unit: unit[EventRecords].list_after(0, limit=1_000))
    assert [item.number for item in logged] == [*range(1, len(written) + 1)]
    for session_id in "abc":
        seqs = [entry.seq for entry in logged if entry.session_id == session_id]
        assert seqs == [*range(1, written.count(session_id) + 1)]


@pytest.mark.promise(
    "durability.md#requests-break-off",
    "A connection that the database server ended while it was idle fails no request",
    kept_by="app/stores/records/group_commits.py",
    tried="PostgreSQL",
)
async def test_connection_that_was_ended_while_nobody_wrote_is_nobodys_fault(
    mine: Records, engines: Engines
) -> None:
    begun: list[str] = []
    await mine.write(PROJECT, partial(append, ("s",), begun))
    ended = await anyio.to_thread.run_sync(_end_others, engines)
    await mine.write(PROJECT, partial(append, ("s",), begun))
    session = await mine.read(PROJECT, lambda unit: unit[SessionRecords].find("s"))
    assert session is not None
    assert (ended > 0, session.last_seq, begun) == (True, 2, ["s", "s"])


def _end_others(engines: Engines) -> int:
    """End the connections of this database but the one that does it; says how many."""
    ask = text(
        "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with engines.reader.connect() as connection:
        return int(connection.execute(ask).scalar_one())
