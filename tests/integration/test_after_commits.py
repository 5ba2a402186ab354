"""What is told when something fails behind a write, or at its commit, on both engines."""

from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from app.errors import StoreUnavailableError
from app.models.event import NewEvent
from app.settings import Settings
from app.stores.records import Records, UnitOfWork
from tests.integration.sweep_stores import PROJECT, opened_stores
from tests.servers import Backends

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


async def enter_session(records: Records, session_id: str) -> None:
    """Write something, and tell of it."""

    async def enter(unit: UnitOfWork) -> None:
        await unit.sessions.enter(session_id, NOW)
        unit.events.note(NewEvent("page:created", "p", NOW, session_id=session_id, seq=1))

    await records.write_together(PROJECT, enter)


async def enter_session_alone(records: Records, session_id: str) -> None:
    """Write something in a transaction of its own."""
    async with records.write(PROJECT) as unit:
        await unit.sessions.enter(session_id, NOW)


async def lose_the_connection_early(records: Records) -> None:
    async with records.write(PROJECT) as unit:
        await unit.sessions.enter("t", NOW)
        raise OperationalError("INSERT", {}, OSError("the connection was lost"))


async def end_the_connection(records: Records, away: AbstractContextManager[None]) -> None:
    """Have the connection of a write ended just before its commit."""
    async with records.write(PROJECT) as unit:
        await unit.sessions.enter("s", NOW)
        with away:
            pass


async def test_fault_of_an_announcement_is_none_of_what_was_committed(settings: Settings) -> None:
    def fail(project_id: str, number: int) -> None:
        raise RuntimeError(project_id, number)

    async with opened_stores(settings) as stores:
        records = Records(stores.engines, announce=fail)
        with capture_logs() as logs:
            await enter_session(records, "s")
        async with records.read(PROJECT) as unit:
            assert await unit.sessions.find("s") is not None
            assert (await unit.events.bounds()).last == 1
    assert [line["event"] for line in logs] == ["event not announced"]


async def test_commit_that_was_not_confirmed_is_not_said_to_have_stored_nothing(
    settings: Settings,
) -> None:
    async with opened_stores(settings) as stores:

        def fail(_: object) -> None:
            raise OperationalError("COMMIT", {}, OSError("the connection was lost"))

        event.listen(stores.engines.writer.sync_engine, "commit", fail)
        with pytest.raises(StoreUnavailableError) as unconfirmed:
            await enter_session_alone(stores.records, "s")
        event.remove(stores.engines.writer.sync_engine, "commit", fail)
        with pytest.raises(StoreUnavailableError) as before:
            await lose_the_connection_early(stores.records)
    assert unconfirmed.value.problem_code == before.value.problem_code == "store-unavailable"
    assert "this may have been stored, or not" in unconfirmed.value.detail
    assert "so nothing was stored" in before.value.detail


async def test_connection_that_is_lost_before_the_commit_is_confirmed_is_told_as_such(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("server", tmp_path / "data")
    async with opened_stores(settings) as stores:
        with pytest.raises(StoreUnavailableError, match="may have been stored, or not"):
            await end_the_connection(stores.records, backends.database_away(settings))
