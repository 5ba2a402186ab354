"""Errors behind a write, or at its commit, on both engines."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from app.config.settings import Settings
from app.errors import StoreUnavailableError
from app.models.event import NewEvent
from app.stores.records.engine import Engines
from app.stores.records.events import EventRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.stores import open_database
from tests.integration.sweep_stores import PROJECT, opened_stores
from tests.kit.servers import Backends
from tests.kit.units import writing

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
_END_AT_COMMIT = """
CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER end_connection AFTER INSERT ON sessions
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_connection();
"""


async def enter_session(records: Records, session_id: str) -> None:
    """Write something, and tell of it."""

    def enter(unit: UnitOfWork) -> None:
        unit[SessionRecords].ensure(session_id, NOW)
        unit.add_event(NewEvent("page:created", "p", NOW, session_id=session_id, seq=1))

    await records.write(PROJECT, enter)


async def enter_session_alone(records: Records, session_id: str) -> None:
    """Write something in a transaction of its own."""
    await records.write(
        PROJECT, lambda unit: unit[SessionRecords].ensure(session_id, NOW), is_alone=True
    )


async def lose_the_connection_early(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        await unit[SessionRecords].ensure("t", NOW)
        raise OperationalError("INSERT", {}, OSError("the connection was lost"))


async def end_the_connection(records: Records, away: AbstractContextManager[None]) -> None:
    """Have the connection of a write ended just before its commit."""
    async with writing(records, PROJECT) as unit:
        await unit[SessionRecords].ensure("s", NOW)
        with away:
            pass


@pytest.mark.promise(
    "durability.md#requests-break-off",
    "If notifying listeners fails after a commit, the write still succeeds",
    kept_by="app/stores/records/records.py",
    tried="both engines",
)
async def test_fault_of_an_announcement_is_none_of_what_was_committed(settings: Settings) -> None:
    def fail(project_id: str, number: int) -> None:
        raise RuntimeError(project_id, number)

    async with opened_stores(settings) as stores:
        records = Records(stores.engines, announce=fail)
        with capture_logs() as logs:
            await enter_session(records, "s")
        assert await records.read(PROJECT, lambda unit: unit[SessionRecords].find("s")) is not None
        assert (
            await records.read(PROJECT, lambda unit: unit[EventRecords].read_bounds())
        ).last == 1
    assert [line["event"] for line in logs] == ["event not announced"]


def lose_commits(engines: Engines) -> None:
    """Have the connection of whoever enters a session end at the commit."""
    if engines.is_postgresql:
        with engines.writer.begin() as connection:
            connection.execute(text(_END_AT_COMMIT))
        return

    def refuse(connection: Any, _: object) -> None:  # noqa: ANN401 - SQLAlchemy's has fewer methods
        connection.set_authorizer(
            lambda action, what, *_: (
                sqlite3.SQLITE_DENY
                if (action, what) == (sqlite3.SQLITE_TRANSACTION, "COMMIT")
                else sqlite3.SQLITE_OK
            )
        )

    event.listen(engines.writer, "connect", refuse)


@pytest.mark.promise(
    "durability.md#requests-break-off",
    (
        "An answer says that nothing was stored if the write failed before the commit, and "
        "never if the commit was not confirmed"
    ),
    kept_by="app/stores/records/records.py",
    tried="both engines",
)
@pytest.mark.parametrize("enter", [enter_session, enter_session_alone])
async def test_commit_that_was_not_confirmed_is_not_said_to_have_stored_nothing(
    settings: Settings, enter: Callable[[Records, str], Awaitable[None]]
) -> None:
    async with opened_stores(settings) as stores:
        engines = open_database(settings)
        records = Records(engines)
        lose_commits(engines)
        with pytest.raises(StoreUnavailableError) as unconfirmed:
            await enter(records, "s")
        with pytest.raises(StoreUnavailableError) as before:
            await lose_the_connection_early(stores.records)
        assert await records.read(PROJECT, lambda unit: unit[SessionRecords].find("s")) is None
        await records.close()
    assert unconfirmed.value.problem_code == before.value.problem_code == "store-unavailable"
    assert "this may have been stored, or not" in unconfirmed.value.detail
    assert "so nothing was stored" in before.value.detail


@pytest.mark.promise(
    "durability.md#requests-break-off",
    (
        "If the database ends the connection just before the commit is confirmed, the answer "
        "says that the outcome is unknown"
    ),
    kept_by="app/stores/records/records.py",
    tried="PostgreSQL",
)
async def test_connection_that_is_lost_before_the_commit_is_confirmed_is_told_as_such(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("server", tmp_path / "data")
    async with opened_stores(settings) as stores:
        with pytest.raises(StoreUnavailableError, match="may have been stored, or not"):
            await end_the_connection(stores.records, backends.database_away(settings))
