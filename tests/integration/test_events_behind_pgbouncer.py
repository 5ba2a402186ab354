"""Events between processes behind PgBouncer in transaction mode, which sends no notifications."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.config.settings import Settings
from app.wiring.brokers.notifications import NotificationBroker
from app.wiring.brokers.postgres import PostgresChannel
from app.wiring.stores import open_broker, open_database
from tests.integration.log_processes import PROJECT
from tests.integration.sweep_stores import environment_of
from tests.integration.test_event_brokers import EVERYBODY, Reader
from tests.kit.pgbouncer import PgBouncer
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends


@pytest.fixture
def direct(backends: Backends, tmp_path: Path) -> Settings:
    return backends.settings("server", tmp_path / "data").model_copy(update={"auth": "none"})


@pytest.fixture
def pooled(backends: Backends, direct: Settings) -> Iterator[Settings]:
    """The database behind PgBouncer."""
    with PgBouncer(backends.postgres) as pooler:
        url = SecretStr(pooler.url(database_of(direct)))
        yield direct.model_copy(update={"db": direct.db.model_copy(update={"url": url})})


def database_of(settings: Settings) -> str:
    assert settings.db.url is not None
    return settings.db.url.get_secret_value().partition("?")[0].rpartition("/")[2]


def test_process_that_is_not_notified_says_so_and_is_ready(pooled: Settings) -> None:
    env = {**environment_of(pooled), "PAGEFAULT_AUTH": "none"}
    with PagefaultProcess(pooled.data_dir, env=env) as process:
        line = process.wait_for_log(re.compile(r".*notifications do not arrive.*"))
        with process.client() as client:
            ready = client.get("/readyz")
            metrics = client.get("/metrics").text
    assert "\npagefault_event_notifications_missing 1.0\n" in metrics
    assert "PAGEFAULT_DB__LISTEN_URL" in line.group()
    assert (ready.status_code, ready.json()["events"]) == (200, "delayed")


@pytest.mark.anyio
async def test_notifications_take_the_address_of_their_own(
    direct: Settings, pooled: Settings
) -> None:
    assert direct.db.url is not None
    other = NotificationBroker(PostgresChannel(direct.db.url.get_secret_value()))
    db = pooled.db.model_copy(update={"listen_url": direct.db.url})
    reader = Reader(has_streams=False)
    async with (
        other.sending(),
        open_broker(pooled.model_copy(update={"db": db}), open_database(pooled)) as broker,
        broker.listening(reader),
    ):
        assert await reader.until_woken(1) == [EVERYBODY]
        other.announce(PROJECT, 5)
        assert await reader.until_notified((PROJECT, 5)) == [(PROJECT, 5)]
        assert broker.is_notified
