"""Brokers wake the readers of the log of events: the same promises for each broker."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import anyio
import psycopg
import pytest
from sqlalchemy import text

from app.config.settings import Settings
from app.errors import StoreUnavailableError
from app.services.events.broker import EventBroker
from app.stores.records.engine import Engines, open_change_counter
from app.stores.records.events import EventRecords
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.brokers.notifications import CHANNEL, NotificationBroker
from app.wiring.brokers.postgres import PostgresChannel
from app.wiring.brokers.sqlite import SqliteBroker
from app.wiring.stores import migrate_database
from tests.integration.log_processes import (
    NOW,
    PROJECT,
    WAIT_SECONDS,
    GivenUpError,
    engines_over,
    heard,
    listening_at,
    log_processes,
    page_event,
    write,
)
from tests.kit.servers import Engine

pytestmark = pytest.mark.anyio

Wake: TypeAlias = tuple[str | None, int | None]
EVERYBODY: Wake = (None, None)
CUTS = 3
_CUT = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN %'
"""


class Reader:
    """Somebody who reads the log when woken; here, only notes that it was."""

    def __init__(self, *, has_streams: bool = True) -> None:
        self.has_streams = has_streams
        self.woken: list[Wake] = []
        self._changed = asyncio.Event()

    def wake(self, project_id: str | None, number: int | None) -> None:
        self.woken.append((project_id, number))
        self._changed.set()

    @property
    def notified(self) -> list[Wake]:
        """Of which projects it was woken; the others are polls."""
        return [item for item in self.woken if item != EVERYBODY]

    async def until_woken(self, times: int) -> list[Wake]:
        """Wait until it was woken so many times in all; returns each."""
        await self._until(lambda: len(self.woken) >= times)
        return self.woken

    async def until_notified(self, wake: Wake) -> list[Wake]:
        """Wait until it was woken so; returns each wake-up of a project."""
        await self._until(lambda: wake in self.woken)
        return self.notified

    async def _until(self, is_so: Callable[[], bool]) -> None:
        with anyio.fail_after(WAIT_SECONDS):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def broker_over(
    kind: Literal["memory"] | Engine, engines: Engines
) -> AsyncIterator[EventBroker]:
    """A broker as it is wired for an engine, or the one of a process alone."""
    if kind == "memory":
        yield EventBroker()
    elif kind == "embedded":
        async with open_change_counter(engines) as count_changes:
            yield SqliteBroker(count_changes)
    else:
        broker = NotificationBroker(PostgresChannel(engines.address.conninfo))
        async with broker.sending():
            yield broker


@asynccontextmanager
async def migrated(settings: Settings) -> AsyncIterator[tuple[Engines, Records]]:
    """Connections of a process, and the records of another one."""
    await migrate_database(settings)
    engine: Engine = "server" if settings.db.url else "embedded"
    async with (
        engines_over(settings) as engines,
        engines_over(settings) as others,
        broker_over(engine, others) as broker,
    ):
        records = Records(others, announce=broker.announce)
        await records.write_projects(lambda projects: projects.ensure(PROJECT, NOW))
        yield engines, records


async def commit(records: Records) -> None:
    await records.write(PROJECT, lambda unit: unit.add_event(page_event("p")))


@pytest.mark.parametrize("is_alone", [False, True])
async def test_own_commit_wakes_at_once_as_long_as_somebody_listens(
    settings: Settings, engine: Engine, is_alone: bool
) -> None:
    reader = Reader(has_streams=False)
    async with (
        migrated(settings) as (engines, _),
        broker_over("memory" if is_alone else engine, engines) as broker,
    ):
        broker.announce(PROJECT, 1)
        async with broker.listening(reader):
            broker.announce(PROJECT, 2)
            assert reader.woken == [(PROJECT, 2)]
            broker.announce("other", 3)
        broker.announce(PROJECT, 4)
        assert [item for item in reader.woken if item != EVERYBODY] == [
            (PROJECT, 2),
            ("other", 3),
        ]


async def test_commit_of_another_process_wakes(settings: Settings, engine: Engine) -> None:
    reader = Reader()
    async with (
        migrated(settings) as (engines, records),
        broker_over(engine, engines) as broker,
        broker.listening(reader),
    ):
        assert await reader.until_woken(1) == [EVERYBODY]
        for number in (1, 2, 3):
            await commit(records)
            # A file does not say what has changed in it.
            if engine == "embedded":
                await reader.until_woken(1 + number)
            else:
                await reader.until_notified((PROJECT, number))
    notified = [] if engine == "embedded" else [(PROJECT, number) for number in (1, 2, 3)]
    assert reader.notified == notified


def give_up(unit: UnitOfWork) -> None:
    """Write an event, and fail before the commit."""
    unit.add_event(page_event("never"))
    unit[EventRecords].flush()
    raise GivenUpError


@pytest.mark.engines("server")
async def test_rollback_of_another_process_wakes_nobody(settings: Settings, engine: Engine) -> None:
    reader = Reader()
    async with (
        migrated(settings) as (engines, records),
        broker_over(engine, engines) as broker,
        broker.listening(reader),
    ):
        await reader.until_woken(1)
        with suppress(GivenUpError):
            await records.write(PROJECT, give_up)
        await commit(records)
        assert await reader.until_notified((PROJECT, 1)) == [(PROJECT, 1)]


@asynccontextmanager
async def notifications(engines: Engines) -> AsyncIterator[Callable[[], Awaitable[list[Any]]]]:
    """Yield a function that returns the notifications sent so far, except empty ones."""
    async with await psycopg.AsyncConnection.connect(
        engines.address.conninfo, autocommit=True
    ) as connection:
        await connection.execute(f"LISTEN {CHANNEL}".encode())

        async def sent() -> list[Any]:
            await connection.execute(f"NOTIFY {CHANNEL}, '\"end\"'".encode())
            messages: list[Any] = []
            with anyio.fail_after(WAIT_SECONDS):
                async for notification in connection.notifies():
                    if (message := json.loads(notification.payload)) == "end":
                        break
                    messages.append(message["newest"])
            return [item for item in messages if item != {}]

        yield sent


@pytest.mark.engines("server")
async def test_transaction_with_events_sends_no_notification(
    settings: Settings, engine: Engine
) -> None:
    async with migrated(settings) as (engines, records), notifications(engines) as sent:
        await commit(replace(records, announce=None))
        assert await sent() == []


@pytest.mark.engines("server")
async def test_commits_close_together_are_one_notification_of_the_newest_numbers(
    settings: Settings, engine: Engine
) -> None:
    async with (
        migrated(settings) as (engines, _),
        notifications(engines) as sent,
        broker_over(engine, engines) as broker,
        broker_over(engine, engines) as other,
        other.listening(reader := Reader(has_streams=False)),
    ):
        await reader.until_woken(1)
        for number in range(1, 1_001):
            broker.announce(PROJECT, number)
        broker.announce(PROJECT, 7)
        broker.announce("other", 3)
        assert await reader.until_notified(("other", 3)) == [(PROJECT, 1_000), ("other", 3)]
        assert await sent() == [{PROJECT: 1_000, "other": 3}]


@pytest.mark.engines("server")
async def test_notification_of_too_many_projects_is_one_of_all(
    settings: Settings, engine: Engine
) -> None:
    async with (
        migrated(settings) as (engines, _),
        notifications(engines) as sent,
        broker_over(engine, engines) as broker,
        broker_over(engine, engines) as other,
        other.listening(reader := Reader(has_streams=False)),
    ):
        await reader.until_woken(1)
        for number in range(10_000):
            broker.announce(f"{number:064}", 1)
        assert await reader.until_woken(2) == [EVERYBODY] * 2
        assert await sent() == [None]


@pytest.mark.engines("server")
async def test_notifications_of_others_on_the_channel_are_ignored(
    settings: Settings, engine: Engine
) -> None:
    reader = Reader()
    async with (
        migrated(settings) as (engines, records),
        broker_over(engine, engines) as broker,
        broker.listening(reader),
    ):
        await reader.until_woken(1)
        with engines.reader.connect() as connection:
            for payload in (
                "",
                "7 default",
                "[" * 7_000,
                "[1]",
                "null",
                '{"newest": 1}',
                '"\\ud800"',
            ):
                connection.execute(text("SELECT pg_notify(:c, :p)"), {"c": CHANNEL, "p": payload})
        await commit(records)
        assert await reader.until_notified((PROJECT, 1)) == [(PROJECT, 1)]


@pytest.mark.engines("server")
async def test_log_is_read_without_a_notification_while_somebody_listens(
    settings: Settings, engine: Engine
) -> None:
    reader = Reader(has_streams=False)
    async with (
        migrated(settings) as (engines, _),
        broker_over(engine, engines) as broker,
        broker.listening(reader),
    ):
        await reader.until_woken(1)
        reader.has_streams = True
        assert await reader.until_woken(4) == [EVERYBODY] * 4


@pytest.mark.engines("embedded")
async def test_file_changed_while_nobody_listened_wakes_who_comes_later(
    settings: Settings, engine: Engine
) -> None:
    reader = Reader(has_streams=False)
    async with (
        migrated(settings) as (engines, records),
        broker_over(engine, engines) as broker,
        broker.listening(reader),
    ):
        await commit(records)
        assert reader.woken == []
        reader.has_streams = True
        assert await reader.until_woken(1) == [EVERYBODY]


async def test_counter_that_cannot_be_read_is_asked_again() -> None:
    asked = 0

    async def count() -> int:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise StoreUnavailableError("database")
        return asked

    reader = Reader()
    async with SqliteBroker(count).listening(reader):
        assert await reader.until_woken(2) == [EVERYBODY, EVERYBODY]


async def test_server_that_is_away_keeps_no_process_from_hearing_itself() -> None:
    reader = Reader()
    with anyio.fail_after(WAIT_SECONDS):
        broker = NotificationBroker(PostgresChannel("postgresql://nobody@127.0.0.1:1/nothing"))
        async with broker.listening(reader):
            broker.announce(PROJECT, 1)
            assert reader.woken == [(PROJECT, 1)]


async def cut(engines: Engines, *, connections: int = 1) -> None:
    """End so many connections that listen, as soon as there are so many."""
    ended: list[bool] = []
    with anyio.fail_after(WAIT_SECONDS):
        with engines.reader.connect() as connection:
            while len(ended) < connections:
                ended += connection.execute(text(_CUT)).scalars().all()
                await anyio.lowlevel.checkpoint()
    assert ended == [True] * connections


@pytest.mark.engines("server")
async def test_everybody_is_woken_when_a_lost_connection_stands_again(
    settings: Settings, engine: Engine
) -> None:
    reader = Reader()
    async with (
        migrated(settings) as (engines, records),
        broker_over(engine, engines) as broker,
        broker.listening(reader),
    ):
        # Not polled: woken only when it listens again.
        reader.has_streams = False
        await reader.until_woken(1)
        for number in range(1, CUTS + 1):
            await cut(engines)
            await reader.until_woken(2 * number)
            assert reader.woken[-1] == EVERYBODY
            await commit(records)
            await reader.until_notified((PROJECT, number))


@pytest.mark.engines("server")
async def test_nothing_is_missed_that_was_written_while_a_connection_was_lost(
    settings: Settings,
) -> None:
    """One process writes; the other is told of it by its connection alone."""
    async with (
        engines_over(settings) as engines,
        log_processes(settings) as (one, other),
        listening_at(other) as stream,
    ):
        for number in range(CUTS):
            # Each process has one; what is written comes before either has it again.
            await cut(engines, connections=2)
            await write(one, f"{number}a", f"{number}b")
        items = await heard(stream, until=2 * CUTS)
    assert [item.position for item in items] == list(range(1, 2 * CUTS + 1))


async def test_end_of_listening_waits_for_a_running_count_of_changes() -> None:
    is_counting = asyncio.Event()
    ended = []

    async def count() -> int:
        is_counting.set()
        for _ in range(10):
            await asyncio.sleep(0)
        ended.append(True)
        return 1

    async with SqliteBroker(count).listening(Reader()):
        await is_counting.wait()
    assert ended == [True]
