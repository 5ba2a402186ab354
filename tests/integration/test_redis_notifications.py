"""Notifications between processes over Redis, in place of PostgreSQL."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from pydantic import SecretStr

from app.config.settings import Settings
from app.services.events.broker import EventBroker
from app.wiring.brokers.notifications import NotificationBroker
from app.wiring.brokers.postgres import PostgresChannel
from app.wiring.stores import open_broker, open_database
from tests.integration.log_processes import (
    PROJECT,
    WAIT_SECONDS,
    heard,
    listening_at,
    log_processes,
    write,
)
from tests.integration.test_event_brokers import EVERYBODY, Reader
from tests.kit.redis_server import RedisServer
from tests.kit.servers import Backends

pytestmark = pytest.mark.anyio


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def settings(backends: Backends, redis: RedisServer, tmp_path: Path) -> Settings:
    made = backends.settings("server", tmp_path / "data")
    return with_redis(made, redis.url)


def with_redis(settings: Settings, url: str) -> Settings:
    events = settings.events.model_copy(update={"redis_url": SecretStr(url)})
    return settings.model_copy(update={"events": events})


@asynccontextmanager
async def broker_of(settings: Settings) -> AsyncIterator[EventBroker]:
    engines = open_database(settings)
    async with open_broker(settings, engines) as broker:
        yield broker
    await engines.close()


async def test_commit_of_another_process_is_notified_over_redis_alone(settings: Settings) -> None:
    reader, other_reader = Reader(has_streams=False), Reader(has_streams=False)
    other_database = with_redis(settings, f"{redis_url(settings).removesuffix('3')}4")
    async with (
        broker_of(settings) as one,
        broker_of(settings) as other,
        broker_of(other_database) as stranger,
        other.listening(reader),
        stranger.listening(other_reader),
        listening_over_postgres(settings) as postgres_reader,
    ):
        for item in (reader, other_reader, postgres_reader):
            assert await item.until_woken(1) == [EVERYBODY]
        one.announce("other", 3)
        one.announce(PROJECT, 1)
        one.announce(PROJECT, 2)
        assert await reader.until_notified((PROJECT, 2)) == [("other", 3), (PROJECT, 2)]
        assert other.is_notified
    assert (other_reader.notified, postgres_reader.notified) == ([], [])


def redis_url(settings: Settings) -> str:
    assert settings.events.redis_url is not None
    return settings.events.redis_url.get_secret_value()


@asynccontextmanager
async def listening_over_postgres(settings: Settings) -> AsyncIterator[Reader]:
    engines, reader = open_database(settings), Reader(has_streams=False)
    async with NotificationBroker(PostgresChannel(engines.address.conninfo)).listening(reader):
        yield reader
    await engines.close()


async def test_events_arrive_while_redis_is_away_and_are_notified_when_it_is_back(
    settings: Settings, redis: RedisServer
) -> None:
    async with log_processes(settings) as (one, other), listening_at(other) as stream:
        await write(one, "before")
        assert len(await heard(stream, until=1)) == 1
        redis.kill()
        await write(one, "away")
        assert len(await heard(stream, until=2)) == 1
        with anyio.fail_after(WAIT_SECONDS):
            while other[EventBroker].is_notified:
                await anyio.lowlevel.checkpoint()
        redis.start()
        with anyio.fail_after(WAIT_SECONDS):
            while not other[EventBroker].is_notified:
                await anyio.lowlevel.checkpoint()
